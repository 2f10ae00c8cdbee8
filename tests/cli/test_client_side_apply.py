"""What kubectl applied from its side and the next file no longer says goes: in what `plan` tells, and by `apply`."""

from __future__ import annotations

import copy
from typing import Any

import msgspec
import pytest

from eachnode.cli.apply import apply_all
from eachnode.cli.client_side_apply import LAST_APPLIED, without_dropped
from eachnode.cli.explaining.changing import from_manifest
from eachnode.cli.manifests import Manifest
from eachnode.objects.resources import DAEMON_SETS
from tests.worlds import Tree, World, daemon_set, world

OLD: Tree = {
    "apiVersion": "apps/v1",
    "kind": "DaemonSet",
    **daemon_set(
        "web",
        template={
            "nodeSelector": {"disk": "ssd"},
            "tolerations": [{"key": "a", "operator": "Exists"}],
            "containers": [
                {"name": "c", "image": "i:1", "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]},
                {"name": "beside", "image": "b:1"},
            ],
        },
        minReadySeconds=30,
    ),
}


def without(*paths: tuple[Any, ...]) -> Tree:
    """The file with some of it taken out."""
    tree = copy.deepcopy(OLD)
    for *steps, last in paths:
        place: Any = tree["spec"]
        for step in steps:
            place = place[step]
        del place[last]
    return tree


POD = ("template", "spec")
SHORTER = [
    without((*POD, "nodeSelector")),
    without((*POD, "tolerations"), ("minReadySeconds",)),
    without((*POD, "containers", 1)),
    without((*POD, "containers", 0, "env", 0)),
    without((*POD, "containers", 0, "env")),
    OLD,
]


async def applied_by_kubectl(it: World) -> None:
    """As `kubectl apply` leaves it, and somebody else's label beside."""
    tree = copy.deepcopy(OLD)
    tree["metadata"]["annotations"] = {LAST_APPLIED: msgspec.json.encode(OLD).decode()}
    body = msgspec.json.encode(tree)
    await it.door.create(DAEMON_SETS, body, "default", field_manager="kubectl-client-side-apply")
    await it.patch(DAEMON_SETS, "web", {"metadata": {"labels": {"others": "own"}}})


@pytest.mark.parametrize("shorter", SHORTER)
async def test_apply_does_what_plan_told_and_takes_away_what_the_file_no_longer_says(shorter: Tree) -> None:
    async with world(without=("controller",)) as it:
        await applied_by_kubectl(it)
        manifest = Manifest(shorter, "web.yaml")
        told = await from_manifest(it.door, manifest, "default")
        assert told.is_change == (shorter != OLD)
        assert await apply_all(it.door, [manifest], "default") == 0
        tree = await it.get(DAEMON_SETS, "web") or {}
        assert tree["spec"] == told.tree["spec"]
        for path in ("nodeSelector", "tolerations"):
            assert tree["spec"]["template"]["spec"].get(path) == shorter["spec"]["template"]["spec"].get(path)
        assert tree["metadata"]["labels"]["others"] == "own"
        assert tree["metadata"]["generation"] == (2 if shorter != OLD else 1)


async def test_a_kubectl_that_applies_again_finds_what_it_needs(capsys: pytest.CaptureFixture[str]) -> None:
    async with world(without=("controller",)) as it:
        await applied_by_kubectl(it)
        for _ in range(2):
            await apply_all(it.door, [Manifest(SHORTER[0], "web.yaml")], "default")
        assert capsys.readouterr().out.splitlines() == [
            "daemonset.apps/web configured",
            "daemonset.apps/web unchanged",
        ]
        metadata = (await it.get(DAEMON_SETS, "web") or {})["metadata"]
        assert LAST_APPLIED in metadata["annotations"]


@pytest.mark.parametrize(
    ("live", "last", "wanted", "rest"),
    [
        ({"a": 1, "b": 2, "c": 3}, {"a": 1, "b": 2}, {"b": 2}, {"b": 2, "c": 3}),
        ({"a": {"x": 1, "y": 2}}, {"a": {"x": 1}}, {"a": {}}, {"a": {"y": 2}}),
        ([{"name": "x"}, {"name": "y"}], [{"name": "x"}], [{"name": "z"}], [{"name": "y"}]),
        ([1, 2], [1], [2], [1, 2]),
        ({"a": 1}, None, {}, {"a": 1}),
    ],
)
def test_only_what_was_said_before_and_is_not_now_is_dropped(live: Any, last: Any, wanted: Any, rest: Any) -> None:
    assert without_dropped(live, last, wanted) == rest
