"""`node label`, `taint`, `cordon`: what is written on a node, and what is refused."""

from __future__ import annotations

import pytest

from eachnode.cli.failures import Failure
from eachnode.cli.node_marks import Tree, set_labels, set_taints, set_unschedulable, with_taint
from eachnode.objects.resources import NODES
from tests.cli.commands import run
from tests.worlds import World, world


async def spec_of(here: World) -> Tree:
    tree = await here.get(NODES, "node-1", "")
    assert tree is not None
    return dict(tree["spec"])


async def test_labels_come_and_go() -> None:
    async with world(nodes=1) as here:
        assert await set_labels(here.door, "node-1", {"disk": "ssd"}) == "node/node-1 labeled"
        assert await set_labels(here.door, "node-1", {"disk": "ssd"}) == "node/node-1 not labeled"
        assert await set_labels(here.door, "node-1", {"disk": None}) == "node/node-1 unlabeled"
        tree = await here.get(NODES, "node-1", "")
        assert tree is not None
        assert "disk" not in tree["metadata"]["labels"]


async def test_taints_come_and_go_beside_others() -> None:
    async with world(nodes=1, without=("node-lifecycle",)) as here:
        before = (await spec_of(here)).get("taints", [])
        assert await set_taints(here.door, "node-1", ["a=b:NoSchedule"]) == "node/node-1 tainted"
        assert (await spec_of(here))["taints"] == [*before, {"key": "a", "value": "b", "effect": "NoSchedule"}]
        assert await set_taints(here.door, "node-1", ["a-"]) == "node/node-1 untainted"
        assert (await spec_of(here)).get("taints", []) == before
        assert await set_taints(here.door, "node-1", ["a-"]) == "node/node-1 not tainted"


async def test_a_cordoned_node_is_cordoned_once() -> None:
    async with world(nodes=1) as here:
        assert await set_unschedulable(here.door, "node-1", unschedulable=True) == "node/node-1 cordoned"
        assert await set_unschedulable(here.door, "node-1", unschedulable=True) == "node/node-1 already cordoned"
        assert (await spec_of(here))["unschedulable"] is True
        assert await set_unschedulable(here.door, "node-1", unschedulable=False) == "node/node-1 uncordoned"
        assert "unschedulable" not in await spec_of(here)


async def test_an_unknown_node_suggests_the_nearest() -> None:
    async with world(nodes=1) as here:
        with pytest.raises(Failure, match="there is no Node 'node1'; did you mean 'node-1'"):
            await set_labels(here.door, "node1", {"a": "b"})


@pytest.mark.parametrize(
    ("word", "left"),
    [
        ("a=2:NoExecute", ["a=1:NoSchedule", "b=:NoExecute", "a=2:NoExecute"]),
        ("a=2:NoSchedule", ["b=:NoExecute", "a=2:NoSchedule"]),
        ("c:PreferNoSchedule", ["a=1:NoSchedule", "b=:NoExecute", "c=:PreferNoSchedule"]),
        ("a-", ["b=:NoExecute"]),
        ("a:NoSchedule-", ["b=:NoExecute"]),
        ("a=1:NoSchedule-", ["b=:NoExecute"]),
        ("a:NoExecute-", ["a=1:NoSchedule", "b=:NoExecute"]),
        ("x.io/y-z-", ["a=1:NoSchedule", "b=:NoExecute"]),
    ],
)
def test_a_taint_is_one_key_and_effect(word: str, left: list[str]) -> None:
    taints = [{"key": "a", "value": "1", "effect": "NoSchedule"}, {"key": "b", "effect": "NoExecute"}]
    told = [f"{each['key']}={each.get('value', '')}:{each['effect']}" for each in with_taint(taints, word)]
    assert told == left


@pytest.mark.parametrize("word", ["a", "a=b", "a:Never", "=b:NoSchedule", "a=b:Never-", "-"])
def test_what_is_no_taint_is_refused(word: str) -> None:
    with pytest.raises(Failure, match="is no taint; write KEY=VALUE:EFFECT"):
        with_taint([], word)


def test_what_is_no_label_is_refused() -> None:
    assert "'disk' is no label; write KEY=VALUE, or KEY- to take it away" in run("node", "label", "n", "disk").err
