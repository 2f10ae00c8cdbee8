"""RFC 6902 patches: a list of operations, carried out one after the other, all or none.

Indices may count from the end, as the reference's library lets them, and `replace` of a missing key adds it. What
copies may add up to is limited, since a few of them in a row double a document each.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from eachnode.objects.go_text import go_json, go_json_sorted

MOST_OPERATIONS = 10_000
MOST_COPIED = 3 << 20  # bytes

Operation = dict[str, Any]
_WHOLE = ""


class DoesNotApply(ValueError):
    """An operation fails on this document."""


def patch_json(tree: Any, operations: list[Operation]) -> Any:
    """The document after all operations (changed in place); raises DoesNotApply."""
    copied = 0
    for operation in operations:
        run = _OPERATIONS.get(operation.get("op"))  # type: ignore[arg-type]  # an operation without a name is none
        if run is None:
            raise DoesNotApply(f"Unexpected kind: {operation.get('op', 'unknown')}")
        if run is _copy:
            copied += len(go_json(_find(tree, operation, "from")))
            if copied > MOST_COPIED:
                raise DoesNotApply(f"unable to complete the copy, the accumulated size increase exceeds {MOST_COPIED}")
        tree = run(tree, operation)
    return tree


def _path(operation: Operation, name: str) -> list[str]:
    """The steps of a JSON pointer."""
    pointer = operation.get(name)
    if not isinstance(pointer, str):
        raise DoesNotApply(f"{operation['op']} operation failed to decode {name}: missing value")
    if pointer == _WHOLE:
        return []
    _, *steps = pointer.split("/")  # As in the reference, what stands before the first slash does not matter.
    if not steps:
        raise DoesNotApply(f"{operation['op']} operation does not apply: doc is missing {name}: {pointer}")
    return [step.replace("~1", "/").replace("~0", "~") for step in steps]


def _holder(tree: Any, operation: Operation, name: str) -> tuple[Any, str]:
    """The object or list that the last step of a path leads into, and that step."""
    steps = _path(operation, name)
    if not steps:
        raise DoesNotApply(f"{operation['op']} operation does not apply: doc is missing {name}")
    for step in steps[:-1]:
        tree = _inside(tree, step)
    if not isinstance(tree, (dict, list)):
        raise DoesNotApply(f"{operation['op']} operation does not apply: doc is missing {name}: {operation[name]}")
    return tree, steps[-1]


def _inside(node: Any, step: str) -> Any:
    if isinstance(node, dict):
        if step not in node:
            raise DoesNotApply(f"missing value: {step}")
        return node[step]
    if isinstance(node, list):
        return node[_index(step, len(node))]
    raise DoesNotApply(f"missing value: {step}")


def _find(tree: Any, operation: Operation, name: str) -> Any:
    """What a path leads to; a missing key of an object counts as null."""
    if not _path(operation, name):
        return tree
    holder, step = _holder(tree, operation, name)
    return holder.get(step) if isinstance(holder, dict) else _inside(holder, step)


def _index(step: str, below: int) -> int:
    try:
        index = int(step) if len(step) < 12 and "_" not in step else below
    except ValueError:
        raise DoesNotApply(f"value was not a proper array index: '{step}'") from None
    if not -below <= index < below:
        raise DoesNotApply(f"Unable to access invalid index: {step}")
    return index % below


def _put(tree: Any, operation: Operation, value: Any) -> Any:
    """The document with a value added at `path`."""
    holder, step = _holder(tree, operation, "path")
    if isinstance(holder, dict):
        holder[step] = value
    elif step == "-":
        holder.append(value)
    else:
        holder.insert(_index(step, len(holder) + 1), value)
    return tree


def _take(tree: Any, operation: Operation, name: str) -> Any:
    """Removes what a path leads to, and hands it out."""
    holder, step = _holder(tree, operation, name)
    if isinstance(holder, list):
        return holder.pop(_index(step, len(holder)))
    if step not in holder:
        raise DoesNotApply(f"Unable to remove nonexistent key: {step}: missing value")
    return holder.pop(step)


def _add(tree: Any, operation: Operation) -> Any:
    return _put(tree, operation, copy.deepcopy(operation.get("value")))


def _remove(tree: Any, operation: Operation) -> Any:
    _take(tree, operation, "path")
    return tree


def _replace(tree: Any, operation: Operation) -> Any:
    value = copy.deepcopy(operation.get("value"))
    if not _path(operation, "path"):
        if not isinstance(value, (dict, list)):
            raise DoesNotApply("replace operation value must be object or array")
        return value
    holder, step = _holder(tree, operation, "path")
    if isinstance(holder, list):
        holder[_index(step, len(holder))] = value
    else:
        holder[step] = value
    return tree


def _move(tree: Any, operation: Operation) -> Any:
    value = _take(tree, operation, "from")
    return _put(tree, operation, value)


def _copy(tree: Any, operation: Operation) -> Any:
    return _put(tree, operation, copy.deepcopy(_find(tree, operation, "from")))


def _test(tree: Any, operation: Operation) -> Any:
    if not _same(_find(tree, operation, "path"), operation.get("value")):
        raise DoesNotApply(f"testing value {operation['path']} failed: test failed")
    return tree


def _same(left: Any, right: Any) -> bool:
    """Equality of JSON, where `true` is not 1."""
    return bool(left == right) and go_json_sorted(_plain(left)) == go_json_sorted(_plain(right))


def _plain(tree: Any) -> Any:
    """The tree with whole numbers alike however they were written."""
    if isinstance(tree, dict):
        return {key: _plain(entry) for key, entry in tree.items()}
    if isinstance(tree, list):
        return [_plain(entry) for entry in tree]
    return int(tree) if isinstance(tree, float) and tree.is_integer() else tree


_OPERATIONS: dict[str, Callable[[Any, Operation], Any]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy,
    "test": _test,
}
