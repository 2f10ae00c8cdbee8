"""What wakes a DaemonSet, and that nothing needs to that has already come."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from eachnode.client.intercepting import Call
from eachnode.controllers.daemonset import DaemonSetOptions
from eachnode.controllers.daemonset.observe import World
from eachnode.objects.daemonset import DaemonSet
from eachnode.objects.meta import Key
from eachnode.objects.node import Node
from eachnode.objects.pod import Pod
from eachnode.objects.resources import DAEMON_SETS, NODES, PODS
from eachnode.objects.revision import ControllerRevision
from eachnode.objects.status import Forbidden
from tests.controllers.daemonset.stage import stage

D, E = Key("ns", "d"), Key("ns", "e")
Tree = dict[str, Any]


class Told:
    """A world that notes whom it wakes."""

    def __init__(self) -> None:
        self._woken: list[Key] = []
        self.nodes: dict[Key, Node] = {}
        self.world = World(self.nodes, self._woken.append, DaemonSetOptions())

    def woken(self, by: Callable[[], None]) -> list[str]:
        """The names of the DaemonSets that something wakes."""
        self._woken.clear()
        by()
        return sorted({key.name for key in self._woken})

    def node(self, old: Node | None, new: Node | None) -> list[str]:
        for gone in (old,) if old is not None else ():
            self.nodes.pop(gone.metadata.key, None)
        if new is not None:
            self.nodes[new.metadata.key] = new
        return self.woken(lambda: self.world.node_changed(old, new))

    def pod(self, old: Pod | None, new: Pod | None) -> list[str]:
        return self.woken(lambda: self.world.pod_changed(old, new))

    def revision(self, old: ControllerRevision | None, new: ControllerRevision | None) -> list[str]:
        return self.woken(lambda: self.world.revision_changed(old, new))


def daemonset(name: str = "d", uid: str = "", selector: Tree | None = None, template: Tree | None = None) -> DaemonSet:
    spec = {"selector": selector or {"matchLabels": {"app": name}}, "template": {"spec": template or {}}}
    tree = {"metadata": {"name": name, "namespace": "ns", "uid": uid or f"uid-{name}"}, "spec": spec}
    return msgspec.json.decode(msgspec.json.encode(tree), type=DaemonSet)


def reference(name: str = "d", uid: str = "", kind: str = "DaemonSet") -> list[Tree]:
    return [{"kind": kind, "name": name, "uid": uid or f"uid-{name}", "controller": True}]


def metadata(name: str, owner: list[Tree] | None, labels: Tree | None, **more: Any) -> Tree:
    return {"name": name, "namespace": "ns", "uid": f"uid-{name}", "labels": labels, "ownerReferences": owner, **more}


def pod(owner: list[Tree] | None = None, labels: Tree | None = None, name: str = "p", **more: Any) -> Pod:
    tree = {"metadata": metadata(name, owner, labels, **more), "spec": {"nodeName": "n1"}}
    return msgspec.convert(tree, Pod)


def revision(owner: list[Tree] | None = None, labels: Tree | None = None, **more: Any) -> ControllerRevision:
    tree = {"metadata": metadata("r", owner, labels, **more)}
    return msgspec.json.decode(msgspec.json.encode(tree), type=ControllerRevision)


def node(name: str = "n1", taints: list[Tree] | None = None, **labels: str) -> Node:
    return msgspec.convert({"metadata": {"name": name, "labels": labels}, "spec": {"taints": taints}}, Node)


def told(*daemonsets: DaemonSet) -> Told:
    made = Told()
    for each in daemonsets or (daemonset("d"), daemonset("e")):
        made.world.daemonset_changed(None, each)
    return made


@pytest.mark.behaviour(84)
def test_a_daemonset_that_comes_changes_or_goes_is_looked_at() -> None:
    made = told()
    again = daemonset("d")
    assert made.woken(lambda: made.world.daemonset_changed(None, daemonset("f"))) == ["f"]
    assert made.woken(lambda: made.world.daemonset_changed(again, again)) == ["d"]
    assert made.woken(lambda: made.world.daemonset_changed(again, None)) == ["d"]
    assert D not in made.world.charges


@pytest.mark.behaviour(83, 85, 195)
def test_a_namesake_is_another_daemonset() -> None:
    made = told()
    first = made.world.charges[D]
    first.expectations.creates.add(D)
    first.versions.wrote("pods", "7")
    made.world.daemonset_changed(first.daemonset, None)
    made.world.daemonset_changed(None, daemonset("d", uid="another"))
    second = made.world.charges[D]
    assert second.uid == "another"
    assert not second.expectations.creates
    assert not second.versions.needed
    # The deletion of the first, told late, does not touch the second.
    made.world.daemonset_changed(first.daemonset, None)
    assert made.world.charges[D] is second


@pytest.mark.behaviour(80, 86)
def test_a_pod_wakes_its_owner_by_kind_name_and_uid() -> None:
    made = told()
    expectations = made.world.charges[D].expectations
    expectations.creates.add(Key("ns", "p"))
    assert made.pod(None, pod(reference("d"))) == ["d"]
    assert not expectations.creates
    assert made.pod(None, pod(reference("d", uid="other"), name="q")) == []
    assert made.pod(None, pod(reference("x", uid="uid-d"), name="q")) == []
    assert made.pod(None, pod(reference("d", kind="ReplicaSet"), name="q")) == []
    # Another group's DaemonSet would do: only the kind is compared.
    assert made.pod(None, pod([{**reference("d")[0], "apiVersion": "extensions/v1beta1"}], name="q")) == ["d"]


@pytest.mark.behaviour(82, 87)
def test_an_orphan_wakes_whoever_selects_it_and_touches_no_expectation() -> None:
    both = daemonset("both", selector={"matchExpressions": [{"key": "app", "operator": "Exists"}]})
    neither = daemonset("neither", selector={"matchExpressions": [{"key": "x", "operator": "DoesNotExist"}]})
    everything = daemonset("everything")
    everything = msgspec.structs.replace(everything, spec_text=msgspec.Raw(b'{"selector":{}}'))
    made = told(daemonset("d"), both, neither, everything)
    made.world.charges[D].expectations.creates.add(Key("ns", "p"))
    assert made.pod(None, pod(labels={"app": "d"})) == ["both", "d", "neither"]
    assert made.world.charges[D].expectations.creates == {Key("ns", "p")}
    assert made.pod(None, pod(labels={}, name="q")) == []


@pytest.mark.behaviour(89)
def test_a_pod_that_changes_hands_wakes_both_and_an_orphan_only_when_its_labels_change() -> None:
    made = told()
    of_d, of_e = pod(reference("d")), pod(reference("e"))
    made.pod(None, of_d)
    assert made.pod(of_d, of_e) == ["d", "e"]
    assert made.pod(of_e, of_e) == ["e"]
    orphan = pod(labels={"app": "d"})
    assert made.pod(of_e, orphan) == ["d", "e"]
    assert made.pod(orphan, pod(labels={"app": "d"}, resourceVersion="2")) == []
    assert made.pod(orphan, pod(labels={"app": "e"})) == ["e"]


@pytest.mark.behaviour(80, 90)
def test_a_pod_that_goes_wakes_its_owner_and_nobody_when_it_had_none() -> None:
    made = told()
    mine, orphan, other = pod(reference("d")), pod(labels={"app": "d"}, name="o"), pod(reference("x"), name="x")
    for each in (mine, orphan, other):
        made.pod(None, each)
    made.world.charges[D].expectations.deletes.add("uid-p")
    assert made.pod(mine, None) == ["d"]
    assert not made.world.charges[D].expectations.deletes
    assert made.pod(orphan, None) == []
    assert made.pod(other, None) == []
    assert made.world.charges[D].orphan_pods == {}


@pytest.mark.behaviour(91, 92)
def test_a_revision_wakes_its_owner_or_whoever_could_adopt_it() -> None:
    made = told()
    mine = revision(reference("d"), {"app": "d"})
    # Who makes a revision in our name is not done yet: a twin of the current one, say, which is to take its place.
    assert made.revision(None, mine) == []
    going = revision(reference("d"), {"app": "d"}, deletionTimestamp="2026-01-01T00:00:00Z")
    assert made.revision(None, going) == ["d"]
    assert made.revision(mine, revision(reference("d"), {"app": "d", "more": ""}, resourceVersion="2")) == ["d"]
    assert made.revision(going, mine) == ["d"]
    assert made.revision(mine, revision(reference("e"), {"app": "d"})) == ["d", "e"]
    assert made.revision(mine, None) == ["d"]
    orphan = revision(None, {"app": "d"})
    assert made.revision(None, orphan) == ["d"]
    assert made.revision(orphan, revision(None, {"app": "d"}, resourceVersion="2")) == []
    assert made.revision(orphan, revision(None, {"app": "e"})) == ["e"]
    assert made.revision(None, revision(None, {"app": "e"}, deletionTimestamp="2026-01-01T00:00:00Z")) == []


@pytest.mark.behaviour(185, 186, 190)
def test_a_node_wakes_those_to_whom_it_makes_a_difference() -> None:
    picky = daemonset("e", template={"nodeSelector": {"disk": "ssd"}})
    made = told(daemonset("d"), picky)
    assert made.node(None, node()) == ["d"]
    assert made.node(node(), node()) == []
    assert made.node(node(), node(taints=[{"key": "b", "effect": "NoExecute"}])) == ["d"]
    assert made.node(node(taints=[{"key": "b", "effect": "NoExecute"}]), node()) == ["d"]
    assert made.node(node(), node(disk="ssd")) == ["e"]
    assert made.node(node(disk="ssd"), node(disk="ssd", zone="a")) == []
    taint = {"key": "a", "effect": "NoSchedule"}
    assert made.node(node(disk="ssd"), node(taints=[taint], disk="ssd")) == ["d", "e"]
    assert made.node(node(taints=[taint], disk="ssd"), None) == []  # Refused, and nothing was there.
    made.node(None, node())
    heartbeat = msgspec.convert({"metadata": {"name": "n1", "labels": {}, "annotations": {"a": "b"}}}, Node)
    assert made.node(node(), heartbeat) == []


@pytest.mark.behaviour(188)
def test_a_node_that_vanished_again_is_forgotten() -> None:
    made = told()
    made.node(None, node())
    assert made.node(node(), None) == ["d", "e"]
    fleet = made.world.charges[D].fleet
    assert fleet is not None
    fleet.refresh(0)
    assert fleet.slots == {}
    assert fleet.tally.desired == 0
    assert made.node(node(), None) == []


@pytest.mark.behaviour(187)
async def test_a_deleted_node_and_a_new_taint_are_in_the_status_at_once() -> None:
    async with stage("n1", "n2", "n3") as play:
        await play.controller()
        await play.daemonset()
        await play.until_serving(3)
        await play.patch(NODES, "n1", {"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}})
        await play.until_status(desiredNumberScheduled=2, numberMisscheduled=1, seconds=0.2)
        await play.delete(NODES, "n2")
        await play.until_status(desiredNumberScheduled=1, numberMisscheduled=1, seconds=0.2)
        assert len(await play.pods()) == 3


@pytest.mark.behaviour(186, 187)
async def test_a_pod_that_was_never_bound_leaves_a_node_that_no_longer_wants_it() -> None:
    async with stage() as play:
        play.hands.binds = lambda pod: False
        await play.node("n1", disk="ssd")
        await play.controller()
        await play.daemonset(template={"nodeSelector": {"disk": "ssd"}})
        await play.until_status(currentNumberScheduled=1)
        await play.patch(NODES, "n1", {"metadata": {"labels": {"disk": None}}})
        await play.until_status(desiredNumberScheduled=0, currentNumberScheduled=0, seconds=0.2)
        assert not await play.pods()


@pytest.mark.behaviour(167, 168)
async def test_a_pod_becomes_available_without_anything_else_happening() -> None:
    async with stage("n1") as play:
        await play.controller()
        await play.daemonset(minReadySeconds=40)
        await play.until_status(numberReady=1)
        began = play.clock.now()
        await play.until_status(numberAvailable=1, seconds=60)
        assert play.clock.now() - began < 41.5


@pytest.mark.behaviour(167, 168)
async def test_passes_that_fail_do_not_delay_what_changes_by_itself() -> None:
    """One node's pod is refused again and again, with pauses of many minutes; the other becomes available in time."""
    async with stage("n1") as play:
        await play.controller()
        await play.daemonset(minReadySeconds=700)
        await play.until_status(numberReady=1)
        began = play.clock.now()

        async def refuse(call: Call) -> None:
            if call.verb == "create" and call.resource is PODS:
                raise Forbidden("no more pods")

        play.door.interfere = refuse
        await play.nodes("n2")
        await play.settle(690)
        assert (await play.status())["desiredNumberScheduled"] == 2
        await play.until_status(numberAvailable=1)
        assert play.clock.now() - began < 702


@pytest.mark.behaviour(167, 168)
async def test_the_reference_s_stall_with_surge_and_patience_does_not_happen() -> None:
    """The reference keeps the wake-up for minReadySeconds in its work queue, where a retry of the same key that is due
    earlier replaces it: the rollout then stands still until something else happens. Here: the current pod turns ready
    while a retry is pending, and from then on nothing happens but time."""
    async with stage("n1", "n2") as play:
        controller = await play.controller()
        strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
        await play.daemonset(minReadySeconds=30, updateStrategy=strategy)
        await play.until_serving(2)
        play.hands.starts = lambda pod: False
        await play.set_image("i:2")

        async def surging() -> bool:
            return len(await play.pods()) == 3

        await play.until(surging)
        await play.settle(1)
        controller.queue.retry(Key("default", "d"))
        controller.queue.add_after(Key("default", "d"), 0.001)
        play.hands.starts = lambda pod: True
        play.hands.again()
        began = play.clock.now()
        await play.until_serving(2)
        assert play.clock.now() - began < 2 * 30 + 10
        assert len(await play.pods()) == 2


@pytest.mark.behaviour(62)
async def test_after_the_window_a_failed_pod_is_replaced_without_anything_else_happening() -> None:
    async with stage("n1") as play:
        await play.controller()
        await play.daemonset()
        await play.until_serving(1)
        windows = []
        for _ in range(4):
            (name,) = (await play.pods_by_node())["n1"]
            play.hands.starts = lambda pod: False
            await play.hands.set_status(name, {"phase": "Failed"})
            began = play.clock.now()

            async def replaced(name: str = name) -> bool:
                return name not in (await play.pods_by_node()).get("n1", [name])

            await play.until(replaced)
            windows.append(round(play.clock.now() - began))
        assert windows == [0, 1, 2, 4]


async def test_pods_of_a_deleted_daemonset_concern_nobody() -> None:
    async with stage("n1") as play:
        controller = await play.controller()
        await play.daemonset()
        await play.until_serving(1)
        await play.delete(DAEMON_SETS, "d", "Background")
        await play.settle(1)
        before = len(play.door.calls)
        (name,) = (await play.pods_by_node())["n1"]
        await play.delete(PODS, name)
        await play.settle()
        assert len(play.door.calls) == before
        assert not controller.charges
