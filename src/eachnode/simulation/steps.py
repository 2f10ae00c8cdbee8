"""Carrying out the steps of a scenario, as users, machines and fate would."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from eachnode.client.door import PatchKind
from eachnode.controllers.kubelet import REBOOTED, STOPPED, create_nodes, node_trees
from eachnode.objects.meta import Key
from eachnode.objects.resources import DAEMON_SETS, LEASES, NODES, PODS, Resource
from eachnode.objects.status import ApiError, NotFound, Unreachable
from eachnode.simulation.at_rest import unsettled
from eachnode.simulation.scenario import Expectation, Scenario, Step
from eachnode.simulation.schedule import Episode
from eachnode.simulation.time_of_day import parse_duration
from eachnode.simulation.world import World

ZONE = "topology.kubernetes.io/zone"
LOOK_EVERY = 0.25  # Seconds between two looks at what is expected.


class Performer:
    """Makes happen what a scenario says."""

    def __init__(self, world: World, scenario: Scenario) -> None:
        self._world = world
        self._scenario = scenario
        self._door = world.user

    async def perform(self, until: float = 0.0) -> None:
        """All steps, each at its moment; over and over until then, where the scenario says how often."""
        loop, every = asyncio.get_running_loop(), parse_duration(self._scenario.every)
        began = 0.0
        while True:
            await self._perform_once(began)
            began = max(began + every, loop.time())
            if not every or began >= until or self._world.violations:
                return
            await asyncio.sleep(began - loop.time())

    async def _perform_once(self, began: float) -> None:
        for step in self._scenario.steps:
            if step.at is not None:
                moment = began + parse_duration(step.at)
                await asyncio.sleep(max(0.0, moment - asyncio.get_running_loop().time()))
            await asyncio.sleep(parse_duration(step.after))
            await self._step(step)

    async def _step(self, step: Step) -> None:
        for tree in step.apply:
            await self._apply(manifest(tree))
        for name, change in step.patch.items():
            await self._patch(name, change)
        for name in step.delete:
            await self._delete(name)
        for name, image in step.set_image.items():
            await self._set_image(name, image)
        if step.add_nodes:
            await self._add_nodes(step.add_nodes)
        if step.act or step.taint or step.untaint:
            await self._on_nodes(step)
        await self._blows(step)
        if step.expect is not None:
            await self._await(step.expect, parse_duration(step.within))
        if step.never is not None:
            await self._watch_out(step.never, parse_duration(step.within))

    async def _blows(self, step: Step) -> None:
        away, world = parse_duration(step.away), self._world
        if step.kill:
            await asyncio.gather(*(world.kill(who, away) for who in self._who(step.kill)))
        if step.cut_off:
            for who in self._who(step.cut_off):
                now = asyncio.get_running_loop().time()
                episode = Episode(now, now + away, who, {"lost_request": 1.0, "watch_lost": 1.0})
                world.add_faults(who, episode)
                await asyncio.sleep(away)
                world.remove_faults(who, episode)
        for who in self._who(step.lose_lease) if step.lose_lease else ():
            world.story.tell("world", f"the lease of {who} is not renewed")
            world.shut(who, LEASES)
            await asyncio.sleep(away)
            world.shut(who, None)
        if step.restart_server:
            await world.restart_server(away)
        if step.jump_clock is not None:
            world.jump_clock(parse_duration(step.jump_clock))

    def _who(self, name: str) -> list[str]:
        return [self._world.leader()] if name == "leader" else self._world.members(name)

    # Objects

    async def _send(self, what: str, send: Callable[[], Awaitable[object]]) -> None:
        """Send a request as a patient user does: again while nobody answers."""
        self._world.story.tell("user", what)
        while True:
            try:
                await send()
            except Unreachable:
                await asyncio.sleep(1.0)
            except NotFound:
                return
            except ApiError as error:
                raise ValueError(f"{what}: {error.message}") from error
            else:
                return

    async def _apply(self, tree: dict[str, Any]) -> None:
        resource = await self._resource(tree["kind"], tree["apiVersion"])
        name = tree["metadata"]["name"]
        where = tree["metadata"].get("namespace", "default") if resource.namespaced else ""
        body = msgspec.json.encode(tree)
        await self._send(
            f"applies {tree['kind']} {name}",
            lambda: self._door.patch(resource, name, body, PatchKind.APPLY, where, field_manager="user", force=True),
        )

    async def _resource(self, kind: str, api_version: str = "") -> Resource:
        for resource in await self._world.cluster.server.served():
            names = (resource.kind.lower(), resource.plural)
            if kind.lower() in names and api_version in ("", resource.api_version):
                return resource
        raise ValueError(f"there is no kind {kind!r}")

    async def _patch(self, name: str, change: dict[str, Any]) -> None:
        kind, _, name = name.partition("/")
        resource = await self._resource(kind)
        body, where = msgspec.json.encode(change), "default" if resource.namespaced else ""
        await self._send(
            f"patches {kind} {name}", lambda: self._door.patch(resource, name, body, PatchKind.MERGE, where)
        )

    async def _delete(self, name: str) -> None:
        kind, _, name = name.partition("/")
        resource = await self._resource(kind)
        where = "default" if resource.namespaced else ""
        await self._send(f"deletes {kind} {name}", lambda: self._door.delete(resource, name, where))

    async def _set_image(self, name: str, image: str) -> None:
        change = {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": image}]}}}}
        body = msgspec.json.encode(change)
        await self._send(
            f"sets the image of {name} to {image}",
            lambda: self._door.patch(DAEMON_SETS, name, body, PatchKind.STRATEGIC, "default"),
        )

    # Nodes

    async def _add_nodes(self, count: int) -> None:
        taken = [int(name.removeprefix("node-")) for name in self._world.truth.nodes if name.startswith("node-")]
        trees = list(node_trees(count, self._scenario.node_template, first=max(taken, default=0) + 1))
        await self._send(f"adds {count} nodes", lambda: create_nodes(self._door, trees))

    async def _on_nodes(self, step: Step) -> None:
        nodes = self._world.truth.nodes
        names = step.nodes or sorted(name for name, node in nodes.items() if node.labels.get(ZONE) == step.zone)
        for name in names:
            what = step.act or f"{'taints' if step.taint else 'untaints'} with {step.taint or step.untaint}"
            await self._send(f"{what} {name}", lambda name=name: self._on_node(step, name))  # type: ignore[misc]  # a default binds each name

    async def _on_node(self, step: Step, name: str) -> object:
        match step.act:
            case "remove":
                return await self._door.delete(NODES, name)
            case "stop" | "start":
                return await self._annotate(name, STOPPED, "true" if step.act == "stop" else None)
            case "reboot":
                return await self._annotate(name, REBOOTED, str(self._world.clock.now()))
            case "cordon" | "uncordon" | "drain":
                change = {"spec": {"unschedulable": True if step.act != "uncordon" else None}}
                return await self._door.patch(NODES, name, msgspec.json.encode(change), PatchKind.MERGE)
        return await self._taint(name, step)

    async def _annotate(self, name: str, annotation: str, value: str | None) -> object:
        body = msgspec.json.encode({"metadata": {"annotations": {annotation: value}}})
        return await self._door.patch(NODES, name, body, PatchKind.MERGE)

    async def _taint(self, name: str, step: Step) -> object:
        """Put a taint on the node, or take it away."""
        kept = [taint for taint in self._world.truth.nodes[name].taints if taint.key != step.untaint]
        taints = [{key: value for key, value in msgspec.to_builtins(taint).items() if value} for taint in kept]
        if step.taint:
            label, _, effect = step.taint.partition(":")
            key, _, value = label.partition("=")
            taints.append({"key": key, "value": value, "effect": effect})
        body = msgspec.json.encode({"spec": {"taints": taints}})
        return await self._door.patch(NODES, name, body, PatchKind.MERGE)

    # What is expected

    async def _await(self, expected: Expectation, within: float) -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + within
        while lacking := self.lacking(expected):
            if loop.time() >= deadline:
                self._world.break_with(f"expected within {within:g} s: {'; '.join(lacking[:4])}")
                return
            await asyncio.sleep(LOOK_EVERY)

    async def _watch_out(self, feared: Expectation, within: float) -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + within
        while loop.time() < deadline:
            if not self.lacking(feared):
                self._world.break_with(f"must never be: {msgspec.json.encode(feared).decode()}")
                return
            await asyncio.sleep(LOOK_EVERY)

    def lacking(self, expected: Expectation) -> list[str]:
        """What is not as expected, in sentences."""
        world, found = self._world, []
        now = world.clock.now()
        if expected.complete:
            found += list(unsettled(world.truth, now)) or ([] if world.truth.daemons else ["there is no DaemonSet"])
        if not expected.daemon_set:
            return found
        daemons = world.truth.named(expected.daemon_set)
        if daemons is None:
            return [*found, f"there is no DaemonSet {expected.daemon_set}"]
        status = msgspec.to_builtins(daemons.daemonset.status)
        for name, wanted in expected.status.items():
            if status.get(name) != wanted:
                found.append(f"{daemons.key}: {name} is {status.get(name)}, not {wanted}")
        pods = [pod for node in daemons.pods.values() for pod in node.values()]
        if expected.pods is not None and len(pods) != expected.pods:
            found.append(f"{daemons.key}: {len(pods)} pods, not {expected.pods}")
        running = [image for pod in pods if daemons.is_available(pod, now) for image in [self._image(pod.metadata.key)]]
        for image, count in expected.images.items():
            if running.count(image) != count:
                found.append(f"{daemons.key}: {running.count(image)} available pods of {image}, not {count}")
        for image, count in expected.at_least_images.items():
            if running.count(image) < count:
                found.append(f"{daemons.key}: {running.count(image)} available pods of {image}, fewer than {count}")
        return found

    def _image(self, key: Key) -> str:
        stored = self._world.cluster.server.registry.served(PODS).shelf.get(key.namespace, key.name)
        return str(stored.document.tree()["spec"]["containers"][0]["image"]) if stored is not None else ""


def manifest(tree: dict[str, Any]) -> dict[str, Any]:
    """A whole object; a DaemonSet may be given in short: its name, its image, and fields of its spec."""
    if "daemonSet" not in tree:
        return tree
    short = dict(tree)
    name, image = short.pop("daemonSet"), short.pop("image", "agent:1")
    pod_spec = {"containers": [{"name": "c", "image": image, **short.pop("container", {})}], **short.pop("pod", {})}
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": pod_spec}
    strategy: dict[str, Any] = {}
    rolling = {key: short.pop(key) for key in ("maxUnavailable", "maxSurge") if key in short}
    if rolling:
        strategy = {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": rolling}}
    spec = {"selector": {"matchLabels": labels}, "template": template, **strategy, **short}
    return {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": name}, "spec": spec}
