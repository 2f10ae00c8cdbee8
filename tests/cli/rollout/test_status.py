"""`rollout status`: how it follows, how it ends, and what it says on the way."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from eachnode.cli.board.picture import Picture
from eachnode.cli.failures import Failure
from eachnode.cli.rollout.following import STUCK, Patience, follow
from eachnode.cli.rollout.progress import Progress, Tempo
from eachnode.cli.rollout.showing import Lines
from eachnode.cli.set import set_images
from eachnode.client.faulty import Faults, Faulty
from eachnode.client.intercepting import Intercepting
from eachnode.controllers.kubelet import STOPPED
from eachnode.decisions.explanation_words import Kind
from eachnode.decisions.slots import State
from eachnode.objects.resources import DAEMON_SETS, NODES, PODS
from eachnode.objects.watching import Page
from tests.cli.golden import assert_golden
from tests.cli.walks import LIFELIKE, walked
from tests.worlds import World, daemon_set, pod, world

MISSING = "non-existent:1"  # An image that simulated nodes cannot pull.


async def followed(
    here: World, lines: list[str] | None = None, *, timeout: float = 0, stuck_after: float = 0, once: bool = False
) -> Progress:
    shown = Lines((lines if lines is not None else []).append)
    patience = Patience(timeout, stuck_after, once)
    return await follow(here.door, "web", "default", clock=here.cluster.clock, patience=patience, show=shown.show)


@asynccontextmanager
async def updating(image: str = "nginx:2", nodes: int = 4) -> AsyncIterator[World]:
    """A world with an update under way at the pace of real nodes."""
    async with walked(nodes=nodes, kubelet=LIFELIKE) as here:
        await set_images(here.door, "web", "default", {"c": image})
        yield here


async def test_an_update_is_followed_line_by_line_to_its_end() -> None:
    async with updating() as here:
        lines: list[str] = []
        progress = await followed(here, lines)
        assert progress.done
        # Whether a look falls between the last pod and the status that counts it is chance.
        told = [line for line in lines if "the status is yet to say so" not in line]
        assert_golden("rollout_status_lines", "\n".join(told))


def test_when_only_the_status_lags_behind_that_is_what_is_waited_for() -> None:
    lagging = Progress(Picture("default/web", 4, 4, 4, ()), True, False, {State.SERVING: 4})
    assert lagging.sentence.endswith("all 4 updated pods are available, the status is yet to say so...")


async def test_it_is_done_only_when_the_status_says_so() -> None:
    async with updating() as here:
        await followed(here)
        tree = await here.get(DAEMON_SETS, "web")
        assert tree is not None
        assert tree["status"]["numberAvailable"] == tree["status"]["updatedNumberScheduled"] == 4
        assert tree["status"]["observedGeneration"] == tree["metadata"]["generation"]


async def test_a_daemonset_that_wants_no_pods_is_done_at_once() -> None:
    async with world() as here:
        await here.create(DAEMON_SETS, daemon_set("web"))
        progress = await followed(here)
        assert progress.sentence == 'daemon set "web" successfully rolled out'


async def test_without_a_controller_the_change_is_never_observed() -> None:
    async with world(nodes=2, without=("controller",)) as here:
        await here.create(DAEMON_SETS, daemon_set("web"))
        lines: list[str] = []
        with pytest.raises(Failure) as failure:
            await followed(here, lines, timeout=10)
        assert failure.value.code == STUCK
        assert lines[0].startswith("Waiting for daemon set spec update to be observed...")
        assert "see to it that a DaemonSet controller runs" in str(failure.value)


async def test_a_stuck_rollout_tells_which_nodes_are_in_the_way_and_why() -> None:
    async with updating(MISSING) as here:
        with pytest.raises(Failure) as failure:
            await followed(here, stuck_after=30)
        assert failure.value.code == STUCK
        assert_golden("rollout_status_stuck", str(failure.value))


async def test_who_has_the_room_is_told_while_it_is_followed() -> None:
    async with walked(nodes=2) as here:
        hog = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "3"}}}
        await here.create(PODS, pod("hog", nodeName="node-1", containers=[hog]))
        wanted = {"containers": [{"name": "c", "image": "i:2", "resources": {"requests": {"cpu": "2"}}}]}
        await here.patch(DAEMON_SETS, "web", {"spec": {"template": {"spec": wanted}}})
        seen: list[Progress] = []
        lists: list[float] = []
        door = Intercepting(here.door)

        async def counted(*arguments: Any, **options: Any) -> Page:
            if options.get("fields", "").startswith("spec.nodeName="):
                lists.append(here.cluster.clock.now())
            return await here.door.list(*arguments, **options)

        door.list = counted  # type: ignore[method-assign]  # the others stay as they are
        patience = Patience(timeout=60)
        clock = here.cluster.clock

        def show(progress: Progress, tempo: Tempo, now: float) -> None:
            seen.append(progress)

        with pytest.raises(Failure) as failure:
            await follow(door, "web", "default", clock=clock, patience=patience, show=show)
        (answer,) = seen[-1].hindrances
        assert answer.kind is Kind.PENDING
        assert answer.because == "2 of cpu is asked for and 900m of 3900m is free"
        assert [holder.name for holder in answer.reasons[0].holders] == ["hog"]
        assert len(lists) <= 60 / 10 + 3  # It is looked at now and then, not with each glance.
        assert "node-1: Insufficient cpu" in str(failure.value)


async def test_time_since_it_got_further_counts_and_not_time_since_anything_happened() -> None:
    async with updating(nodes=8) as here:
        began = asyncio.get_running_loop().time()
        assert (await followed(here, stuck_after=15)).done
        assert asyncio.get_running_loop().time() - began > 15


async def test_a_timeout_ends_it_though_it_gets_on() -> None:
    async with updating(nodes=8) as here:
        began = asyncio.get_running_loop().time()
        with pytest.raises(Failure, match="is not rolled out after 10s") as failure:
            await followed(here, timeout=10)
        assert failure.value.code == STUCK
        assert asyncio.get_running_loop().time() - began == pytest.approx(10, abs=0.5)


async def test_a_deleted_daemonset_ends_it_as_failed() -> None:
    async with updating() as here:
        following = asyncio.create_task(followed(here))
        await asyncio.sleep(1)
        await here.delete(DAEMON_SETS, "web")
        with pytest.raises(Failure, match="daemonset default/web has been deleted") as failure:
            await following
        assert failure.value.code == 1


async def test_another_of_the_same_name_is_not_the_one_that_was_followed() -> None:
    async with updating() as here:
        following = asyncio.create_task(followed(here))
        await asyncio.sleep(1)
        await here.delete(DAEMON_SETS, "web")
        await here.create(DAEMON_SETS, daemon_set("web"))
        with pytest.raises(Failure, match="has been deleted"):
            await following


async def test_on_delete_cannot_be_followed() -> None:
    async with world() as here:
        await here.create(DAEMON_SETS, daemon_set("web", updateStrategy={"type": "OnDelete"}))
        with pytest.raises(Failure, match="rollout status is only available for RollingUpdate strategy type"):
            await followed(here)


async def test_once_means_one_line_and_no_waiting() -> None:
    async with updating(MISSING) as here:
        await asyncio.sleep(20)
        lines: list[str] = []
        progress = await followed(here, lines, once=True)
        assert not progress.done
        assert len(lines) == 1
        assert "node-1: image non-existent:1 cannot be pulled" in lines[0]


async def test_a_node_that_falls_silent_is_in_the_way_until_it_is_given_up() -> None:
    async with updating(nodes=3) as here:
        await here.patch(NODES, "node-3", {"metadata": {"annotations": {STOPPED: "true"}}})
        with pytest.raises(Failure) as failure:
            await followed(here, stuck_after=20)
        assert "2 of 3 updated" in str(failure.value)
        assert "node-3: its pod is stopping" in str(failure.value)
        progress = await followed(here)  # A node that nobody hears of is not to run a pod any more.
        assert (progress.done, progress.picture.desired) == (True, 2)


async def test_a_new_change_begins_the_count_anew() -> None:
    async with updating(MISSING) as here:
        lines: list[str] = []
        following = asyncio.create_task(followed(here, lines, stuck_after=40))
        await asyncio.sleep(30)
        await set_images(here.door, "web", "default", {"c": "nginx:3"})
        assert (await following).done
        assert lines[-1] == 'daemon set "web" successfully rolled out'


async def test_a_server_that_is_away_is_told_and_followed_on_when_it_is_back() -> None:
    async with updating(nodes=6) as here:
        door = Faulty(here.door, Faults(), chance=random.Random(1))
        lines: list[str] = []
        shown = Lines(lines.append)
        following = asyncio.create_task(
            follow(door, "web", "default", clock=here.cluster.clock, patience=Patience(), show=shown.show)
        )
        await asyncio.sleep(5)
        door.faults = Faults(lost_request=1.0, watch_lost=1.0)
        await asyncio.sleep(60)
        door.faults = Faults()
        assert (await following).done
        assert any("(no news: " in line for line in lines)
        assert lines[-1] == 'daemon set "web" successfully rolled out'
