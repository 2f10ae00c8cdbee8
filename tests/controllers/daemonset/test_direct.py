"""Direct placement: where no scheduler runs, the controller looks for room itself."""

from __future__ import annotations

import pytest

from eachnode.controllers.daemonset import DaemonSetOptions
from eachnode.objects.resources import DAEMON_SETS, NODES, PODS
from tests.controllers.daemonset.stage import SIMPLE, Stage, Tree, stage

DIRECT = DaemonSetOptions(placement="direct")


def asking(cpu: str = "1", port: int | None = None) -> Tree:
    container: Tree = {"name": "c", "image": "i:1", "resources": {"requests": {"cpu": cpu}}}
    if port is not None:
        container["ports"] = [{"containerPort": port, "hostPort": port}]
    return {**SIMPLE, "containers": [container]}


async def occupy(play: Stage, name: str, node: str, template: Tree) -> None:
    await play.create(PODS, {"metadata": {"name": name}, "spec": {**template, "nodeName": node}})


async def refusals(play: Stage) -> list[str]:
    return [message for _, reason, message in await play.events() if reason == "FailedPlacement"]


async def test_pods_are_bound_by_us() -> None:
    async with stage("n1", "n2") as play:
        play.hands.binds = lambda pod: False
        await play.controller(DIRECT)
        await play.daemonset()
        await play.until_serving(2)
        assert sorted(pod["spec"]["nodeName"] for pod in await play.pods()) == ["n1", "n2"]


@pytest.mark.parametrize(
    ("other", "mine", "why"),
    [
        (asking("3"), asking("2"), "Insufficient cpu (2 of cpu is asked for and 1 of 4 is free)"),
        (asking(port=80), asking(port=80), "host port *:80/TCP is taken by default/other"),
    ],
)
async def test_a_node_without_room_is_told_of_and_used_as_soon_as_there_is_some(
    other: Tree, mine: Tree, why: str
) -> None:
    async with stage("n1", "n2") as play:
        play.hands.binds = lambda pod: False
        await occupy(play, "other", "n1", other)
        controller = await play.controller(DIRECT)
        await play.daemonset(template=mine)
        await play.until_status(numberAvailable=1, desiredNumberScheduled=2)
        await play.settle(60)
        (told,) = await refusals(play)
        assert told.startswith('failed to place pod on "n1": ')
        assert why in told
        (charge,) = controller.charges.values()
        assert list(charge.unplaced) == ["n1"]
        await play.delete(PODS, "other")
        await play.until_status(numberAvailable=2, seconds=2)
        assert not charge.unplaced


async def test_a_pod_that_ends_makes_room_too() -> None:
    async with stage("n1") as play:
        play.hands.binds = lambda pod: False
        await occupy(play, "other", "n1", asking("3"))
        await play.controller(DIRECT)
        await play.daemonset(template=asking("2"))
        await play.settle(10)
        await play.hands.set_status("other", {"phase": "Succeeded"})
        await play.until_status(numberAvailable=1, seconds=2)


async def test_a_node_that_grows_gets_its_pod() -> None:
    async with stage("n1") as play:
        play.hands.binds = lambda pod: False
        await play.controller(DIRECT)
        await play.daemonset(template=asking("5"))
        await play.settle(10)
        assert "asked for and the node has 4 altogether" in (await refusals(play))[0]
        room = {"cpu": "8", "memory": "8Gi", "pods": "10"}
        await play.patch(NODES, "n1", {"status": {"allocatable": room, "capacity": room}}, subresource="status")
        await play.until_status(numberAvailable=1, seconds=2)


async def test_the_number_of_pods_counts() -> None:
    async with stage("n1") as play:
        play.hands.binds = lambda pod: False
        for number in range(10):
            await occupy(play, f"other-{number}", "n1", SIMPLE)
        await play.controller(DIRECT)
        await play.daemonset()
        await play.settle(10)
        assert "Too many pods" in (await refusals(play))[0]


async def test_two_daemonsets_do_not_take_the_same_room() -> None:
    async with stage("n1") as play:
        play.hands.binds = lambda pod: False
        await play.controller(DIRECT)
        await play.daemonset("a", template=asking("3"))
        await play.daemonset("b", template=asking("3"))
        await play.settle(20)
        assert len(await play.pods()) == 1
        assert len(await refusals(play)) == 1
        first = (await play.pods())[0]["metadata"]["labels"]["app"]
        await play.delete(DAEMON_SETS, first, "Background")
        (name,) = (await play.pods_by_node())["n1"]
        await play.delete(PODS, name)
        await play.until_serving(1, "b" if first == "a" else "a")


async def test_full_nodes_do_not_keep_others_waiting() -> None:
    names = [f"n{number:03}" for number in range(300)]
    async with stage(*names) as play:
        play.hands.binds = lambda pod: False
        for name in names[:260]:
            await occupy(play, f"other-{name}", name, asking("4"))
        await play.controller(DIRECT)
        await play.daemonset(template=asking("1"))
        await play.until_status(numberAvailable=40)
