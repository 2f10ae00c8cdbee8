"""What a namespace's limit ranges add to pods, and which pods they refuse."""

from __future__ import annotations

from eachnode.objects.resources import LIMIT_RANGES, PODS, RESOURCE_QUOTAS
from eachnode.server.kind import Tree
from tests.server.admission.world import World, fresh_world

LIMIT = {"type": "Container", "default": {"cpu": "500m"}, "defaultRequest": {"cpu": "250m"}, "max": {"cpu": "2"}}


async def ranged(*limits: Tree) -> World:
    world = await fresh_world()
    await world.create(LIMIT_RANGES, "ns", spec={"limits": [*limits]})
    return world


def container(**resources: Tree) -> Tree:
    return {"name": "c", "image": "i", "resources": resources}


async def test_containers_that_say_nothing_get_the_defaults_and_a_note_tells() -> None:
    world = await ranged(LIMIT)
    spec = {"containers": [container()], "initContainers": [{**container(), "name": "d"}]}
    pod = await world.create(PODS, "ns", spec=spec)
    assert pod["spec"]["containers"][0]["resources"] == {"limits": {"cpu": "500m"}, "requests": {"cpu": "250m"}}
    assert pod["metadata"]["annotations"] == {
        "kubernetes.io/limit-ranger": "LimitRanger plugin set: cpu request for container c; cpu limit for container c; "
        "cpu request for init container d; cpu limit for init container d"
    }
    assert pod["status"]["qosClass"] == "Burstable"


async def test_what_is_out_of_range_is_refused_in_one_answer() -> None:
    world = await ranged({**LIMIT, "min": {"cpu": "100m"}, "maxLimitRequestRatio": {"cpu": "2"}})
    asks = container(requests={"cpu": "50m"}, limits={"cpu": "3"})
    refused = await world.refused(PODS, "ns", spec={"containers": [asks]})
    assert refused.code == 403
    assert refused.message == (
        'pods "x" is forbidden: [minimum cpu usage per Container is 100m, but request is 50m, '
        "maximum cpu usage per Container is 2, but limit is 3, "
        "cpu max limit to request ratio per Container is 2, but provided ratio is 60.000000]"
    )


async def test_a_pod_is_judged_by_the_sum_of_its_containers() -> None:
    world = await ranged({"type": "Pod", "max": {"memory": "1Gi"}})
    asks = container(limits={"memory": "600Mi"})
    refused = await world.refused(PODS, "ns", spec={"containers": [asks, {**asks, "name": "d"}]})
    assert refused.message == ('pods "x" is forbidden: maximum memory usage per Pod is 1Gi, but limit is 1200Mi')
    silent = await world.refused(PODS, "ns", spec={"containers": [container()]})
    assert silent.message == 'pods "x" is forbidden: maximum memory usage per Pod is 1Gi.  No limit is specified'


async def test_what_is_invalid_is_told_before_any_quota_or_range() -> None:
    world = await ranged({"type": "Pod", "max": {"memory": "1Gi"}})
    await world.create(RESOURCE_QUOTAS, "ns", spec={"hard": {"pods": "0"}})
    refused = await world.refused(PODS, "ns", spec={"containers": []})
    assert (refused.code, refused.message) == (422, 'Pod "x" is invalid: spec.containers: Required value')
