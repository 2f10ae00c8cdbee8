"""The loops of a cluster, each seen at work in a whole one on virtual time."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from eachnode.controllers.kubelet import STOPPED, KubeletOptions
from eachnode.decisions.pod_stages.mishaps import read_mishaps
from eachnode.objects.deletion import DeleteOptions
from eachnode.objects.resources import (
    CONFIG_MAPS,
    EVENTS,
    LEASES,
    NAMESPACES,
    NODES,
    POD_DISRUPTION_BUDGETS,
    PODS,
    RESOURCE_QUOTAS,
    SERVICE_ACCOUNTS,
)
from eachnode.objects.status import Forbidden, TooManyRequests
from tests.worlds import World, pod, world

NO_CONTROLLER = ("controller",)


def phase(tree: dict[str, Any] | None) -> str:
    return str((tree or {}).get("status", {}).get("phase"))


def taints(tree: dict[str, Any] | None) -> set[str]:
    found = (tree or {}).get("spec", {}).get("taints", [])
    return {f"{taint['key'].removeprefix('node.kubernetes.io/')}:{taint['effect']}" for taint in found}


async def test_a_pod_is_bound_started_and_given_an_address() -> None:
    async with world(nodes=2, without=NO_CONTROLLER) as cluster:
        await cluster.create(PODS, pod("p"))

        async def running() -> bool:
            return phase(await cluster.get(PODS, "p")) == "Running"

        await cluster.until(running)
        tree = await cluster.get(PODS, "p")
        assert tree is not None
        assert tree["spec"]["nodeName"] in ("node-1", "node-2")
        assert tree["status"]["podIP"]
        ready = {each["type"]: each["status"] for each in tree["status"]["conditions"]}
        assert ready["Ready"] == ready["PodScheduled"] == "True"


async def test_a_pod_whose_image_is_nowhere_waits_as_people_know_it() -> None:
    async with world(nodes=1, without=NO_CONTROLLER) as cluster:
        await cluster.create(PODS, pod("p", image="foo:non-existent"))
        seen = set()

        async def both() -> bool:
            for status in (await cluster.get(PODS, "p") or {})["status"].get("containerStatuses", []):
                seen.add(status["state"]["waiting"]["reason"])
            return {"ErrImagePull", "ImagePullBackOff"} <= seen

        await cluster.until(both, within=60)


async def test_an_init_container_whose_image_is_nowhere_is_told_of_and_nothing_else_is() -> None:
    async with world(nodes=1, without=NO_CONTROLLER) as cluster:
        bad = [{"name": "init", "image": "foo:non-existent"}]
        await cluster.create(PODS, pod("p", initContainers=bad))

        async def waits() -> bool:
            statuses = (await cluster.get(PODS, "p") or {})["status"].get("initContainerStatuses", [])
            return [each["state"]["waiting"]["reason"] for each in statuses] == ["ImagePullBackOff"]

        await cluster.until(waits, within=60)
        told = {each["message"] for each in await cluster.all(EVENTS, fields="involvedObject.name=p")}
        assert 'Back-off pulling image "foo:non-existent"' in told
        assert not [message for message in told if '"i:1"' in message]


async def test_deleting_a_pod_takes_its_grace_in_lifelike_timing() -> None:
    lifelike = KubeletOptions(timing="lifelike")
    async with world(nodes=1, kubelet=lifelike, without=NO_CONTROLLER) as cluster:
        hook = {"lifecycle": {"preStop": {"sleep": {"seconds": 5}}}, "name": "c", "image": "i:1"}
        await cluster.create(PODS, pod("p", containers=[hook]))

        async def running() -> bool:
            return phase(await cluster.get(PODS, "p")) == "Running"

        await cluster.until(running)
        await cluster.delete(PODS, "p")
        leaving = await cluster.get(PODS, "p")
        assert leaving is not None
        assert leaving["metadata"]["deletionGracePeriodSeconds"] == 30

        async def gone() -> bool:
            return await cluster.get(PODS, "p") is None

        started = cluster.cluster.clock.now()
        await cluster.until(gone, within=31)
        assert cluster.cluster.clock.now() - started >= 5


async def _dead_node(cluster: World) -> None:
    await cluster.create(PODS, pod("p", nodeName="node-1"))

    async def running() -> bool:
        return phase(await cluster.get(PODS, "p")) == "Running"

    await cluster.until(running)
    await cluster.patch(NODES, "node-1", {"metadata": {"annotations": {STOPPED: "true"}}})

    async def unreachable() -> bool:
        return "unreachable:NoExecute" in taints(await cluster.get(NODES, "node-1"))

    await cluster.until(unreachable, within=120)


async def test_a_silent_node_is_tainted_its_pods_are_not_ready_and_it_comes_back() -> None:
    async with world(nodes=4, without=NO_CONTROLLER) as cluster:
        await _dead_node(cluster)
        tree = await cluster.get(PODS, "p")
        assert tree is not None
        assert {each["type"]: each["status"] for each in tree["status"]["conditions"]}["Ready"] == "False"
        await cluster.patch(NODES, "node-1", {"metadata": {"annotations": {STOPPED: None}}})

        async def back() -> bool:
            return not taints(await cluster.get(NODES, "node-1"))

        await cluster.until(back, within=60)

        async def ready() -> bool:
            conditions = (await cluster.get(PODS, "p") or {})["status"]["conditions"]
            return bool({each["type"]: each["status"] for each in conditions}["Ready"] == "True")

        await cluster.until(ready, within=60)


async def test_a_pod_leaves_a_dead_node_when_its_patience_has_run_out() -> None:
    async with world(nodes=4, without=NO_CONTROLLER) as cluster:
        await _dead_node(cluster)

        async def leaving() -> bool:
            tree = await cluster.get(PODS, "p")
            return tree is not None and "deletionTimestamp" in tree["metadata"]

        await cluster.until(leaving, within=320)


async def test_a_cordoned_node_is_tainted_until_it_is_uncordoned() -> None:
    async with world(nodes=1, without=NO_CONTROLLER) as cluster:
        await cluster.patch(NODES, "node-1", {"spec": {"unschedulable": True}})

        async def cordoned() -> bool:
            return taints(await cluster.get(NODES, "node-1")) == {"unschedulable:NoSchedule"}

        await cluster.until(cordoned)
        await cluster.patch(NODES, "node-1", {"spec": {"unschedulable": None}})

        async def free() -> bool:
            return not taints(await cluster.get(NODES, "node-1"))

        await cluster.until(free)


async def test_pods_and_lease_of_a_removed_node_go_with_it() -> None:
    async with world(nodes=2, without=NO_CONTROLLER) as cluster:
        await cluster.create(PODS, pod("p", nodeName="node-1"))

        async def leased() -> bool:
            return await cluster.get(LEASES, "node-1", "kube-node-lease") is not None

        await cluster.until(leased)
        await cluster.delete(NODES, "node-1")

        async def gone() -> bool:
            return not await cluster.pods() and await cluster.get(LEASES, "node-1", "kube-node-lease") is None

        await cluster.until(gone, within=60)


async def test_a_new_namespace_gets_what_every_namespace_has_and_gets_it_back() -> None:
    async with world(without=NO_CONTROLLER, root_certificates="PEM") as cluster:
        await cluster.create(NAMESPACES, {"metadata": {"name": "n"}})

        async def furnished() -> bool:
            account = await cluster.get(SERVICE_ACCOUNTS, "default", "n")
            certificates = await cluster.get(CONFIG_MAPS, "kube-root-ca.crt", "n")
            return account is not None and certificates is not None and certificates["data"] == {"ca.crt": "PEM"}

        await cluster.until(furnished)
        await cluster.delete(SERVICE_ACCOUNTS, "default", "n")
        await cluster.delete(CONFIG_MAPS, "kube-root-ca.crt", "n")
        await cluster.until(furnished)


async def test_a_removed_namespace_tells_what_holds_it_and_goes_when_nothing_does() -> None:
    async with world(without=NO_CONTROLLER) as cluster:
        await cluster.create(NAMESPACES, {"metadata": {"name": "n"}})
        await cluster.create(CONFIG_MAPS, {"metadata": {"name": "held", "finalizers": ["example.com/hold"]}}, "n")
        await cluster.delete(NAMESPACES, "n")

        async def told() -> bool:
            tree = await cluster.get(NAMESPACES, "n")
            conditions = (tree or {}).get("status", {}).get("conditions", [])
            return any(
                each["type"] == "NamespaceFinalizersRemaining" and "example.com/hold in 1" in each["message"]
                for each in conditions
            )

        await cluster.until(told)
        with pytest.raises(Forbidden) as refusal:
            await cluster.create(CONFIG_MAPS, {"metadata": {"name": "late"}}, "n")
        assert refusal.value.has_cause("NamespaceTerminating")
        await cluster.patch(CONFIG_MAPS, "held", {"metadata": {"finalizers": None}}, "n")

        async def gone() -> bool:
            return await cluster.get(NAMESPACES, "n") is None

        await cluster.until(gone)


async def _family(cluster: World) -> None:
    owner = await cluster.create(CONFIG_MAPS, {"metadata": {"name": "owner"}})
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
    reference = {**reference, "blockOwnerDeletion": True}
    await cluster.create(CONFIG_MAPS, {"metadata": {"name": "child", "ownerReferences": [reference]}})


async def _names(cluster: World) -> set[str]:
    return {each["metadata"]["name"] for each in await cluster.all(CONFIG_MAPS, "default")} - {"kube-root-ca.crt"}


async def test_dependents_follow_their_owner_or_stay_or_go_first_as_asked() -> None:
    for policy, left in (("Background", set()), ("Orphan", {"child"}), ("Foreground", set())):
        async with world(without=NO_CONTROLLER) as cluster:
            await _family(cluster)
            await cluster.delete(CONFIG_MAPS, "owner", options=DeleteOptions(propagation_policy=policy))  # type: ignore[arg-type]  # the literals

            async def settled(cluster: World = cluster, left: set[str] = left) -> bool:
                return await _names(cluster) == left

            await cluster.until(settled)


async def _own(cluster: World, dependent: str, owner: str) -> None:
    """Has an object hold back another one that it belongs to."""
    uid = ((await cluster.get(CONFIG_MAPS, owner)) or {})["metadata"]["uid"]
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": owner, "uid": uid, "blockOwnerDeletion": True}
    await cluster.patch(CONFIG_MAPS, dependent, {"metadata": {"ownerReferences": [reference]}})


async def test_objects_that_own_one_another_in_a_circle_go_together() -> None:
    async with world(without=NO_CONTROLLER) as cluster:
        for name in ("a", "b", "c"):
            await cluster.create(CONFIG_MAPS, {"metadata": {"name": name}})
        for dependent, owner in (("b", "a"), ("c", "b"), ("a", "c")):
            await _own(cluster, dependent, owner)
        await cluster.delete(CONFIG_MAPS, "a", options=DeleteOptions(propagation_policy="Foreground"))

        async def gone() -> bool:
            return await _names(cluster) == set()

        await cluster.until(gone)


async def test_an_object_that_owns_itself_waits_for_itself_and_stops_nothing_else() -> None:
    async with world(without=NO_CONTROLLER) as cluster:
        await cluster.create(CONFIG_MAPS, {"metadata": {"name": "self"}})
        await _own(cluster, "self", "self")
        await cluster.delete(CONFIG_MAPS, "self", options=DeleteOptions(propagation_policy="Foreground"))
        await _family(cluster)
        await cluster.delete(CONFIG_MAPS, "owner", options=DeleteOptions(propagation_policy="Foreground"))

        async def only_itself() -> bool:
            return await _names(cluster) == {"self"}

        await cluster.until(only_itself)


async def test_an_object_whose_owner_never_was_goes_too() -> None:
    async with world(without=NO_CONTROLLER) as cluster:
        ghost = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": "ghost",
            "uid": "33333333-3333-3333-3333-333333333333",
        }
        await cluster.create(CONFIG_MAPS, {"metadata": {"name": "lost", "ownerReferences": [ghost]}})

        async def gone() -> bool:
            return await _names(cluster) == set()

        await cluster.until(gone)


async def test_a_quota_tells_what_is_used_and_a_budget_what_may_go() -> None:
    async with world(nodes=2, without=NO_CONTROLLER) as cluster:
        await cluster.create(RESOURCE_QUOTAS, {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "3"}}})
        budget = {"selector": {"matchLabels": {"app": "x"}}, "minAvailable": 1}
        await cluster.create(POD_DISRUPTION_BUDGETS, {"metadata": {"name": "b"}, "spec": budget})
        for name in ("p", "q"):
            await cluster.create(PODS, pod(name, metadata={"labels": {"app": "x"}}))

        async def told() -> bool:
            quota = (await cluster.get(RESOURCE_QUOTAS, "q") or {}).get("status", {})
            budget = (await cluster.get(POD_DISRUPTION_BUDGETS, "b") or {}).get("status", {})
            return bool(quota.get("used") == {"pods": "2"} and budget.get("disruptionsAllowed") == 1)

        await cluster.until(told)
        await cluster.patch(RESOURCE_QUOTAS, "q", {"spec": {"hard": {"pods": None, "configmaps": "9"}}})

        async def forgot() -> bool:
            status = (await cluster.get(RESOURCE_QUOTAS, "q") or {})["status"]
            return bool(status == {"hard": {"configmaps": "9"}, "used": {"configmaps": "1"}})

        await cluster.until(forgot)
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p", "namespace": "default"}}
        await cluster.door.create(PODS, msgspec.json.encode(eviction), "default", name="p", subresource="eviction")
        late = msgspec.json.encode({**eviction, "metadata": {"name": "q", "namespace": "default"}})
        with pytest.raises(TooManyRequests):
            await cluster.door.create(PODS, late, "default", name="q", subresource="eviction")


async def test_a_rebooted_node_says_so_and_its_pods_start_once_more_at_once() -> None:
    async with world(nodes=1, without=NO_CONTROLLER) as cluster:
        await cluster.create(PODS, pod("p", nodeName="node-1"))

        async def restarts() -> list[int]:
            statuses = (await cluster.get(PODS, "p") or {})["status"].get("containerStatuses", [])
            return [status["restartCount"] for status in statuses if status["ready"]]

        async def runs() -> bool:
            return await restarts() == [0]

        async def boot() -> str:
            return str((await cluster.get(NODES, "node-1") or {})["status"].get("nodeInfo", {}).get("bootID"))

        await cluster.until(runs)
        before = await boot()
        await cluster.patch(NODES, "node-1", {"metadata": {"annotations": {"eachnode.dev/rebooted": "now"}}})

        async def restarted() -> bool:
            return await restarts() == [1]

        async def boots_anew() -> bool:
            return await boot() != before

        await cluster.until(restarted, within=1)
        await cluster.until(boots_anew, within=12)
        told = [each["message"] for each in await cluster.all(EVENTS, fields="reason=Rebooted")]
        assert told == [f"Node node-1 has been rebooted, boot id: {await boot()}"]


async def test_mishaps_befall_nodes_as_the_file_says() -> None:
    silence = {"name": "node-1 is silent", "do": "stop", "when": {"nodes": ["node-1"]}, "after": "10s", "for": "70s"}
    reboot = {"name": "node-2 reboots", "do": "reboot", "when": {"nodes": ["node-2"]}, "after": "10s"}
    mishaps = read_mishaps({"nodes": [silence, reboot]})
    async with world(nodes=3, kubelet=KubeletOptions(mishaps=mishaps), without=NO_CONTROLLER) as cluster:
        await cluster.create(PODS, pod("p", nodeName="node-2"))

        async def silent_and_restarted() -> bool:
            statuses = (await cluster.get(PODS, "p") or {})["status"].get("containerStatuses", [])
            restarts = [status["restartCount"] for status in statuses]
            return restarts == [1] and "unreachable:NoSchedule" in taints(await cluster.get(NODES, "node-1"))

        await cluster.until(silent_and_restarted, within=120)

        async def back() -> bool:
            return not taints(await cluster.get(NODES, "node-1"))

        await cluster.until(back, within=60)
