"""A forecast: what it rests upon, what it says, and that it comes true."""

from __future__ import annotations

import asyncio
import random
import statistics
import time
from typing import Any

import msgspec
import pytest

from eachnode.client.door import PatchKind
from eachnode.controllers.kubelet import STOPPED, KubeletOptions
from eachnode.embedded.cluster import EmbeddedCluster
from eachnode.embedded.options import ClusterOptions
from eachnode.objects.resources import DAEMON_SETS, NODES
from eachnode.runtime.clock import SystemClock
from eachnode.runtime.virtual_time import VirtualTimeLoop
from eachnode.simulation.forecast import forecast
from eachnode.simulation.snapshot import Snapshot, Start, start_of, take, with_images
from tests.worlds import World, daemon_set, world

LIFELIKE = KubeletOptions(timing="lifelike")
ZONES = ("simulated-1a", "simulated-1b", "simulated-1c")


def taken(act: Any = None, nodes: int = 6, **spec: Any) -> Snapshot:
    """A picture of a cluster on virtual time, in which `act` happened after the DaemonSet was complete."""

    async def live() -> Snapshot:
        async with world(nodes=nodes, kubelet=LIFELIKE) as here:
            await here.create(DAEMON_SETS, daemon_set("d", **spec))
            await here.until_available("d", nodes, within=120)
            if act is not None:
                await act(here)
            return await take(here.door, "d", "default")

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(live())


def update(snapshot: Snapshot) -> dict[str, Any]:
    """The DaemonSet with another image."""
    return with_images(snapshot.daemonset, {"c": "i:2"})


def rolling(**amounts: Any) -> dict[str, Any]:
    """A budget."""
    return {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": amounts}}


def test_a_forecast_tells_how_long_how_many_and_what_it_costs() -> None:
    snapshot = taken(**rolling(maxUnavailable=2))
    told = forecast(snapshot, update(snapshot), seeds=5)
    assert told.median is not None
    assert told.ninety is not None
    assert 6 < told.median <= told.ninety < 40
    assert told.worst == 2
    assert set(told.worst_by_zone) <= set(ZONES)
    assert all(1 <= count <= 2 for count in told.worst_by_zone.values())
    assert told.starts == 6
    assert told.calls >= 12  # Six pods deleted, six created.
    assert not told.stopped_by
    text = "\n".join(told.lines())
    assert "at most 2 at once" in text
    assert "by the controller" in text


def test_twice_the_budget_is_about_half_the_time() -> None:
    slow, fast = (taken(nodes=8, **rolling(maxUnavailable=budget)) for budget in (1, 4))
    one, four = (forecast(each, update(each), seeds=3).median for each in (slow, fast))
    assert one is not None
    assert four is not None
    assert 2.5 < one / four < 6


def test_a_dead_node_is_told_and_stops_no_other() -> None:
    async def stop(here: World) -> None:
        await here.patch(NODES, "node-3", {"metadata": {"annotations": {STOPPED: "true"}}})
        await asyncio.sleep(120)

    snapshot = taken(stop, nodes=4, **rolling(maxUnavailable=1))
    assert snapshot.dead == ("node-3",)
    told = forecast(snapshot, update(snapshot), seeds=2)
    assert told.median is not None
    assert any("not ready stay so: node-3" in each for each in told.assumptions)


def test_a_pod_that_no_node_has_room_for_is_told() -> None:
    snapshot = taken(nodes=2, **rolling(maxUnavailable=1))
    changed = with_images(snapshot.daemonset, {})
    changed["spec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "900"}}
    told = forecast(snapshot, changed, seeds=1)
    assert told.median is None
    assert any("no room: 0/2 nodes are available" in each for each in told.stopped_by)


def test_the_room_that_others_take_is_taken() -> None:
    async def fill(here: World) -> None:
        for number in range(1, 3):
            big = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "3"}}}
            await here.create(
                _pods(),
                {"metadata": {"name": f"big-{number}"}, "spec": {"nodeName": f"node-{number}", "containers": [big]}},
            )

    snapshot = taken(fill, nodes=2)
    free = {each["metadata"]["name"]: each["status"]["allocatable"]["cpu"] for each in snapshot.nodes}
    assert free == {"node-1": "900m", "node-2": "900m"}


def _pods() -> Any:
    from eachnode.objects.resources import PODS

    return PODS


def test_starts_are_read_from_conditions() -> None:
    pod = {
        "metadata": {"creationTimestamp": "2026-01-01T00:00:00Z"},
        "status": {
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:09Z"}],
            "containerStatuses": [{"restartCount": 0, "state": {"running": {"startedAt": "2026-01-01T00:00:04Z"}}}],
        },
    }
    assert start_of(pod) == Start(4.0, 5.0)
    pod["status"]["containerStatuses"][0]["restartCount"] = 1  # type: ignore[index]  # a tree
    assert start_of(pod) is None
    assert start_of({"metadata": {}, "status": {}}) is None


def test_an_unknown_container_is_refused() -> None:
    with pytest.raises(ValueError, match="there is no container 'x'; there are c"):
        with_images({"spec": {"template": {"spec": {"containers": [{"name": "c"}]}}}}, {"x": "i"})


NODE_COUNT, BUDGET, ROLLOUTS = 12, 4, 3
PROBE = {"readinessProbe": {"tcpSocket": {"port": 80}, "initialDelaySeconds": 3}}


async def _real_rollouts() -> list[tuple[Snapshot, float]]:
    """Pictures before some rollouts that run side by side in real time, and how long each took."""
    options = ClusterOptions(nodes=NODE_COUNT, kubelet=LIFELIKE)
    async with EmbeddedCluster(options, clock=SystemClock(), chance=random.Random(7)) as cluster:
        here = World(cluster)

        async def rollout(name: str) -> tuple[Snapshot, float]:
            body = daemon_set(name, template={"containers": [{"name": "c", "image": "i:1", **PROBE}]})
            body["spec"] |= rolling(maxUnavailable=BUDGET)
            await here.create(DAEMON_SETS, body)
            await here.until_available(name, NODE_COUNT)
            snapshot = await take(here.door, name, "default")
            began = time.monotonic()
            change = msgspec.json.encode(update(snapshot))
            await here.door.patch(
                DAEMON_SETS, name, change, PatchKind.APPLY, "default", field_manager="test", force=True
            )
            await here.until_available(name, NODE_COUNT)
            return snapshot, time.monotonic() - began

        return await asyncio.gather(*(rollout(f"d{number}") for number in range(ROLLOUTS)))


@pytest.mark.sockets
def test_what_was_forecast_is_what_happens_in_real_time() -> None:
    """One rollout is one draw of a lot of chance, so it is the middle of some of them that must come true."""
    with asyncio.Runner() as runner:
        happened = runner.run(_real_rollouts())
    told = [forecast(snapshot, update(snapshot), seeds=9) for snapshot, _ in happened]
    assert all(each.worst == BUDGET for each in told)
    expected = statistics.fmean([each.median or 0.0 for each in told])
    really = statistics.fmean([seconds for _, seconds in happened])
    assert abs(expected - really) <= 0.15 * really, ([each.durations for each in told], happened)
