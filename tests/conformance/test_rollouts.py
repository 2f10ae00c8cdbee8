"""What the end-to-end tests of the reference ask of a rollout; what they poll we check at every commit."""

from __future__ import annotations

import asyncio
import random
from collections import Counter, defaultdict

import pytest

from eachnode.controllers.kubelet import KubeletOptions
from eachnode.objects.resources import DAEMON_SETS, NODES, PODS
from tests.conformance.test_running import IN_ORDER, strategic
from tests.conformance.witness import (
    HASH,
    Witness,
    at_most,
    eventually,
    history,
    image,
    is_available,
    is_going,
    live,
    names,
    pods_of,
    until_it_runs_everywhere,
    until_labelled,
    watching,
)
from tests.worlds import Tree, World, daemon_set, world

OLD, NEW, BAD = "httpd:2.4.38", "agnhost:2.40", "foo:non-existent"
LIFELIKE = KubeletOptions(timing="lifelike")


async def set_image(cluster: World, text: str) -> Tree:
    """Change the template as the reference's tests do."""
    containers = [{"name": "c", "image": text}]
    return await strategic(cluster, "d", {"spec": {"template": {"spec": {"containers": containers}}}})


async def until_every_image_is(cluster: World, made: Tree, text: str) -> None:
    """Wait until each node runs this image, and it is available."""

    async def all_run_it() -> bool:
        return {image(pod) for pod in await pods_of(cluster, made)} == {text}

    await eventually(cluster, all_run_it, 300 + 30 * len(await cluster.all(NODES)))
    await until_it_runs_everywhere(cluster, made)


@pytest.mark.behaviour(155)
async def test_with_on_delete_an_update_writes_history_and_touches_no_pod() -> None:
    async with world(nodes=3, kubelet=LIFELIKE) as cluster:
        made = await cluster.create(DAEMON_SETS, daemon_set(image=OLD, updateStrategy={"type": "OnDelete"}))
        await until_it_runs_everywhere(cluster, made)
        await until_labelled(cluster, made, 1)
        before = {pod["metadata"]["uid"] for pod in await pods_of(cluster, made)}
        first = (await history(cluster))[0]["metadata"]["labels"][HASH]
        async with watching(cluster, made, at_most(0)):
            await set_image(cluster, NEW)
            await asyncio.sleep(30)
            pods = await pods_of(cluster, made)
            assert {pod["metadata"]["uid"] for pod in pods} == before
            assert {image(pod) for pod in pods} == {OLD}
            assert {pod["metadata"]["labels"][HASH] for pod in pods} == {first}
            await cluster.patch(DAEMON_SETS, "d", {"metadata": {"labels": {"seen": "yes"}}})
            await cluster.patch(PODS, pods[0]["metadata"]["name"], {"metadata": {"labels": {"seen": "yes"}}})
        revisions = await history(cluster)
        assert [each["revision"] for each in revisions] == [1, 2]
        assert revisions[1]["metadata"]["labels"][HASH] != first


@pytest.mark.behaviour(134, 139)
@pytest.mark.parametrize("timing", ["instant", "lifelike"])
async def test_a_rolling_update_keeps_all_but_one_available_at_every_commit(timing: str) -> None:
    kubelet = KubeletOptions(timing="lifelike" if timing == "lifelike" else "instant")
    async with world(nodes=5, kubelet=kubelet) as cluster:
        made = await cluster.create(DAEMON_SETS, daemon_set(image=OLD, updateStrategy=IN_ORDER))
        await until_it_runs_everywhere(cluster, made)
        await until_labelled(cluster, made, 1)
        async with watching(cluster, made, at_most(1)):
            changed = await set_image(cluster, NEW)
            assert int(changed["metadata"]["resourceVersion"]) > int(made["metadata"]["resourceVersion"])
            await until_every_image_is(cluster, made, NEW)
        await until_labelled(cluster, made, 2)


async def test_the_witness_tells_what_is_broken() -> None:
    async with world(nodes=2) as cluster:
        made = await cluster.create(DAEMON_SETS, daemon_set(image=OLD, updateStrategy=IN_ORDER))
        await until_it_runs_everywhere(cluster, made)

        async def update() -> None:
            async with watching(cluster, made, at_most(0)):
                await set_image(cluster, NEW)
                await until_every_image_is(cluster, made, NEW)

        with pytest.raises(AssertionError, match="1 are unavailable, 0 allowed"):
            await update()


@pytest.mark.behaviour(123, 135)
async def test_going_back_restarts_no_pod_that_was_never_replaced() -> None:
    async with world(nodes=4, kubelet=LIFELIKE) as cluster:
        made = await cluster.create(DAEMON_SETS, daemon_set(image=OLD, updateStrategy=IN_ORDER))
        await until_it_runs_everywhere(cluster, made)
        async with watching(cluster, made, at_most(1)):
            await set_image(cluster, BAD)

            async def stuck() -> bool:
                return BAD in {image(pod) for pod in await pods_of(cluster, made)}

            await eventually(cluster, stuck)
            await asyncio.sleep(120)
            pods = await pods_of(cluster, made)
            assert Counter(image(pod) for pod in pods) == {OLD: 3, BAD: 1}
            survivors = names(pod for pod in pods if image(pod) == OLD)
            await set_image(cluster, OLD)
            await until_every_image_is(cluster, made, OLD)
        assert survivors < names(await pods_of(cluster, made))
        assert [each["revision"] for each in await history(cluster)] == [2, 3]


def version(pod: Tree) -> str:
    """What its VERSION variable says."""
    text: str = pod["spec"]["containers"][0]["env"][0]["value"]
    return text


class SurgeRules:
    """What the reference holds against a surging rollout from version 1 to version 2, one node at a time."""

    overlap = 60.0  # Seconds for which an old pod may stay beside a new one.

    def __init__(self) -> None:
        self.deleted_by_us: set[str] = set()
        self._since: dict[str, float] = {}  # Old pods by uid: since when a new one is beside them.

    def __call__(self, witness: Witness) -> str:
        """What is broken now."""
        return (
            self._crowded(witness)
            or self._too_many_new(witness)
            or self._overlaps_too_long(witness)
            or self._too_few_serve(witness)
        )

    def _crowded(self, witness: Witness) -> str:
        going = [
            pod for pod in witness.pods.values() if is_going(pod) and pod["metadata"]["uid"] not in self.deleted_by_us
        ]
        alive = Counter((pod["spec"].get("nodeName"), version(pod)) for pod in witness.alive)
        leaving = Counter(pod["spec"].get("nodeName") for pod in going)
        for (node, text), count in alive.items():
            if node and count > 1:
                return f"{node} has {count} pods of version {text}"
        return next((f"{count} pods leave {node}" for node, count in leaving.items() if node and count > 1), "")

    def _too_many_new(self, witness: Witness) -> str:
        new = old = deleted = 0
        nodes: defaultdict[str, set[str]] = defaultdict(set)
        for pod in witness.pods.values():
            out = is_going(pod) or not is_available(pod, witness.patience, witness.now)
            if not is_going(pod):
                nodes[pod["spec"].get("nodeName", "")].add(version(pod))
            if version(pod) == "2":
                new += out
                deleted += out and pod["metadata"]["uid"] in self.deleted_by_us
            else:
                old += out
        without_old = sum("1" not in versions for node, versions in nodes.items())
        allowed = 1 + old + deleted + without_old
        return f"{new} new pods are unavailable, {allowed} allowed" if new > allowed else ""

    def _overlaps_too_long(self, witness: Witness) -> str:
        renewed = {pod["spec"].get("nodeName") for pod in witness.alive if version(pod) == "2"}
        beside = {
            pod["metadata"]["uid"]
            for pod in witness.alive
            if version(pod) == "1" and pod["spec"].get("nodeName") in renewed
        }
        self._since = {uid: self._since.get(uid, witness.now) for uid in beside}
        longest = max((witness.now - since for since in self._since.values()), default=0.0)
        return f"an old pod stays for {longest:.0f} s beside a new one" if longest > self.overlap else ""

    def _too_few_serve(self, witness: Witness) -> str:
        """Nothing but what we delete ourselves may take a node out of service: maxUnavailable is 0."""
        if self.deleted_by_us:
            return ""
        serving = {
            pod["spec"].get("nodeName") for pod in witness.alive if is_available(pod, witness.patience, witness.now)
        }
        return f"only {sorted(serving)} serve" if len(serving) < 5 else ""

    def forget(self, node: str, witness: Witness) -> None:
        """A pod of this node was deleted by the test: waiting begins anew."""
        for pod in witness.alive:
            if pod["spec"].get("nodeName") == node:
                self._since.pop(pod["metadata"]["uid"], None)


def surging() -> Tree:
    """A DaemonSet whose pods take their time to become ready, to be trusted, and to leave."""
    probe = {"exec": {"command": ["true"]}, "initialDelaySeconds": 7, "periodSeconds": 3, "failureThreshold": 1}
    hook = {"preStop": {"exec": {"command": ["/bin/sh", "-c", "sleep 15"]}}}
    container: Tree = {"name": "c", "image": OLD, "readinessProbe": probe, "lifecycle": hook}
    container["env"] = [{"name": "VERSION", "value": "1"}]
    rolling = {"maxUnavailable": 0, "maxSurge": "20%"}
    strategy = {"type": "RollingUpdate", "rollingUpdate": rolling}
    return daemon_set(template={"containers": [container]}, minReadySeconds=10, updateStrategy=strategy)


@pytest.mark.behaviour(144, 146, 147, 148)
@pytest.mark.parametrize("seed", [None, 1, 2, 3])
async def test_a_surging_rollout_keeps_its_rules_at_every_commit_whatever_pods_are_deleted(seed: int | None) -> None:
    async with world(nodes=5, kubelet=LIFELIKE) as cluster:
        made = await cluster.create(DAEMON_SETS, surging())
        await until_it_runs_everywhere(cluster, made)
        await until_labelled(cluster, made, 1)
        rules, chance = SurgeRules(), random.Random(seed)
        async with watching(cluster, made, rules) as witness:
            change = {"containers": [{"name": "c", "env": [{"name": "VERSION", "value": "2"}]}]}
            await strategic(cluster, "d", {"spec": {"template": {"spec": change}}})
            for _ in range(900):
                pods = list(witness.pods.values())
                if len(pods) == 5 and {version(pod) for pod in pods} == {"2"} and not witness.unavailable():
                    break
                if seed is not None and chance.random() < 0.04 and witness.alive:
                    victim = chance.choice(sorted(witness.alive, key=lambda pod: str(pod["metadata"]["name"])))
                    rules.deleted_by_us.add(victim["metadata"]["uid"])
                    rules.forget(victim["spec"].get("nodeName", ""), witness)
                    await cluster.delete(PODS, victim["metadata"]["name"])
                await asyncio.sleep(1)
            else:
                raise AssertionError("the rollout does not end")
            assert bool(rules.deleted_by_us) is (seed is not None)
        await until_it_runs_everywhere(cluster, made)
        await until_labelled(cluster, made, 2)
        assert (await live(cluster))["status"]["updatedNumberScheduled"] == 5


@pytest.mark.behaviour(131, 133)
@pytest.mark.parametrize("tolerations", [[], [{"operator": "Exists"}]], ids=["usual", "tolerates-all"])
async def test_a_pod_that_cannot_leave_a_dead_node_does_not_stop_the_others(tolerations: list[Tree]) -> None:
    """Here the reference stands until the node is removed; its budget is what the dead node has spent already."""
    async with world(nodes=4) as cluster:
        template = {"tolerations": tolerations}
        made = await cluster.create(DAEMON_SETS, daemon_set(image=OLD, template=template, updateStrategy=IN_ORDER))
        await until_it_runs_everywhere(cluster, made)
        await cluster.patch(NODES, "node-2", {"metadata": {"annotations": {"eachnode.dev/stopped": "true"}}})

        async def lost() -> bool:
            taints = ((await cluster.get(NODES, "node-2")) or {"spec": {}})["spec"].get("taints") or []
            return any(each["effect"] == "NoExecute" for each in taints)

        await eventually(cluster, lost)

        def one_of_the_others(witness: Witness) -> str:
            out = [pod for pod in witness.unavailable() if pod["spec"].get("nodeName") != "node-2"]
            return f"{len(out)} are unavailable" if len(out) > 1 else ""

        async with watching(cluster, made, one_of_the_others):
            await set_image(cluster, NEW)

            async def others_done() -> bool:
                pods = await pods_of(cluster, made)
                done = {pod["spec"].get("nodeName") for pod in pods if image(pod) == NEW and not is_going(pod)}
                return done == {"node-1", "node-3", "node-4"}

            await eventually(cluster, others_done)
            (stuck,) = [pod for pod in await pods_of(cluster, made) if is_going(pod)]
            assert (stuck["spec"]["nodeName"], image(stuck)) == ("node-2", OLD)
            await cluster.patch(NODES, "node-2", {"metadata": {"annotations": {"eachnode.dev/stopped": None}}})
            await until_every_image_is(cluster, made, NEW)
