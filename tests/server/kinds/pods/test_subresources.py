"""What can be asked of a pod besides itself: bindings, evictions, logs, ephemeral containers, resizing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from eachnode.objects.resources import POD_DISRUPTION_BUDGETS, PODS
from eachnode.objects.status import ApiError, BadRequest, Conflict, Invalid, NotFound, TooManyRequests
from eachnode.server.api_server import OURSELVES, ApiServer
from eachnode.server.kind import Call, Tree
from tests.server.apis import HOME, open_api
from tests.server.kinds.judging import NOW

from .pod_trees import CONTAINER

STRATEGIC = "application/strategic-merge-patch+json"
DONE = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


async def home(**spec: Any) -> ApiServer:
    """A server with the pod `p`."""
    api = open_api()
    body = {"metadata": {"name": "p", "labels": {"app": "x"}}, "spec": {"containers": [CONTAINER], **spec}}
    await api.create(PODS, json.dumps(body).encode(), HOME)
    return api


async def pod(api: ApiServer) -> Tree:
    return (await api.get(PODS, "p", HOME)).tree()


async def post(api: ApiServer, subresource: str, **body: Any) -> Tree:
    text = json.dumps({"metadata": {"name": "p"}, **body}).encode()
    return (await api.create(PODS, text, HOME, name="p", subresource=subresource)).tree()


async def report(api: ApiServer, **status: Any) -> None:
    """Sets the pod's status as its kubelet would."""
    await api.patch(PODS, "p", json.dumps({"status": status}).encode(), STRATEGIC, HOME, subresource="status")


READY = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}


# Bindings -------------------------------------------------------------------------------------------------------------


async def test_a_binding_puts_the_pod_on_its_node() -> None:
    api = await home()
    metadata = {"name": "p", "annotations": {"a": "b"}, "labels": {"zone": "z"}}
    assert await post(api, "binding", metadata=metadata, target={"kind": "Node", "name": "n"}) == DONE
    bound = await pod(api)
    assert bound["spec"]["nodeName"] == "n"
    assert bound["metadata"]["annotations"] == {"a": "b"}
    assert bound["metadata"]["labels"] == {"app": "x", "zone": "z"}
    assert bound["metadata"]["generation"] == 1
    (condition,) = bound["status"]["conditions"]
    assert (condition["type"], condition["status"], condition["lastProbeTime"]) == ("PodScheduled", "True", None)


async def test_a_pod_is_bound_once() -> None:
    api = await home(nodeName="n")
    with pytest.raises(Conflict) as refused:
        await post(api, "binding", target={"kind": "Node", "name": "other"})
    assert refused.value.message == (
        'Operation cannot be fulfilled on pods/binding "p": pod p is already assigned to node "n"'
    )
    assert refused.value.details is not None
    assert refused.value.details.kind == "pods/binding"


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ({}, "target.name: Required value"),
        (
            {"kind": "Moon", "name": "n"},
            'target.kind: Unsupported value: "Moon": supported values: "Node", "<empty>"',
        ),
    ],
)
async def test_a_binding_needs_a_node(target: Tree, message: str) -> None:
    with pytest.raises(ApiError) as refused:
        await post(await home(), "binding", target=target)
    assert (refused.value.code, refused.value.reason, refused.value.message) == (500, "", message)


async def test_a_binding_may_say_which_pod_it_means() -> None:
    api = await home()
    with pytest.raises(BadRequest, match="the namespace of the provided object does not match the namespace sent on"):
        await post(api, "binding", metadata={"name": "p", "namespace": "elsewhere"}, target={"name": "n"})
    metadata = {"name": "p", "uid": "other"}
    with pytest.raises(Conflict, match="Precondition failed: UID in precondition: other, UID in object meta: "):
        await post(api, "binding", metadata=metadata, target={"name": "n"})
    metadata["uid"] = (await pod(api))["metadata"]["uid"]
    assert await post(api, "binding", metadata=metadata, target={"name": "n"}) == DONE


async def test_what_cannot_be_bound() -> None:
    gated = await home(schedulingGates=[{"name": "g"}])
    with pytest.raises(Conflict, match=r"pod p has non-empty \.spec\.schedulingGates"):
        await post(gated, "binding", target={"name": "n"})
    with pytest.raises(BadRequest, match="name in URL does not match name in Binding object"):
        await post(await home(), "binding", metadata={"name": "q"}, target={"name": "n"})
    with pytest.raises(NotFound, match='pods "p" not found'):
        await post(open_api(), "binding", target={"name": "n"})


# Evictions ------------------------------------------------------------------------------------------------------------


async def with_budget(api: ApiServer, **spec: Any) -> None:
    body = {"metadata": {"name": "b"}, "spec": {"selector": {"matchLabels": {"app": "x"}}, **spec}}
    await api.create(POD_DISRUPTION_BUDGETS, json.dumps(body).encode(), HOME)


async def test_an_evicted_pod_says_why_it_goes() -> None:
    api = await home(nodeName="n")
    await report(api, **READY)
    assert await post(api, "eviction") == DONE
    leaving = await pod(api)
    assert "deletionTimestamp" in leaving["metadata"]
    condition = next(item for item in leaving["status"]["conditions"] if item["type"] == "DisruptionTarget")
    assert (condition["reason"], condition["message"]) == ("EvictionByEvictionAPI", "Eviction API: evicting")


async def test_a_budget_that_is_spent_keeps_its_pods() -> None:
    api = await home(nodeName="n")
    await report(api, **READY)
    await with_budget(api, minAvailable=1)
    with pytest.raises(TooManyRequests) as refused:
        await post(api, "eviction")
    assert refused.value.message == "Cannot evict pod as it would violate the pod's disruption budget."
    assert refused.value.details is not None
    (cause,) = refused.value.details.causes
    assert (cause.reason, cause.message) == (
        "DisruptionBudget",
        "The disruption budget b needs 1 healthy pods and has 1 currently",
    )
    assert "deletionTimestamp" not in (await pod(api))["metadata"]


async def test_pods_that_were_given_up_count_no_longer() -> None:
    api = await home(nodeName="n")
    await report(api, **READY)
    other = {"metadata": {"name": "q", "labels": {"app": "x"}}, "spec": {"containers": [CONTAINER], "nodeName": "n"}}
    await api.create(PODS, json.dumps(other).encode(), HOME)
    await api.patch(PODS, "q", json.dumps({"status": READY}).encode(), STRATEGIC, HOME, subresource="status")
    await with_budget(api, minAvailable=1)
    assert await post(api, "eviction") == DONE
    budget = (await api.get(POD_DISRUPTION_BUDGETS, "b", HOME)).tree()
    assert list(budget["status"]["disruptedPods"]) == ["p"]
    with pytest.raises(TooManyRequests):
        await api.create(PODS, b'{"metadata":{"name":"q"}}', HOME, name="q", subresource="eviction")


@pytest.mark.parametrize(
    ("status", "sentence"),
    [
        (
            {"observedGeneration": 1, "desiredHealthy": 3, "currentHealthy": 2},
            "The disruption budget b needs 3 healthy pods and has 2 currently",
        ),
        (
            {
                "observedGeneration": 1,
                "conditions": [
                    {
                        "type": "DisruptionAllowed",
                        "status": "False",
                        "reason": "SyncFailed",
                        "message": "found no controllers",
                        "lastTransitionTime": "2026-01-01T00:00:00Z",
                    }
                ],
            },
            "The disruption budget b does not allow evicting pods currently because it failed sync: "
            "found no controllers",
        ),
        (
            {
                "conditions": [
                    {
                        "type": "DisruptionAllowed",
                        "status": "False",
                        "reason": "SyncFailed",
                        "message": "daemonsets.apps does not implement the scale subresource",
                        "lastTransitionTime": "2026-01-01T00:00:00Z",
                    }
                ],
            },
            "The disruption budget b is still being processed by the server.",
        ),
    ],
)
async def test_counts_that_a_controller_keeps_are_believed(status: Tree, sentence: str) -> None:
    api = await home(nodeName="n")
    await report(api, **READY)
    await with_budget(api, minAvailable=1)
    whole = {"currentHealthy": 0, "desiredHealthy": 0, "disruptionsAllowed": 0, "expectedPods": 0, **status}
    merge = "application/merge-patch+json"
    text = json.dumps({"status": whole}).encode()
    await api.patch(POD_DISRUPTION_BUDGETS, "b", text, merge, HOME, subresource="status")
    with pytest.raises(TooManyRequests) as refused:
        await post(api, "eviction")
    assert refused.value.details is not None
    assert refused.value.details.causes[0].message == sentence


async def test_nobody_loses_a_pod_that_never_ran() -> None:
    api = await home()
    await with_budget(api, minAvailable=1)
    assert await post(api, "eviction") == DONE
    with pytest.raises(NotFound):
        await pod(api)


async def test_two_budgets_are_too_many() -> None:
    api = await home(nodeName="n")
    await report(api, **READY)
    await with_budget(api, minAvailable=0)
    second = {"metadata": {"name": "c"}, "spec": {"selector": {}, "minAvailable": 0}}
    await api.create(POD_DISRUPTION_BUDGETS, json.dumps(second).encode(), HOME)
    answer = await post(api, "eviction")
    assert (answer["status"], answer["code"]) == ("Failure", 500)
    assert answer["message"].startswith("This pod has more than one PodDisruptionBudget")


async def test_an_eviction_may_be_a_rehearsal_and_may_mean_one_pod_only() -> None:
    api = await home(nodeName="n")
    await report(api, **READY)
    before = await pod(api)
    assert await post(api, "eviction", deleteOptions={"dryRun": ["All"]}) == DONE
    assert await pod(api) == before
    with pytest.raises(Conflict, match=r"the UID in the precondition \(no\) does not match the UID in record"):
        await post(api, "eviction", deleteOptions={"preconditions": {"uid": "no"}})
    assert await pod(api) == before
    version = before["metadata"]["resourceVersion"]
    assert await post(api, "eviction", deleteOptions={"preconditions": {"resourceVersion": version}}) == DONE
    with pytest.raises(BadRequest, match="name in URL does not match name in Eviction object"):
        await post(api, "eviction", metadata={"name": "q"})


async def test_an_eviction_is_of_a_pod_in_its_own_namespace() -> None:
    with pytest.raises(BadRequest, match="the namespace of the provided object does not match the namespace sent on"):
        await post(await home(), "eviction", metadata={"name": "p", "namespace": "elsewhere"})


async def test_the_options_of_an_eviction_are_those_of_a_deletion() -> None:
    with pytest.raises(Invalid) as refused:
        await post(await home(), "eviction", deleteOptions={"propagationPolicy": "Sideways", "orphanDependents": True})
    assert refused.value.message == (
        'DeleteOptions.meta.k8s.io "" is invalid: [propagationPolicy: Invalid value: "Sideways": orphanDependents and '
        'deletionPropagation cannot be both set, propagationPolicy: Unsupported value: "Sideways": supported values: '
        '"Foreground", "Background", "Orphan", "nil"]'
    )


# Logs -----------------------------------------------------------------------------------------------------------------

STARTED = {"startedAt": "2023-11-14T22:00:00Z"}


async def read(api: ApiServer, **query: str) -> str:
    answer = await api.get_as(Call(OURSELVES, NOW, "get"), PODS, "p", HOME, subresource="log", query=query)
    assert (answer.code, answer.media) == (200, "text/plain")
    return bytes(answer.document.raw).decode()


async def running() -> ApiServer:
    api = await home(nodeName="n")
    await report(api, containerStatuses=[{"name": "c", "restartCount": 0, "state": {"running": STARTED}}])
    return api


FIRST = 'eachnode: container "c" (app:1) is simulated on node "n": no process runs in it, and it writes no log.\n'


async def test_the_log_of_a_simulated_container_says_that_it_is_one() -> None:
    api = await running()
    assert await read(api) == await read(api, container="c") == FIRST
    assert await read(api, timestamps="true") == f"2023-11-14T22:00:00Z {FIRST}"
    assert await read(api, tailLines="0") == ""
    assert await read(api, limitBytes="8") == "eachnode"
    assert await read(api, sinceSeconds="60") == ""
    assert await read(api, sinceTime="2023-11-14T21:00:00Z") == FIRST


async def test_the_log_of_a_container_that_ended_says_how() -> None:
    api = await home(nodeName="n")
    ended = {**STARTED, "finishedAt": "2023-11-14T22:10:00Z", "exitCode": 3, "reason": "Error"}
    await report(api, containerStatuses=[{"name": "c", "restartCount": 1, "state": {"terminated": ended}}])
    assert (await read(api)).splitlines()[1] == "eachnode: it ended with exit code 3 (Error)."


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"container": "x"}, "container x is not valid for pod p"),
        ({"previous": "true"}, 'previous terminated container "c" in pod "p" not found'),
        ({"tailLines": "many"}, 'strconv.ParseInt: parsing "many": invalid syntax'),
        ({"sinceTime": "then"}, 'parsing time "then" as "2006-01-02T15:04:05Z07:00": cannot parse "then" as "2006"'),
        ({"tailLines": "9223372036854775808"}, 'strconv.ParseInt: parsing "9223372036854775808": value out of range'),
    ],
)
async def test_what_no_log_can_be_read_for(query: dict[str, str], message: str) -> None:
    with pytest.raises(BadRequest) as refused:
        await read(await running(), **query)
    assert refused.value.message == message


async def test_which_container_must_be_clear() -> None:
    api = await home(containers=[CONTAINER, {"name": "d", "image": "i"}], nodeName="n")
    with pytest.raises(BadRequest) as refused:
        await read(api)
    assert refused.value.message == "a container name must be specified for pod p, choose one of: [c d]"


async def test_a_container_that_waits_has_no_log_yet() -> None:
    api = await home(nodeName="n")
    with pytest.raises(BadRequest, match='container "c" in pod "p" is not available'):
        await read(api)
    waiting = {"reason": "ImagePullBackOff"}
    await report(api, containerStatuses=[{"name": "c", "restartCount": 0, "state": {"waiting": waiting}}])
    with pytest.raises(BadRequest) as refused:
        await read(api)
    assert refused.value.message == ('container "c" in pod "p" is waiting to start: trying and failing to pull image')


async def test_the_options_of_a_log_are_judged_first() -> None:
    with pytest.raises(Invalid) as refused:
        await read(open_api(), tailLines="-1", limitBytes="0", sinceSeconds="5", sinceTime="2023-11-14T22:00:00Z")
    assert refused.value.message == (
        'PodLogOptions "p" is invalid: [tailLines: Invalid value: -1: must be greater than or equal to 0, '
        "limitBytes: Invalid value: 0: must be greater than 0, "
        "[]: Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified]"
    )
    with pytest.raises(NotFound, match='pods "p" not found'):
        await read(open_api())


async def test_a_pod_without_a_node_has_nothing_to_read() -> None:
    answer = await (await home()).get_as(Call(OURSELVES, NOW, "get"), PODS, "p", HOME, subresource="log")
    assert (answer.code, bytes(answer.document.raw)) == (204, b"")


# Ephemeral containers -------------------------------------------------------------------------------------------------


async def patched(api: ApiServer, subresource: str, **spec: Any) -> Tree:
    text = json.dumps({"spec": spec}).encode()
    return (await api.patch(PODS, "p", text, STRATEGIC, HOME, subresource=subresource)).tree()


LOOK = {"name": "look", "image": "tools", "targetContainerName": "c"}


async def test_a_container_to_look_into_a_pod_comes_and_stays() -> None:
    api = await home(nodeName="n")
    made = await patched(api, "ephemeralcontainers", ephemeralContainers=[LOOK], hostname="ignored")
    (container,) = made["spec"]["ephemeralContainers"]
    assert (container["name"], container["imagePullPolicy"]) == ("look", "Always")
    assert made["metadata"]["generation"] == 2
    assert "hostname" not in made["spec"]
    with pytest.raises(Invalid, match="may not be changed\n"):
        await patched(api, "ephemeralcontainers", ephemeralContainers=[{**LOOK, "image": "other"}])
    gone = [{"name": "look", "$patch": "delete"}]
    with pytest.raises(Invalid, match='existing ephemeral containers "look" may not be removed\n'):
        await patched(api, "ephemeralcontainers", ephemeralContainers=gone)
    with pytest.raises(Invalid, match="pod updates may not change fields other than"):
        await patched(api, "", ephemeralContainers=[{"name": "more", "image": "i"}])


async def test_the_refusal_to_change_one_shows_the_change() -> None:
    api = await home(nodeName="n")
    await patched(api, "ephemeralcontainers", ephemeralContainers=[LOOK])
    with pytest.raises(Invalid) as refused:
        await patched(api, "ephemeralcontainers", ephemeralContainers=[{**LOOK, "image": "other"}])
    assert refused.value.message == (
        'Pod "p" is invalid: spec.ephemeralContainers: Forbidden: existing ephemeral containers "look" may not be '
        'changed\n@@ -1,6 +1,6 @@\n {\n  "Name": "look",\n- "Image": "tools",\n+ "Image": "other",\n'
        '  "Command": null,\n  "Args": null,\n  "WorkingDir": "",\n'
    )


# Resizing -------------------------------------------------------------------------------------------------------------

BURSTABLE = {"requests": {"cpu": "1", "memory": "1Gi"}}


async def resized(resources: Tree, **more: Any) -> Tree:
    api = await home(nodeName="n", containers=[{**CONTAINER, "resources": BURSTABLE}])
    return await patched(api, "resize", containers=[{"name": "c", "resources": resources, **more}])


async def test_a_running_pod_can_be_given_more() -> None:
    made = await resized({"requests": {"cpu": "2"}}, image="ignored")
    (container,) = made["spec"]["containers"]
    assert container["resources"] == {"requests": {"cpu": "2", "memory": "1Gi"}}
    assert container["image"] == "app:1"
    assert made["metadata"]["generation"] == 2


@pytest.mark.parametrize(
    ("resources", "message"),
    [
        (
            {"requests": {"memory": None}},
            "spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed",
        ),
        (
            {"requests": {"ephemeral-storage": "1Gi"}},
            "spec: Forbidden: only cpu and memory resources are mutable",
        ),
        (
            {"limits": {"cpu": "1", "memory": "1Gi"}},
            'spec: Invalid value: "Burstable": Pod QOS Class may not change as a result of resizing',
        ),
    ],
)
async def test_what_a_resize_may_not_do(resources: Tree, message: str) -> None:
    with pytest.raises(Invalid) as refused:
        await resized(resources)
    assert refused.value.message == f'Pod "p" is invalid: {message}'


async def test_a_resize_neither_adds_nor_renames_containers() -> None:
    api = await home(nodeName="n", containers=[{**CONTAINER, "resources": BURSTABLE}])
    with pytest.raises(Invalid, match="containers may not be added or removed on resize"):
        await patched(api, "resize", containers=[{"name": "new", "image": "i"}])
