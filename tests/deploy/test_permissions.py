"""The controller is granted what it calls, no more and no less: its whole life is led, and every call noted."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import pytest

from eachnode.client.door import Door
from eachnode.client.intercepting import Call, Intercepting
from eachnode.controllers.daemonset import DaemonSetController, DaemonSetOptions
from eachnode.objects.deletion import DeleteOptions
from eachnode.objects.resources import CONTROLLER_REVISIONS, DAEMON_SETS, EVENTS, LEASES, PODS, RESOURCE_QUOTAS
from eachnode.objects.status import Invalid, Unreachable
from eachnode.objects.watching import WatchEvent
from eachnode.runtime.leader import LeaderElection
from eachnode.runtime.virtual_time import LoopClock
from tests.deploy.manifests import Permission, base, granted
from tests.recording import Recording
from tests.worlds import World, daemon_set, pod, world

Answer = TypeVar("Answer")

# Granted for the server's sake, not for a call: some servers ask for it when an object names its owner
# (the admission OwnerReferencesPermissionEnforcement).
NOT_A_CALL: frozenset[Permission] = frozenset({("apps", "daemonsets/finalizers", "update")})


# Seconds by which watches lag behind: more than the pause before a renewal, and that of pods more than all others, so
# that a create whose answer was lost is tried again before the pod is seen.
LATE, LATEST = 3.0, 10.0


class Awkward(Intercepting):
    """A server as servers can be: its watches lag and know no initial events, and now and then an answer is lost."""

    def __init__(self, door: Door) -> None:
        super().__init__(door)
        self._to_lose = {("create", CONTROLLER_REVISIONS), ("patch", LEASES), ("update", DAEMON_SETS)}
        self._pods_created = 0

    async def request(self, call: Call, send: Callable[[], Awaitable[Answer]]) -> Answer:
        answer = await send()
        what = (call.verb, call.resource)
        self._pods_created += what == ("create", PODS)
        if what in self._to_lose or (what == ("create", PODS) and self._pods_created % 4 == 0):
            self._to_lose.discard(what)
            raise Unreachable(f"the answer to {call} was lost")
        return answer

    def watch(self, *arguments: Any, initial: bool = False, **options: Any) -> AsyncIterator[Sequence[WatchEvent]]:
        """Refuse to begin with the present objects."""
        if initial:
            raise Invalid("sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled")
        return super().watch(*arguments, initial=False, **options)

    async def watching(
        self, call: Call, batches: Callable[[], AsyncIterator[Sequence[WatchEvent]]]
    ) -> AsyncIterator[Sequence[WatchEvent]]:
        """Tell everything late."""
        async for batch in batches():
            await asyncio.sleep(LATEST if call.resource is PODS else LATE)
            yield batch


@asynccontextmanager
async def controlled(here: World, options: DaemonSetOptions) -> AsyncIterator[Recording]:
    """A controller that is elected and works as `eachnode controller` does, and the record of its calls."""
    clock, chance = LoopClock(), random.Random(1)
    door = Recording(Awkward(here.door))
    election = LeaderElection(
        door, clock=clock, chance=chance, identity="a", name="eachnode-controller", namespace="default"
    )
    fenced = election.fenced(door)
    controller = DaemonSetController(fenced, clock=clock, chance=chance, options=options)
    task = asyncio.create_task(election.run(controller.run))
    try:
        yield door
    finally:
        controller.wind_down()
        await task


async def life(here: World) -> None:
    """Everything that happens to DaemonSets: growing up, updates, going back, adoption, trouble, the end."""
    await here.create(PODS, pod("stray", metadata={"labels": {"app": "d"}}, nodeName="node-1"))
    await here.create(DAEMON_SETS, daemon_set(revisionHistoryLimit=1))
    await here.until_available("d", 3, 600)
    await here.patch(LEASES, "eachnode-controller", {"metadata": {"labels": {"touched": "yes"}}})
    for image in ("i:2", "i:3", "i:2"):
        await image_becomes(here, image)
    await here.delete(DAEMON_SETS, "d", options=DeleteOptions(propagation_policy="Orphan"))
    await here.until(lambda: _orphaned(here), 600)
    await here.create(DAEMON_SETS, daemon_set(image="i:2"))
    await here.until_available("d", 3, 600)
    await trouble(here)
    await here.delete(DAEMON_SETS, "d")
    await here.until(lambda: _no_pods(here), 600)


async def image_becomes(here: World, image: str) -> None:
    """Update the template, and wait until every pod follows."""
    container = {"name": "c", "image": image}
    await here.patch(DAEMON_SETS, "d", {"spec": {"template": {"spec": {"containers": [container]}}}})
    await here.until_available("d", 3, 600)


async def trouble(here: World) -> None:
    """A quota refuses pods so often that one event comes to stand for many."""
    await here.create(RESOURCE_QUOTAS, {"metadata": {"name": "none"}, "spec": {"hard": {"pods": "0"}}})
    for each in await here.pods():
        await here.delete(PODS, each["metadata"]["name"], options=DeleteOptions(grace_period_seconds=0))

    async def counted() -> bool:
        return any(event.get("count", 1) > 1 for event in await here.all(EVENTS))

    await here.until(counted, 24 * 3600)
    await here.delete(RESOURCE_QUOTAS, "none")
    await here.until_available("d", 3, 3600)


async def _orphaned(here: World) -> bool:
    gone = await here.get(DAEMON_SETS, "d") is None
    return gone and not any(each["metadata"].get("ownerReferences") for each in await here.pods())


async def _no_pods(here: World) -> bool:
    return not await here.pods()


async def permissions_used(options: DaemonSetOptions) -> frozenset[Permission]:
    """What a whole life needed."""
    async with world(nodes=3, without=("controller",)) as here, controlled(here, options) as record:
        await life(here)
    return record.permissions()


async def test_the_roles_grant_what_the_controller_calls_and_no_more() -> None:
    used = await permissions_used(DaemonSetOptions())
    allowed = granted(base()) - NOT_A_CALL
    assert "\n".join(map(str, sorted(used - allowed))) == "", "called, but not granted"
    assert "\n".join(map(str, sorted(allowed - used))) == "", "granted, but never called"


async def test_direct_placement_needs_no_further_permission() -> None:
    used = await permissions_used(DaemonSetOptions(placement="direct"))
    assert sorted(used - granted(base())) == []


def test_nothing_is_granted_by_a_wildcard() -> None:
    assert not [each for each in granted(base()) if "*" in each]


def test_every_exception_is_really_granted() -> None:
    assert granted(base()) >= NOT_A_CALL


@pytest.mark.parametrize("kind", ["secrets", "configmaps", "services"])
def test_what_it_has_no_business_with_is_not_granted(kind: str) -> None:
    assert kind not in {resource for _, resource, _ in granted(base())}
