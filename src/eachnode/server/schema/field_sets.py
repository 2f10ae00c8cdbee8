"""Sets of fields of one object, in the very form in which `managedFields` shows them (fieldsV1).

A set is a tree of steps. A step is `f:name` into a field or key, `k:{"name":"c"}` to the list entry with these keys,
`v:"x"` to a value of a list that is a set, `i:0` to a place in a list. A node that is empty, or holds `.`, belongs to
the set itself; other nodes only lead to members below them. Sets are never changed in place: they share their parts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import msgspec

from eachnode.server.field_errors import shown

FieldSet: TypeAlias = "dict[str, FieldSet]"

SELF = "."
LEAF: FieldSet = {}


def is_member(node: FieldSet) -> bool:
    """Whether a node belongs to the set itself."""
    return not node or SELF in node


def union(left: FieldSet, right: FieldSet) -> FieldSet:
    """What is in either."""
    if left == right or not right:
        return left
    made = dict(left)
    for step, node in right.items():
        known = made.get(step)
        made[step] = node if known is None else _join(known, node)
    return made


def _join(left: FieldSet, right: FieldSet) -> FieldSet:
    """Two nodes of the same step as one."""
    if left == right:
        return left
    return _node(is_member(left) or is_member(right), union(_below(left), _below(right)))


def difference(left: FieldSet, right: FieldSet) -> FieldSet:
    """What is in `left` and not in `right`."""
    made = {}
    for step, node in left.items():
        other = right.get(step)
        if other is None:
            made[step] = node
            continue
        member, below = is_member(node) and not is_member(other), difference(_below(node), _below(other))
        if member or below:
            made[step] = _node(member, below)
    return made


def intersection(left: FieldSet, right: FieldSet) -> FieldSet:
    """What is in both."""
    made = {}
    for step, node in left.items():
        other = right.get(step)
        if other is None:
            continue
        member, below = is_member(node) and is_member(other), intersection(_below(node), _below(other))
        if member or below:
            made[step] = _node(member, below)
    return made


def covers(large: FieldSet, small: FieldSet) -> bool:
    """Whether `small` adds nothing to `large`."""
    for step, node in small.items():
        known = large.get(step)
        if known is None or (is_member(node) and not is_member(known)) or not covers(known, _below(node)):
            return False
    return True


def paths(fields: FieldSet, above: str = "") -> Iterator[str]:
    """Each member as the API spells it in messages, `.spec.containers[name="c"].image`; nearer ones first."""
    steps = [(spelled(step), node) for step, node in sorted(fields.items()) if step != SELF]
    yield from (above + step for step, node in steps if is_member(node))
    for step, node in steps:
        yield from paths(node, above + step)


def spelled(step: str) -> str:
    """One step as messages spell it."""
    kind, text = step[:2], step[2:]
    if kind == "f:":
        return f".{text}"
    if kind == "i:":
        return f"[{text}]"
    value = msgspec.json.decode(text)
    if kind == "v:":
        return f"[={shown(value)}]"
    return f"[{','.join(f'{key}={shown(value[key])}' for key in sorted(value))}]"


def is_well_formed(fields: object) -> bool:
    """Whether a tree from a client is a field set."""
    if not isinstance(fields, dict):
        return False
    for step, node in fields.items():
        if step != SELF and not _is_step(step):
            return False
        if not is_well_formed(node):
            return False
    return True


def _is_step(step: str) -> bool:
    kind, text = step[:2], step[2:]
    if kind == "f:":
        return True
    if kind == "i:":
        return text.lstrip("-").isdigit()
    if kind not in ("k:", "v:"):
        return False
    try:
        value = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return False
    return kind == "v:" or isinstance(value, dict)


def _below(node: FieldSet) -> FieldSet:
    return {step: below for step, below in node.items() if step != SELF} if SELF in node else node


def _node(member: bool, below: FieldSet) -> FieldSet:
    return {SELF: LEAF, **below} if member and below else below
