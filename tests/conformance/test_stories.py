"""Stories that a real Kubernetes tells in one way: each is decided from the reference's sources and told here again."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import msgspec
import pytest

from eachnode.client.door import PatchKind
from eachnode.objects.clock import seconds
from eachnode.objects.deletion import DeleteOptions
from eachnode.objects.resources import (
    CONTROLLER_REVISIONS,
    DAEMON_SETS,
    EVENTS,
    NAMESPACES,
    NODES,
    PODS,
    PRIORITY_CLASSES,
    RESOURCE_QUOTAS,
)
from eachnode.objects.status import Invalid
from tests.conformance.test_rollouts import set_image
from tests.conformance.witness import (
    HASH,
    at_most,
    condition,
    history,
    image,
    is_going,
    is_owned,
    live,
    names,
    pods_of,
    until_it_runs_everywhere,
    watching,
)
from tests.worlds import Tree, World, daemon_set, pod, world

NOT_READY = "node.kubernetes.io/not-ready"
AT_ONCE: Tree = {"terminationGracePeriodSeconds": 0}


async def status(cluster: World) -> Tree:
    """The DaemonSet's status, without what is zero."""
    return {key: value for key, value in (await live(cluster)).get("status", {}).items() if value}


async def until_status(cluster: World, within: float = 60.0, **wanted: int) -> None:
    """Wait until the status says so; `desired=3` means desiredNumberScheduled, and so on."""
    fields = {
        "desired": "desiredNumberScheduled",
        "current": "currentNumberScheduled",
        "misscheduled": "numberMisscheduled",
        "updated": "updatedNumberScheduled",
        "ready": "numberReady",
        "available": "numberAvailable",
        "unavailable": "numberUnavailable",
        "observed": "observedGeneration",
    }

    async def says() -> bool:
        tree = await status(cluster)
        return all(tree.get(fields[key], 0) == value for key, value in wanted.items())

    try:
        await cluster.until(says, within)
    except TimeoutError:
        raise AssertionError(f"{await status(cluster)} is not {wanted}") from None


async def events(cluster: World, *reasons: str) -> list[tuple[str, str, str, int]]:
    """(type, reason, message, count) of the events about the DaemonSet, or of those with these reasons only."""
    return sorted(
        (each["type"], each["reason"], each["message"], each.get("count", 1))
        for each in await cluster.all(EVENTS)
        if each["involvedObject"]["kind"] == "DaemonSet" and (not reasons or each["reason"] in reasons)
    )


async def running(cluster: World, **spec: Any) -> Tree:
    """A DaemonSet that runs on all nodes."""
    template = {**AT_ONCE, **spec.pop("template", {})}
    made = await cluster.create(DAEMON_SETS, daemon_set(template=template, **spec))
    await until_it_runs_everywhere(cluster, made)
    return made


async def on(cluster: World, node: str) -> list[Tree]:
    """The pods on a node."""
    return await cluster.pods(fields=f"spec.nodeName={node}")


async def set_phase(cluster: World, name: str, phase: str) -> None:
    """End a pod."""
    await cluster.patch(PODS, name, {"status": {"phase": phase}}, subresource="status")


@pytest.mark.behaviour(115, 116, 155)
async def test_history_that_pods_use_is_kept_beyond_the_limit() -> None:
    async with world(nodes=2) as cluster:
        await running(cluster, revisionHistoryLimit=1, updateStrategy={"type": "OnDelete"})
        for number in range(2, 6):
            await set_image(cluster, f"i:{number}")
            await until_status(cluster, observed=number)
            await asyncio.sleep(1)
        assert [each["revision"] for each in await history(cluster)] == [1, 5]
        (victim,) = await on(cluster, "node-1")
        await cluster.delete(PODS, victim["metadata"]["name"])
        await until_status(cluster, available=2, updated=1)
        await set_image(cluster, "i:6")
        await until_status(cluster, observed=6)
        await asyncio.sleep(1)
        assert [each["revision"] for each in await history(cluster)] == [1, 5, 6]
        assert Counter(image(each) for each in await cluster.pods()) == {"i:1": 1, "i:5": 1}
        await cluster.patch(DAEMON_SETS, "d", {"spec": {"updateStrategy": {"type": "RollingUpdate"}}})
        await until_status(cluster, available=2, updated=2)
        await asyncio.sleep(1)
        # The pod of revision 5 went first: then that revision was unused, while the older one was not yet.
        assert [each["revision"] for each in await history(cluster)] == [1, 6]
        await cluster.patch(DAEMON_SETS, "d", {"spec": {"revisionHistoryLimit": 0}})
        await asyncio.sleep(1)
        assert [each["revision"] for each in await history(cluster)] == [6]


@pytest.mark.behaviour(104, 113, 123)
async def test_a_revision_keeps_what_was_written_when_it_was_made() -> None:
    async with world(nodes=1) as cluster:
        made = daemon_set(template=AT_ONCE)
        made["metadata"]["annotations"] = {"kubernetes.io/change-cause": "one", "team": "blue"}
        await cluster.create(DAEMON_SETS, made)
        await until_status(cluster, available=1, updated=1)
        (first,) = await history(cluster)
        assert first["metadata"]["labels"] == {"app": "d", HASH: first["metadata"]["labels"][HASH]}
        assert first["metadata"]["name"] == f"d-{first['metadata']['labels'][HASH]}"
        told = {"kubernetes.io/change-cause": "one", "team": "blue", "deprecated.daemonset.template.generation": "1"}
        assert first["metadata"]["annotations"] == told
        await cluster.patch(DAEMON_SETS, "d", {"metadata": {"annotations": {"kubernetes.io/change-cause": "two"}}})
        labels = {"app": "d", "more": "x"}
        await cluster.patch(DAEMON_SETS, "d", {"spec": {"template": {"metadata": {"labels": labels}}}})
        await until_status(cluster, available=1, updated=1, observed=2)
        second = (await history(cluster))[1]
        assert second["metadata"]["labels"] == {**labels, HASH: second["metadata"]["labels"][HASH]}
        assert second["metadata"]["annotations"]["deprecated.daemonset.template.generation"] == "2"
        await cluster.patch(DAEMON_SETS, "d", {"spec": {"template": {"metadata": {"labels": {"more": None}}}}})
        await until_status(cluster, available=1, updated=1, observed=3)
        (second_again, first_again) = await history(cluster)
        assert (first_again["revision"], second_again["revision"]) == (3, 2)
        assert first_again["metadata"]["annotations"] == told
        assert first_again["data"] == first["data"]
        (only,) = await cluster.pods()
        assert only["metadata"]["labels"] == {
            "app": "d",
            HASH: first["metadata"]["labels"][HASH],
            "pod-template-generation": "3",
        }


@pytest.mark.behaviour(10, 50, 158)
async def test_taints_come_and_go() -> None:
    async with world(nodes=3) as cluster:
        made = await running(cluster)
        (before,) = await on(cluster, "node-1")
        taint = {"key": "maintenance", "value": "x", "effect": "NoSchedule"}
        await cluster.patch(NODES, "node-1", {"spec": {"taints": [taint]}})
        await until_status(cluster, desired=2, current=2, misscheduled=1, available=2)
        assert (await on(cluster, "node-1"))[0]["metadata"]["uid"] == before["metadata"]["uid"]
        await cluster.delete(PODS, before["metadata"]["name"])
        await until_status(cluster, desired=2, misscheduled=0)
        assert not await on(cluster, "node-1")
        await cluster.patch(NODES, "node-1", {"spec": {"taints": None}})
        await until_it_runs_everywhere(cluster, made)
        await cluster.patch(NODES, "node-2", {"spec": {"taints": [{**taint, "effect": "NoExecute"}]}})
        await until_status(cluster, desired=2, current=2, misscheduled=0, available=2)
        assert not await on(cluster, "node-2")
        await cluster.patch(NODES, "node-2", {"spec": {"taints": None}})
        await until_it_runs_everywhere(cluster, made)


@pytest.mark.behaviour(12, 21)
async def test_a_drained_node_gets_its_daemon_pod_back_at_once() -> None:
    async with world(nodes=2) as cluster:
        made = await running(cluster)
        await cluster.patch(NODES, "node-1", {"spec": {"unschedulable": True}})
        (victim,) = await on(cluster, "node-1")
        name = victim["metadata"]["name"]
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": "default"}}
        await cluster.door.create(PODS, msgspec.json.encode(eviction), "default", name=name, subresource="eviction")

        async def back() -> bool:
            pods = await on(cluster, "node-1")
            return bool(pods) and name not in names(pods) and condition(pods[0], "Ready").get("status") == "True"

        await cluster.until(back)
        await until_it_runs_everywhere(cluster, made)


@pytest.mark.behaviour(56, 158)
async def test_a_node_that_goes_and_comes_back() -> None:
    async with world(nodes=2) as cluster:
        made = await running(cluster)
        await cluster.delete(NODES, "node-2")
        await until_status(cluster, desired=1, current=1, available=1, misscheduled=0)

        async def gone() -> bool:
            return not await on(cluster, "node-2")

        await cluster.until(gone, 90)
        await cluster.node("node-2")
        await until_it_runs_everywhere(cluster, made)
        await until_status(cluster, desired=2, current=2, available=2)


@pytest.mark.behaviour(51, 55, 95, 171)
async def test_of_two_pods_on_a_node_the_older_stays() -> None:
    async with world(nodes=1) as cluster:
        made = await running(cluster)
        (first,) = await cluster.pods()
        await asyncio.sleep(2)
        twin = pod("dup", nodeName="node-1", metadata={"labels": {"app": "d"}}, **AT_ONCE)
        await cluster.create(PODS, twin)

        async def alone() -> bool:
            return names(await cluster.pods()) == names([first])

        await cluster.until(alone)
        assert await events(cluster, "SuccessfulDelete") == [("Normal", "SuccessfulDelete", "Deleted pod: dup", 1)]
        await until_it_runs_everywhere(cluster, made)


@pytest.mark.behaviour(58, 94, 95, 97, 98)
async def test_pods_change_hands_by_labels_and_references() -> None:
    async with world(nodes=1) as cluster:
        made = await running(cluster)
        (first,) = await cluster.pods()
        name = first["metadata"]["name"]
        await cluster.patch(PODS, name, {"metadata": {"ownerReferences": None}})

        async def adopted() -> bool:
            tree = await cluster.get(PODS, name)
            return tree is not None and is_owned(tree, made)

        await cluster.until(adopted)
        await cluster.patch(PODS, name, {"metadata": {"labels": {"app": "debug"}}})

        async def released() -> bool:
            return {bool(each["metadata"].get("ownerReferences")) for each in await cluster.pods()} == {True, False}

        await cluster.until(released)
        await cluster.until_available("d", 1)
        stranger = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "u-1", "controller": True}
        metadata = {"labels": {"app": "d"}, "ownerReferences": [stranger]}
        await cluster.cluster.end("garbage-collector")
        await cluster.create(PODS, pod("foreign", nodeName="node-1", metadata=metadata))
        await asyncio.sleep(5)
        foreign = await cluster.get(PODS, "foreign")
        assert foreign is not None
        assert not is_going(foreign)
        assert [each["uid"] for each in foreign["metadata"]["ownerReferences"]] == ["u-1"]
        with pytest.raises(Invalid, match="field is immutable"):
            await cluster.patch(DAEMON_SETS, "d", {"spec": {"selector": {"matchLabels": {"app": "e"}}}})


@pytest.mark.behaviour(61, 62, 63, 95, 173, 174)
async def test_failed_pods_are_replaced_with_growing_patience_and_told_of() -> None:
    async with world(nodes=1) as cluster:
        await running(cluster)
        clock = cluster.cluster.clock
        gaps = []
        for _ in range(5):
            (only,) = await cluster.pods()
            failed_at, name = clock.now(), only["metadata"]["name"]
            await set_phase(cluster, name, "Failed")

            async def replaced(name: str = name) -> bool:
                return await cluster.get(PODS, name) is None

            await cluster.until(replaced)
            gaps.append(clock.now() - failed_at)
            await cluster.until_available("d", 1)
        assert gaps[0] < 0.5
        assert [round(gap) for gap in gaps[1:]] == [1, 2, 4, 8]
        told = await events(cluster, "FailedDaemonPod")
        assert len(told) == 5
        assert all(
            text.startswith("Found failed daemon pod default/d-")
            and text.endswith(" on node node-1, will try to kill it")
            for _, _, text, _ in told
        )
        (only,) = await cluster.pods()
        await set_phase(cluster, only["metadata"]["name"], "Succeeded")
        await asyncio.sleep(1)
        await cluster.until_available("d", 1)
        (told_once,) = await events(cluster, "SucceededDaemonPod")
        text = f"Found succeeded daemon pod default/{only['metadata']['name']} on node node-1, will try to delete it"
        assert told_once == ("Normal", "SucceededDaemonPod", text, 1)


@pytest.mark.behaviour(157, 160)
async def test_the_status_while_pods_do_not_start() -> None:
    async with world(nodes=3) as cluster:
        await running(cluster, updateStrategy={"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 2}})
        settled = {"currentNumberScheduled": 3, "desiredNumberScheduled": 3, "numberReady": 3, "numberAvailable": 3}
        assert await status(cluster) == {**settled, "updatedNumberScheduled": 3, "observedGeneration": 1}
        tree = (await live(cluster))["status"]
        assert tree["numberMisscheduled"] == 0
        assert "numberUnavailable" not in tree
        await set_image(cluster, "foo:non-existent")
        await until_status(cluster, available=1, unavailable=2, updated=2)
        stuck = {**settled, "numberReady": 1, "numberAvailable": 1, "numberUnavailable": 2}
        assert await status(cluster) == {**stuck, "updatedNumberScheduled": 2, "observedGeneration": 2}


@pytest.mark.behaviour(166, 167, 168)
async def test_pods_are_trusted_after_min_ready_seconds() -> None:
    async with world(nodes=2) as cluster:
        clock, began = cluster.cluster.clock, cluster.cluster.clock.now()
        await cluster.create(DAEMON_SETS, daemon_set(minReadySeconds=20))
        await until_status(cluster, ready=2, available=0, unavailable=2)
        await until_status(cluster, available=2, unavailable=0)
        assert 20 <= clock.now() - began <= 23
        await cluster.patch(DAEMON_SETS, "d", {"spec": {"minReadySeconds": 60}})
        await until_status(cluster, available=0, observed=2)
        assert len(await history(cluster)) == 1
        await cluster.patch(DAEMON_SETS, "d", {"spec": {"minReadySeconds": 0}})
        await until_status(cluster, available=2, observed=3)


@pytest.mark.behaviour(169, 177, 179, 180)
async def test_many_events_are_combined() -> None:
    async with world(nodes=20) as cluster:
        await running(cluster)
        await asyncio.sleep(5)
        told = await events(cluster, "SuccessfulCreate")
        assert [count for *_, count in told] == [11] + [1] * 9
        combined = [
            text for _, _, text, _ in told if text.startswith("(combined from similar events): Created pod: d-")
        ]
        assert len(combined) == 1


@pytest.mark.behaviour(170)
async def test_a_quota_is_told_and_kept() -> None:
    async with world(nodes=3) as cluster:
        await cluster.create(RESOURCE_QUOTAS, {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "1"}}})

        async def counted() -> bool:
            return "used" in (await cluster.get(RESOURCE_QUOTAS, "q") or {}).get("status", {})

        await cluster.until(counted)
        await cluster.create(DAEMON_SETS, daemon_set())
        await until_status(cluster, desired=3, current=1, available=1, unavailable=2, observed=1)
        told = await events(cluster, "FailedCreate")
        assert told
        text = told[0][2]
        assert text.startswith('Error creating: pods "d-')
        assert text.endswith("is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1")
        await cluster.patch(RESOURCE_QUOTAS, "q", {"spec": {"hard": {"pods": "5"}}})
        await until_status(cluster, 600, current=3, available=3)


@pytest.mark.behaviour(57)
async def test_a_port_that_is_taken_leaves_the_pod_waiting() -> None:
    async with world(nodes=3) as cluster:
        container = {"name": "c", "image": "i:1", "ports": [{"containerPort": 80, "hostPort": 80}]}
        other = {"containers": [container], "nodeName": "node-2"}
        await cluster.create(PODS, {"metadata": {"name": "other"}, "spec": other})
        await cluster.create(DAEMON_SETS, daemon_set(template={"containers": [container]}))
        await until_status(cluster, desired=3, current=3, available=2, unavailable=1)
        (waiting,) = [each for each in await cluster.pods() if not each["spec"].get("nodeName")]
        assert waiting["status"]["phase"] == "Pending"
        said = (
            "0/3 nodes are available: 1 node(s) didn't have free ports for the requested pod ports, "
            "2 node(s) didn't satisfy plugin(s) [NodeAffinity]. "
            "preemption: 0/3 nodes are available: 1 No preemption victims found for incoming pod, "
            "2 Preemption is not helpful for scheduling."
        )
        assert condition(waiting, "PodScheduled")["message"] == said
        (told,) = [each for each in await cluster.all(EVENTS) if each["reason"] == "FailedScheduling"]
        assert (told["type"], told["message"]) == ("Warning", said)
        assert {reason for _, reason, _, _ in await events(cluster)} == {"SuccessfulCreate"}
        await cluster.delete(PODS, "other", options=DeleteOptions(grace_period_seconds=0))
        await until_status(cluster, available=3, unavailable=0)


async def test_an_important_daemon_pod_makes_room_for_itself() -> None:
    async with world(nodes=1) as cluster:
        await cluster.create(PRIORITY_CLASSES, {"metadata": {"name": "high"}, "value": 1000})
        resources = {"requests": {"cpu": "100"}}
        node = await cluster.get(NODES, "node-1")
        assert node is not None
        resources["requests"]["cpu"] = node["status"]["allocatable"]["cpu"]
        container = {"name": "c", "image": "i:1", "resources": resources}
        await cluster.create(PODS, {"metadata": {"name": "low"}, "spec": {"containers": [container], **AT_ONCE}})

        async def placed() -> bool:
            return bool(await on(cluster, "node-1"))

        await cluster.until(placed)
        template = {"containers": [container], "priorityClassName": "high"}
        await cluster.create(DAEMON_SETS, daemon_set(template=template))
        await until_status(cluster, desired=1, available=1)
        assert await cluster.get(PODS, "low") is None
        (told,) = [each for each in await cluster.all(EVENTS) if each["reason"] == "Preempted"]
        (winner,) = await cluster.pods()
        assert told["message"] == f"Preempted by pod {winner['metadata']['uid']} on node node-1"


@pytest.mark.behaviour(29, 49)
async def test_pods_take_finalizers_from_the_template_and_are_replaced_before_those_are_gone() -> None:
    async with world(nodes=1) as cluster:
        tree = daemon_set(template=AT_ONCE)
        tree["spec"]["template"]["metadata"]["finalizers"] = ["example.com/hold"]
        await cluster.create(DAEMON_SETS, tree)
        await cluster.until_available("d", 1)
        (first,) = await cluster.pods()
        assert first["metadata"]["finalizers"] == ["example.com/hold"]
        await cluster.delete(PODS, first["metadata"]["name"])

        async def two() -> bool:
            return len(await cluster.pods()) == 2

        await cluster.until(two)
        await cluster.until_available("d", 1)
        await cluster.patch(PODS, first["metadata"]["name"], {"metadata": {"finalizers": None}})
        assert await cluster.get(PODS, first["metadata"]["name"]) is None


@pytest.mark.behaviour(13, 22)
async def test_a_node_that_says_it_is_not_ready_keeps_its_pod_as_it_is() -> None:
    async with world(nodes=3) as cluster:
        made = await running(cluster)
        (before,) = await on(cluster, "node-2")
        told = [{"type": "Ready", "status": "False", "reason": "KubeletNotReady", "message": "test"}]
        body = msgspec.json.encode({"status": {"conditions": told}})
        await cluster.door.patch(NODES, "node-2", body, PatchKind.STRATEGIC, subresource="status")

        async def tainted() -> bool:
            tree = await cluster.get(NODES, "node-2")
            taints = {(each["key"], each["effect"]) for each in (tree or {"spec": {}})["spec"].get("taints") or ()}
            return taints == {(NOT_READY, "NoSchedule"), (NOT_READY, "NoExecute")}

        async with watching(cluster, made, at_most(0)):
            await cluster.until(tainted)
            await asyncio.sleep(30)
            await cluster.patch(PODS, before["metadata"]["name"], {"metadata": {"labels": {"seen": "yes"}}})
        (after,) = await on(cluster, "node-2")
        assert after["metadata"]["uid"] == before["metadata"]["uid"]
        assert condition(after, "Ready")["status"] == "True"  # Only of silent nodes is it said by others.
        node = await cluster.get(NODES, "node-2")
        assert node is not None
        assert condition(node, "Ready")["status"] == "False"  # Nor does the node take it back.
        told[0]["status"] = "True"
        body = msgspec.json.encode({"status": {"conditions": told}})
        await cluster.door.patch(NODES, "node-2", body, PatchKind.STRATEGIC, subresource="status")

        async def free() -> bool:
            tree = await cluster.get(NODES, "node-2")
            return not (tree or {"spec": {}})["spec"].get("taints")

        await cluster.until(free)
        await until_status(cluster, desired=3, current=3, available=3, misscheduled=0)


@pytest.mark.behaviour(182, 183, 184)
@pytest.mark.parametrize("policy", ["Background", "Foreground", "Orphan"])
async def test_what_becomes_of_pods_and_history_is_asked_for(policy: Any) -> None:
    async with world(nodes=2) as cluster:
        await running(cluster)
        await cluster.delete(DAEMON_SETS, "d", options=DeleteOptions(propagation_policy=policy))

        async def gone() -> bool:
            return await cluster.get(DAEMON_SETS, "d") is None

        await cluster.until(gone)
        if policy == "Foreground":
            assert not await cluster.pods()
        await asyncio.sleep(5)
        left = 2 if policy == "Orphan" else 0
        pods, revisions = await cluster.pods(), await history(cluster)
        assert (len(pods), len(revisions)) == (left, left // 2)
        assert not any(each["metadata"].get("ownerReferences") for each in (*pods, *revisions))


@pytest.mark.behaviour(75)
async def test_a_namespace_that_goes_takes_its_daemonset_along_quietly() -> None:
    async with world(nodes=2) as cluster:
        await cluster.create(NAMESPACES, {"metadata": {"name": "n"}})
        await cluster.create(DAEMON_SETS, daemon_set(template=AT_ONCE), "n")
        await cluster.until_available("d", 2, namespace="n")
        await cluster.delete(NAMESPACES, "n")

        async def gone() -> bool:
            return await cluster.get(NAMESPACES, "n") is None

        await cluster.until(gone)
        assert not await cluster.pods()


@pytest.mark.behaviour(3, 50)
async def test_a_template_that_names_another_node_moves_the_pod() -> None:
    async with world(nodes=2) as cluster:
        tree = daemon_set(template={**AT_ONCE, "nodeName": "node-1"})
        await cluster.create(DAEMON_SETS, tree)
        await until_status(cluster, desired=1, available=1)
        assert len(await on(cluster, "node-1")) == 1
        await cluster.patch(DAEMON_SETS, "d", {"spec": {"template": {"spec": {"nodeName": "node-2"}}}})
        await until_status(cluster, desired=1, available=1, updated=1, misscheduled=0, observed=2)
        assert not await on(cluster, "node-1")
        assert len(await on(cluster, "node-2")) == 1


@pytest.mark.behaviour(133, 137, 140)
async def test_what_does_not_run_is_replaced_first_and_at_once() -> None:
    async with world(nodes=4) as cluster:
        await running(cluster)
        await set_image(cluster, "a:non-existent")
        await until_status(cluster, updated=1, unavailable=1)
        await set_image(cluster, "b:non-existent")
        await until_status(cluster, updated=1, unavailable=1, observed=3)
        await asyncio.sleep(5)
        assert Counter(image(each) for each in await cluster.pods()) == {"i:1": 3, "b:non-existent": 1}
        await set_image(cluster, "c:1")
        await until_status(cluster, updated=4, available=4)


@pytest.mark.behaviour(127, 141)
async def test_generations_and_their_annotation() -> None:
    generation = "deprecated.daemonset.template.generation"
    async with world(nodes=1) as cluster:
        await running(cluster)
        await cluster.patch(DAEMON_SETS, "d", {"metadata": {"annotations": {generation: "7"}}})
        assert (await live(cluster))["metadata"]["annotations"][generation] == "1"
        await cluster.patch(DAEMON_SETS, "d", {"spec": {"minReadySeconds": 1}})
        tree = (await live(cluster))["metadata"]
        assert (tree["generation"], tree["annotations"][generation]) == (2, "1")
        await set_image(cluster, "i:2")
        tree = (await live(cluster))["metadata"]
        assert (tree["generation"], tree["annotations"][generation]) == (3, "2")
        await until_status(cluster, observed=3, updated=1, available=1)
        (only,) = await cluster.pods()
        assert only["metadata"]["labels"]["pod-template-generation"] == "2"


@pytest.mark.behaviour(100, 112)
async def test_a_revision_that_is_lost_or_released_is_made_or_adopted_again() -> None:
    async with world(nodes=1) as cluster:
        made = await running(cluster)
        (first,) = await history(cluster)
        before = names(await cluster.pods())
        await cluster.patch(CONTROLLER_REVISIONS, first["metadata"]["name"], {"metadata": {"ownerReferences": None}})

        async def owned() -> bool:
            return [is_owned(each, made) for each in await history(cluster)] == [True]

        await cluster.until(owned)
        assert names(await history(cluster)) == names([first])
        await cluster.delete(CONTROLLER_REVISIONS, first["metadata"]["name"])
        await cluster.until(owned)
        (again,) = await history(cluster)
        assert again["metadata"]["name"] == first["metadata"]["name"]
        assert again["metadata"]["uid"] != first["metadata"]["uid"]
        assert again["revision"] == 1
        assert names(await pods_of(cluster, made)) == before
        assert seconds(again["metadata"]["creationTimestamp"]) is not None
