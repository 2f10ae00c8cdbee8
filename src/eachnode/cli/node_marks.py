"""What is written on nodes by hand: labels, taints, and that no new pods are to come (`eachnode node label …`)."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from eachnode.cli.failures import Failure
from eachnode.cli.options import cluster_options

if TYPE_CHECKING:
    from eachnode.client.door import Door

Tree = dict[str, Any]
ATTEMPTS = 10  # While others write to the node, too.
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_TAINT = re.compile(r"(?P<key>[^=:\s]+?)(=(?P<value>[^=:\s]*))?(:(?P<effect>[A-Za-z]+))?(?P<minus>-)?")


def _run(kubeconfig: str | None, context: str | None, act: Callable[[Door], Awaitable[str]]) -> None:
    from eachnode.cli.errands import errand

    async def work(door: Door, _: str) -> str:
        return await act(door)

    click.echo(errand(kubeconfig, context, None, work))


@click.command("label")
@click.argument("node")
@click.argument("labels", nargs=-1, required=True, metavar="KEY=VALUE|KEY-…")
@cluster_options
def label(node: str, labels: tuple[str, ...], kubeconfig: str | None, context: str | None) -> None:
    """Give a node labels, or take them away (KEY-).

    \b
    eachnode node label node-1 disk=ssd
    eachnode node label node-1 disk-
    """
    wanted = dict(_label(word) for word in labels)
    _run(kubeconfig, context, lambda door: set_labels(door, node, wanted))


def _label(word: str) -> tuple[str, str | None]:
    key, equals, value = word.partition("=")
    if equals and key:
        return key, value
    if word.endswith("-") and len(word) > 1:
        return word[:-1], None
    raise Failure(f"{word!r} is no label; write KEY=VALUE, or KEY- to take it away")


async def set_labels(door: Door, name: str, labels: dict[str, str | None]) -> str:
    """Write them; the sentence that says so."""
    from eachnode.objects.node import Node

    node, patch = await _node(door, name)
    held = node.read(Node).labels
    if all(held.get(key) == value for key, value in labels.items()):
        return f"node/{name} not labeled"
    await patch({"metadata": {"labels": labels}})
    return f"node/{name} {'labeled' if any(value is not None for value in labels.values()) else 'unlabeled'}"


@click.command("taint")
@click.argument("node")
@click.argument("taints", nargs=-1, required=True, metavar="KEY[=VALUE]:EFFECT|KEY[:EFFECT]-…")
@cluster_options
def taint(node: str, taints: tuple[str, ...], kubeconfig: str | None, context: str | None) -> None:
    """Put taints on a node, or take them off (KEY-, KEY:EFFECT-).

    \b
    eachnode node taint node-1 dedicated=gpu:NoSchedule
    eachnode node taint node-1 dedicated-
    """
    _run(kubeconfig, context, lambda door: set_taints(door, node, taints))


async def set_taints(door: Door, name: str, words: Sequence[str]) -> str:
    """Write them; the sentence that says so."""
    from eachnode.objects.status import Conflict

    for _ in range(ATTEMPTS):
        node, patch = await _node(door, name)
        tree = node.tree()
        before: list[Tree] = tree["spec"].get("taints") or []
        after = before
        for word in words:
            after = with_taint(after, word)
        if after == before:
            return f"node/{name} not tainted"
        # The version guards against losing a taint that somebody else puts on in this moment.
        guard = {"resourceVersion": tree["metadata"]["resourceVersion"]}
        try:
            await patch({"metadata": guard, "spec": {"taints": after}})
        except Conflict:
            continue
        return f"node/{name} {'tainted' if len(after) >= len(before) else 'untainted'}"
    raise Failure(f"node {name} changes faster than it can be tainted; try again")


def with_taint(taints: Sequence[Tree], word: str) -> list[Tree]:
    """The taints after one was put on, or off, as the word says."""
    match = _TAINT.fullmatch(word)
    if match is None or (match["effect"] not in EFFECTS and not (match["minus"] and match["effect"] is None)):
        raise Failure(
            f"{word!r} is no taint; write KEY=VALUE:EFFECT or KEY:EFFECT with one of the effects "
            f"{', '.join(EFFECTS)}, or KEY- to take it off"
        )
    key, effect = match["key"], match["effect"]
    left = [each for each in taints if each["key"] != key or (effect is not None and each["effect"] != effect)]
    if match["minus"]:
        return left
    value = {"value": match["value"]} if match["value"] else {}
    return [*left, {"key": key, **value, "effect": effect}]


@click.command("cordon")
@click.argument("node")
@cluster_options
def cordon(node: str, kubeconfig: str | None, context: str | None) -> None:
    """Let no new pods come to a node; pods of DaemonSets come all the same."""
    _run(kubeconfig, context, lambda door: set_unschedulable(door, node, unschedulable=True))


@click.command("uncordon")
@click.argument("node")
@cluster_options
def uncordon(node: str, kubeconfig: str | None, context: str | None) -> None:
    """Let pods come to a node again."""
    _run(kubeconfig, context, lambda door: set_unschedulable(door, node, unschedulable=False))


async def set_unschedulable(door: Door, name: str, *, unschedulable: bool) -> str:
    """Write it; the sentence that says so."""
    node, patch = await _node(door, name)
    word = "cordoned" if unschedulable else "uncordoned"
    if bool(node.tree()["spec"].get("unschedulable")) == unschedulable:
        return f"node/{name} already {word}"
    await patch({"spec": {"unschedulable": unschedulable or None}})
    return f"node/{name} {word}"


async def _node(door: Door, name: str) -> tuple[Any, Callable[[Tree], Awaitable[object]]]:
    """A node, and the way to patch it."""
    import msgspec

    from eachnode.cli.errands import find
    from eachnode.client.door import PatchKind
    from eachnode.objects.resources import NODES

    def patch(change: Tree) -> Awaitable[object]:
        return door.patch(NODES, name, msgspec.json.encode(change), PatchKind.MERGE, field_manager="eachnode-node")

    return await find(door, NODES, name, ""), patch
