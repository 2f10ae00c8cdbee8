"""`rollout undo` and `rollout restart`: as kubectl does them."""

from __future__ import annotations

import pytest

from eachnode.cli.client_side_apply import LAST_APPLIED
from eachnode.cli.failures import Failure
from eachnode.cli.rollout.restart import RESTARTED_AT, restart_one
from eachnode.cli.rollout.undo import roll_back
from eachnode.objects.resources import CONTROLLER_REVISIONS, DAEMON_SETS
from tests.cli.golden import assert_golden
from tests.cli.walks import image_of, walked
from tests.worlds import World


async def undone(here: World, number: int = 0, dry_run: str = "none") -> str:
    lines: list[str] = []
    await roll_back(here.door, "web", "default", number, dry_run, lines.append)
    return "\n".join(lines)


async def test_undo_goes_back_to_the_template_before_and_shows_the_difference_first() -> None:
    async with walked(("nginx:1", "nginx:2")) as here:
        assert_golden("rollout_undo", await undone(here))
        await here.until_available("web", 3)
        assert await image_of(here) == "nginx:1"


async def test_undo_to_a_revision_moves_it_to_the_front() -> None:
    async with walked(("nginx:1", "nginx:2", "nginx:3")) as here:
        await undone(here, 1)
        await here.until_available("web", 3)
        assert await image_of(here) == "nginx:1"
        numbers = sorted(tree["revision"] for tree in await here.all(CONTROLLER_REVISIONS))
        assert numbers == [2, 3, 4]


@pytest.mark.parametrize("dry_run", ["client", "server"])
async def test_a_dry_run_says_what_would_be_and_changes_nothing(dry_run: str) -> None:
    async with walked(("nginx:1", "nginx:2")) as here:
        text = await undone(here, dry_run=dry_run)
        assert "spec.containers[c].image: nginx:2 → nginx:1" in text
        assert text.endswith(f"rolled back ({dry_run} dry run)")
        assert await image_of(here) == "nginx:2"


async def test_the_current_template_is_skipped_and_nothing_is_sent() -> None:
    async with walked(("nginx:1", "nginx:2")) as here:
        before = await here.get(DAEMON_SETS, "web")
        assert await undone(here, 2) == (
            "daemonset.apps/web skipped rollback (current template already matches revision 2)"
        )
        assert await here.get(DAEMON_SETS, "web") == before


async def test_one_revision_is_nothing_to_go_back_to() -> None:
    async with walked() as here:
        with pytest.raises(Failure, match="no last revision to roll back to"):
            await undone(here)
        with pytest.raises(Failure, match="unable to find specified revision 4 in history; there are: 1"):
            await undone(here, 4)


async def test_an_object_of_kubectl_apply_is_warned_about() -> None:
    async with walked(("nginx:1", "nginx:2")) as here:
        await here.patch(DAEMON_SETS, "web", {"metadata": {"annotations": {LAST_APPLIED: "{}"}}})
        assert "the next apply of its file brings that template back" in await undone(here)


async def test_restart_replaces_every_pod_though_nothing_else_changes() -> None:
    async with walked() as here:
        before = {tree["metadata"]["uid"] for tree in await here.pods()}
        now = here.cluster.clock.now() + 5
        assert await restart_one(here.door, "web", "default", "none", now) == "daemonset.apps/web restarted"
        await here.until_available("web", 3)
        assert not before & {tree["metadata"]["uid"] for tree in await here.pods()}
        tree = await here.get(DAEMON_SETS, "web")
        assert tree is not None
        assert RESTARTED_AT in tree["spec"]["template"]["metadata"]["annotations"]
        with pytest.raises(Failure, match="within this second already"):
            await restart_one(here.door, "web", "default", "none", now)
