"""What a default cluster asks of writes, step by step."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from eachnode.objects.resources import (
    CONFIG_MAPS,
    NAMESPACES,
    NODES,
    PODS,
    PRIORITY_CLASSES,
    SERVICES,
    Resource,
)
from eachnode.objects.status import Forbidden
from eachnode.server.admission.refusals import name_before_generation

from .world import World, fresh_world

SPEC = {"containers": [{"name": "c", "image": "i"}]}
FIVE_MINUTES = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
NOT_READY = {"key": "node.kubernetes.io/not-ready", **FIVE_MINUTES}
UNREACHABLE = {"key": "node.kubernetes.io/unreachable", **FIVE_MINUTES}
WEB: dict[str, Any] = {"ports": [{"port": 80}]}
GIVEN = "from the given PriorityClass name"


async def test_content_needs_a_namespace_that_exists() -> None:
    error = await (await fresh_world()).refused(CONFIG_MAPS, "missing")
    assert (error.code, error.reason, error.message) == (404, "NotFound", 'namespaces "missing" not found')
    assert error.details is not None
    assert (error.details.name, error.details.kind) == ("missing", "namespaces")


async def test_a_terminating_namespace_takes_nothing_more_but_changes() -> None:
    world = await fresh_world()
    await world.create(CONFIG_MAPS, "ns", metadata={"name": "early"})
    await world.delete(NAMESPACES, "ns")
    error = await world.refused(CONFIG_MAPS, "ns", metadata={"name": "late"})
    assert error.code == 403
    assert error.message == (
        'configmaps "late" is forbidden: unable to create new content in namespace ns because it is being terminated'
    )
    assert error.has_cause("NamespaceTerminating")
    changed = await world.merge(CONFIG_MAPS, "early", "ns", {"data": {"k": "v"}})
    assert changed["data"] == {"k": "v"}


async def test_content_that_was_to_get_a_name_is_called_by_its_prefix() -> None:
    world = await fresh_world()
    await world.delete(NAMESPACES, "ns")
    error = await world.refused(CONFIG_MAPS, "ns", metadata={"name": "", "generateName": "many-"})
    assert error.message.startswith('configmaps "many-" is forbidden: ')


@pytest.mark.parametrize(
    ("about", "called"),
    [
        ({"name": "a"}, "a"),
        ({"name": "ds-bcdf4", "generateName": "ds-"}, "ds-"),
        ({"name": "other", "generateName": "ds-"}, "other"),
        ({"name": f"{'a' * 58}bcdfg", "generateName": "a" * 70}, "a" * 70),
        ({}, "Unknown"),
    ],
)
def test_early_steps_do_not_know_generated_names(about: Any, called: str) -> None:
    assert name_before_generation({"metadata": about}) == called


async def test_a_new_node_is_not_ready_for_pods() -> None:
    world = await fresh_world()
    plain = await world.create(NODES, spec={"taints": [{"key": "k", "effect": "NoSchedule"}]})
    taint = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
    assert plain["spec"]["taints"] == [{"key": "k", "effect": "NoSchedule"}, taint]
    tainted = await world.create(NODES, metadata={"name": "y"}, spec={"taints": [taint]})
    assert tainted["spec"]["taints"] == [taint]


async def test_a_node_that_lost_the_taint_does_not_get_it_back() -> None:
    world = await fresh_world()
    await world.create(NODES)
    changed = await world.merge(NODES, "x", "", {"spec": {"taints": None}})
    assert "taints" not in changed["spec"]


@pytest.mark.parametrize(
    ("given", "added"),
    [
        ([], [NOT_READY, UNREACHABLE]),
        ([{"operator": "Exists"}], []),
        ([{"operator": "Exists", "effect": "NoSchedule"}], [NOT_READY, UNREACHABLE]),
        ([{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}], [UNREACHABLE]),
        ([{"key": "node.kubernetes.io/unreachable", "operator": "Exists"}], [NOT_READY]),
    ],
)
async def test_a_pod_tolerates_trouble_for_five_minutes(given: Any, added: Any) -> None:
    world = await fresh_world()
    pod = await world.create(PODS, "ns", spec={**SPEC, "tolerations": given})
    assert pod["spec"]["tolerations"] == [*given, *added]


async def test_a_pod_without_a_class_has_priority_zero() -> None:
    pod = await (await fresh_world()).create(PODS, "ns", spec=SPEC)
    assert (pod["spec"]["priority"], pod["spec"]["preemptionPolicy"]) == (0, "PreemptLowerPriority")
    assert "priorityClassName" not in pod["spec"]


async def test_a_class_gives_its_number_and_policy() -> None:
    world = await fresh_world()
    await world.create(PRIORITY_CLASSES, metadata={"name": "calm"}, value=7, preemptionPolicy="Never")
    pod = await world.create(PODS, "ns", spec={**SPEC, "priorityClassName": "calm"})
    assert (pod["spec"]["priority"], pod["spec"]["preemptionPolicy"]) == (7, "Never")
    critical = await world.create(
        PODS, "ns", metadata={"name": "y"}, spec={**SPEC, "priorityClassName": "system-node-critical"}
    )
    assert critical["spec"]["priority"] == 2_000_001_000


async def test_the_default_class_is_for_those_that_name_none() -> None:
    world = await fresh_world()
    await world.create(PRIORITY_CLASSES, metadata={"name": "usual"}, value=5, globalDefault=True)
    pod = await world.create(PODS, "ns", spec=SPEC)
    assert (pod["spec"]["priorityClassName"], pod["spec"]["priority"]) == ("usual", 5)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"priorityClassName": "nosuch"}, "no PriorityClass with name nosuch was found"),
        (
            {"priority": 3},
            "the integer value of priority (3) must not be provided in pod spec; "
            f"priority admission controller computed 0 {GIVEN}",
        ),
        (
            {"preemptionPolicy": "Never"},
            "the string value of PreemptionPolicy (Never) must not be provided in pod spec; "
            f"priority admission controller computed PreemptLowerPriority {GIVEN}",
        ),
    ],
)
async def test_a_pod_cannot_claim_a_priority_of_its_own(spec: Any, message: str) -> None:
    error = await (await fresh_world()).refused(PODS, "ns", spec={**SPEC, **spec})
    assert (error.code, error.message) == (403, f'pods "x" is forbidden: {message}')


async def test_the_priority_outlives_an_update_that_leaves_it_out() -> None:
    world = await fresh_world()
    await world.create(PODS, "ns", spec=SPEC)
    changed = await world.merge(PODS, "x", "ns", {"spec": {"priority": None, "preemptionPolicy": None}})
    assert changed["spec"]["priority"] == 0


async def test_the_classes_of_the_system_cannot_be_deleted() -> None:
    world = await fresh_world()
    for name in ("system-node-critical", "system-cluster-critical"):
        with pytest.raises(Forbidden, match="this is a system priority class and cannot be deleted"):
            await world.delete(PRIORITY_CLASSES, name)
    await world.create(PRIORITY_CLASSES, metadata={"name": "mine"}, value=1)
    await world.delete(PRIORITY_CLASSES, "mine")


async def test_there_is_one_default_class() -> None:
    world = await fresh_world()
    await world.create(PRIORITY_CLASSES, metadata={"name": "one"}, value=1, globalDefault=True)
    error = await world.refused(PRIORITY_CLASSES, metadata={"name": "two"}, value=2, globalDefault=True)
    sentence = "PriorityClass one is already marked as default. Only one default can exist"
    assert (error.code, error.message) == (403, f'priorityclasses.scheduling.k8s.io "two" is forbidden: {sentence}')
    kept = await world.merge(PRIORITY_CLASSES, "one", "", {"description": "still"})
    assert kept["globalDefault"] is True


class TestServices:
    """Addresses and ports of services."""

    async def of(self, world: World, name: str, **spec: Any) -> dict[str, Any]:
        made = await world.create(SERVICES, "ns", metadata={"name": name}, spec={**WEB, **spec})
        return dict(made["spec"])

    async def test_each_service_has_an_address_of_its_own(self) -> None:
        world = await fresh_world()
        specs = [await self.of(world, f"s{number}") for number in range(20)]
        addresses = {spec["clusterIP"] for spec in specs}
        assert len(addresses) == 20
        assert all(address.startswith("10.") for address in addresses)
        assert specs[0]["clusterIPs"] == [specs[0]["clusterIP"]]
        assert (specs[0]["ipFamilies"], specs[0]["ipFamilyPolicy"]) == (["IPv4"], "SingleStack")

    async def test_the_same_service_gets_the_same_address_in_every_world(self) -> None:
        first, second = await fresh_world(), await fresh_world()
        assert (await self.of(first, "s"))["clusterIP"] == (await self.of(second, "s"))["clusterIP"]

    async def test_an_address_may_be_asked_for_while_it_is_free(self) -> None:
        world = await fresh_world()
        assert (await self.of(world, "a", clusterIP="10.96.7.7"))["clusterIPs"] == ["10.96.7.7"]
        error = await world.refused(SERVICES, "ns", metadata={"name": "b"}, spec={**WEB, "clusterIP": "10.96.7.7"})
        assert error.message == (
            'Service "b" is invalid: spec.clusterIPs: Invalid value: ["10.96.7.7"]: '
            "failed to allocate IP 10.96.7.7: provided IP is already allocated"
        )

    async def test_an_address_from_elsewhere_is_refused(self) -> None:
        error = await (await fresh_world()).refused(SERVICES, "ns", spec={**WEB, "clusterIP": "192.0.2.1"})
        assert error.message.endswith(
            "the provided IP (192.0.2.1) is not in the valid range. The range of valid IPs is 10.96.0.0/12"
        )

    @pytest.mark.parametrize(
        ("spec", "address", "policy"),
        [
            ({"clusterIP": "None", "selector": {"a": "b"}}, "None", "SingleStack"),
            ({"clusterIP": "None"}, "None", "RequireDualStack"),
            ({"type": "ExternalName", "externalName": "e.com"}, None, None),
        ],
    )
    async def test_some_services_have_none(self, spec: Any, address: str | None, policy: str | None) -> None:
        made = await self.of(await fresh_world(), "s", **spec)
        assert (made.get("clusterIP"), made.get("ipFamilyPolicy")) == (address, policy)

    async def test_node_ports_are_handed_out_once(self) -> None:
        world = await fresh_world()
        first = await self.of(world, "a", type="NodePort", ports=[{"port": 80, "nodePort": 30080}])
        second = await self.of(world, "b", type="NodePort")
        assert first["ports"][0]["nodePort"] == 30080
        assert 30000 <= second["ports"][0]["nodePort"] <= 32767
        taken = {"type": "NodePort", "ports": [{"port": 80, "nodePort": 30080}]}
        error = await world.refused(SERVICES, "ns", metadata={"name": "c"}, spec=taken)
        sentence = "provided port is already allocated"
        assert error.message == f'Service "c" is invalid: spec.ports[0].nodePort: Invalid value: 30080: {sentence}'
        outside = {"type": "NodePort", "ports": [{"port": 80, "nodePort": 80}]}
        error = await world.refused(SERVICES, "ns", metadata={"name": "d"}, spec=outside)
        assert error.message.endswith("The range of valid ports is 30000-32767")

    async def test_an_update_keeps_address_and_ports(self) -> None:
        world = await fresh_world()
        before = await self.of(world, "a", type="NodePort")
        after = (await world.merge(SERVICES, "a", "ns", {"metadata": {"labels": {"l": "m"}}}))["spec"]
        assert after == before


@pytest.mark.parametrize(("resource", "name"), [(NAMESPACES, "default"), (NAMESPACES, "kube-system")])
async def test_what_every_cluster_needs_stays(resource: Resource, name: str) -> None:
    world = await fresh_world()
    with pytest.raises(Exception, match="this namespace may not be deleted") as refused:
        await world.delete(resource, name)
    assert getattr(refused.value, "code", 0) == 403


async def test_a_pod_sent_again_as_it_was_first_sent_is_unchanged() -> None:
    world = await fresh_world()
    spec = {"containers": [{"name": "c", "image": "i"}]}
    made = await world.create(PODS, "ns", spec=spec)
    again = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": spec}
    kept = (await world.server.update(PODS, "x", msgspec.json.encode(again), "ns")).tree()
    assert kept["metadata"]["generation"] == 1
    assert kept["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]
