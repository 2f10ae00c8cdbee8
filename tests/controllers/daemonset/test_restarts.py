"""Crashes at any call, lagging caches, and objects as another controller left them."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from eachnode.client.faulty import NONE, Faults, Faulty
from eachnode.client.intercepting import Call
from eachnode.controllers.daemonset import DaemonSetController
from eachnode.controllers.daemonset.expectations import Versions
from eachnode.objects.resources import CONTROLLER_REVISIONS, DAEMON_SETS, EVENTS, NODES, PODS
from eachnode.objects.status import Unreachable
from tests.controllers.daemonset.stage import Stage, stage

RECORDINGS = Path(__file__).parents[2] / "oracle" / "daemonset"
Tree = dict[str, Any]
LIMIT = 60  # More calls than any of these stories makes.


class Crash(BaseException):
    """The process dies."""


async def story(play: Stage, controller: Callable[[], Awaitable[None]]) -> tuple[Any, ...]:
    """A creation, an update with an orphan to adopt, a node lost and one gained; answers with what came of it."""
    await play.pod("orphan", "n2", labels={"app": "d"})
    await play.settle(1)
    await play.daemonset(revisionHistoryLimit=0)
    await controller()
    await play.until_serving(3)
    await play.set_image("i:2")
    await play.until_serving(3)
    await play.patch(NODES, "n3", {"spec": {"taints": [{"key": "a", "effect": "NoExecute"}]}})
    await play.nodes("n4")
    await play.until_serving(3)
    await play.settle(30)
    revisions = [(tree["revision"], json.dumps(tree["data"], sort_keys=True)) for tree in await play.revisions()]
    nodes = {node: len(names) for node, names in (await play.pods_by_node()).items()}
    return nodes, revisions[-1:], await play.status()


async def crashing_at(step: int, *, after: bool) -> tuple[tuple[Any, ...], int, int]:
    """The story with a crash before or after its n-th call; also the calls made and the most pods on a node."""
    async with stage("n1", "n2", "n3") as play:
        count = most = 0
        incarnations = 0

        async def restart() -> None:
            nonlocal incarnations
            incarnations += 1
            made = DaemonSetController(play.door, clock=play.clock, chance=random.Random(incarnations))
            play.running = play.start(made.run)
            await made.synced.wait()

        async def crash(call: Call) -> None:
            nonlocal count
            if call.resource is EVENTS:
                return
            count += 1
            if count == step:
                play.running.cancel()
                play.start(restart)
                raise Unreachable("the process died here")

        async def count_twins(call: Call) -> None:
            nonlocal most
            serving = [
                pod["spec"].get("nodeName")
                for pod in await play.pods()
                if any(
                    each["status"] == "True" for each in pod["status"].get("conditions", ()) if each["type"] == "Ready"
                )
                and pod["metadata"].get("ownerReferences")
                and "deletionTimestamp" not in pod["metadata"]
            ]
            most = max([most, *(serving.count(node) for node in serving)])
            if after:
                await crash(call)

        play.door.interfere = None if after else crash
        play.door.afterwards = count_twins
        result = await story(play, restart)
        return result, count, most


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
async def test_a_crash_at_any_call_changes_nothing_about_the_end(after: bool) -> None:
    expected, calls, _ = await crashing_at(0, after=after)
    assert expected[0] == {"n1": 1, "n2": 1, "n4": 1}
    assert 10 < calls < LIMIT
    for step in range(1, calls + 1):
        result, _, most = await crashing_at(step, after=after)
        assert result == expected, f"crash at call {step}"
        assert most <= 1, f"two serving pods on a node after a crash at call {step}"


@pytest.mark.parametrize("seed", range(5))
async def test_under_faults_everything_converges_and_nothing_is_doubled(seed: int) -> None:
    everything = Faults(
        conflict=0.1, too_many=0.05, internal=0.1, unavailable=0.05, lost_request=0.05, lost_answer=0.1, slow=0.2,
        slowest=2.0, watch_lost=0.05, watch_ends=0.05, watch_late=0.2, latest=2.0, watch_repeats=0.1, too_old=0.1,
    )  # fmt: skip
    async with stage("n1", "n2", "n3", "n4") as play:
        door = Faulty(play.server, everything, chance=random.Random(seed))
        made = DaemonSetController(door, clock=play.clock, chance=random.Random(seed))
        play.start(made.run)
        await play.daemonset()
        await play.settle(120)
        await play.set_image("i:2")
        await play.settle(240)
        door.faults = NONE
        await play.until_serving(4)
        await play.settle(10)
        assert {node: len(names) for node, names in (await play.pods_by_node()).items()} == dict.fromkeys(
            ("n1", "n2", "n3", "n4"), 1
        )


@pytest.mark.behaviour(35, 191, 193)
async def test_nothing_is_decided_until_the_caches_have_seen_our_writes() -> None:
    async with stage("n1") as play:
        controller = await play.controller()
        await play.daemonset()
        await play.until_serving(1)
        (charge,) = controller.charges.values()
        far = str(int(controller._pods.version) + 1000)
        charge.versions.wrote("pods", far)
        await play.nodes("n2")
        await play.settle(30)
        assert len(await play.pods()) == 1
        assert controller.counters.stale_skips > 3
        assert (await play.status())["desiredNumberScheduled"] == 1  # Not even the status.
        charge.versions.needed.clear()  # As when the cache has come that far.
        await play.until_serving(2)


@pytest.mark.behaviour(191, 192)
async def test_which_writes_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    plurals: set[str] = set()
    wrote = Versions.wrote

    def note(self: Versions, plural: str, version: str) -> None:
        plurals.add(plural)
        wrote(self, plural, version)

    monkeypatch.setattr(Versions, "wrote", note)
    async with stage("n1", hands=False) as play:
        await play.controller()
        await play.pod("orphan", "n1", labels={"app": "d"})
        await play.daemonset()
        await play.settle(5)
        assert plurals == {"pods", "controllerrevisions", "daemonsets"}
        deletes = [call for call in play.door.writes() if call.verb == "delete"]
        assert deletes  # The orphan was outdated; that it was deleted is expected by uid, not by version.


# Taking over


def recorded_revision() -> Tree:
    """A revision as the reference wrote it, from a recording."""
    steps = json.loads((RECORDINGS / "seeds.json").read_text())["steps"]
    for step in steps:
        if step.get("request", "").endswith("/controllerrevisions"):
            (revision,) = step["answer"]["body"]["items"]
            return dict(revision)
    raise AssertionError("no revision in the recording")


def recorded_daemonset(name: str) -> Tree:
    """A DaemonSet as it was sent, from the same recording."""
    steps = json.loads((RECORDINGS / "seeds.json").read_text())["steps"]
    for step in steps:
        body = step.get("body")
        if isinstance(body, dict) and body.get("kind") == "DaemonSet" and body["metadata"]["name"] == name:
            return body
    raise AssertionError("no such DaemonSet in the recording")


def plain(value: Any) -> Any:
    """A recording's text with its symbols replaced by something that the API accepts."""
    text = re.sub(r"<hash-\d+>|<hash>", "5d8f7c9b64", json.dumps(value))
    return json.loads(re.sub(r"<run>|RUN", "run", text))


async def as_the_reference_left_it(play: Stage) -> Tree:
    """The recorded DaemonSet with the revision and the pods that the reference made for it."""
    body = plain(recorded_daemonset("fluentd-elasticsearch"))
    body["metadata"].pop("namespace", None)
    daemonset = await play.create(DAEMON_SETS, body)
    name = daemonset["metadata"]["name"]
    owner = [
        {
            "apiVersion": "apps/v1",
            "kind": "DaemonSet",
            "name": name,
            "uid": daemonset["metadata"]["uid"],
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]
    revision = plain(recorded_revision())
    kept = {key: revision["metadata"][key] for key in ("name", "labels", "annotations")}
    await play.create(CONTROLLER_REVISIONS, {**revision, "metadata": {**kept, "ownerReferences": owner}})
    template = daemonset["spec"]["template"]
    labels = {
        **template["metadata"]["labels"],
        "controller-revision-hash": "5d8f7c9b64",
        "pod-template-generation": "1",
    }
    for node in ("n1", "n2"):
        await play.create(
            PODS,
            {
                "metadata": {"name": f"{name}-{node}", "labels": labels, "ownerReferences": owner},
                "spec": {**template["spec"], "nodeName": node},
            },
        )
    return daemonset


async def test_what_the_reference_left_is_taken_over_without_a_restart() -> None:
    async with stage() as play:
        for name in ("n1", "n2"):
            await play.node(name, oracle="run")
        daemonset = await as_the_reference_left_it(play)
        name = daemonset["metadata"]["name"]
        await play.settle(1)
        before = await play.pods_by_node()
        await play.controller()
        await play.until_serving(2, name)
        await play.settle(30)
        assert await play.pods_by_node() == before
        assert {(call.verb, call.resource, call.subresource) for call in play.door.writes()} == {
            ("update", DAEMON_SETS, "status")
        }


async def test_what_we_left_is_what_the_reference_would_have_written() -> None:
    async with stage() as play:
        for name in ("n1", "n2"):
            await play.node(name, oracle="run")
        body = plain(recorded_daemonset("fluentd-elasticsearch"))
        body["metadata"].pop("namespace", None)
        await play.create(DAEMON_SETS, body)
        await play.controller()
        await play.until_serving(2, body["metadata"]["name"])
        (revision,) = await play.revisions()
        theirs = plain(recorded_revision())
        assert json.dumps(revision["data"]) == json.dumps(theirs["data"])
        hashed = revision["metadata"]["labels"]["controller-revision-hash"]
        assert revision["metadata"]["labels"] == {**theirs["metadata"]["labels"], "controller-revision-hash": hashed}
        assert revision["metadata"]["annotations"] == theirs["metadata"]["annotations"]
        assert revision["revision"] == theirs["revision"]
