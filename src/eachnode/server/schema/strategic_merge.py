"""Strategic merge patches: merge patches that know which lists are joined, by which key, and in which order.

A patch is an object with the fields to change. Inside it stand directives:

    $patch: replace | delete            this object (or, in a list, this list or entry) is replaced or removed
    $setElementOrder/list: [...]        the order that the list's entries shall have
    $deleteFromPrimitiveList/list: [...]  scalars to take out of a list
    $retainKeys: [...]                  no other keys of this object stay

Which lists are joined comes from the field tables; other lists are replaced as a whole.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from eachnode.server.kind import Tree
from eachnode.server.schema.shapes import Shape, Sort, shape

_DIRECTIVE = "$patch"
_RETAIN = "$retainKeys"
_ORDER = "$setElementOrder"
_DELETE = "$deleteFromPrimitiveList"
_ALL_BUT_PATCH = (_RETAIN, _ORDER, _DELETE)
_GO_TYPES = {dict: "map[string]interface {}", list: "[]interface {}", str: "string", bool: "bool", int: "int64"}
_GO_TYPES |= {float: "float64", type(None): "%!s(<nil>)"}


class BadPatch(ValueError):
    """The patch is not well formed (400)."""


class CannotMerge(ValueError):
    """The patch is well formed, but does not fit the object."""


class NoListOfLists(CannotMerge):
    """A list of lists cannot be joined (422)."""

    def __init__(self) -> None:
        super().__init__("lists of lists are not supported")


def patch_strategic(definition: str, tree: Tree, patch: Tree) -> Tree:
    """The tree after the patch (both are changed in place)."""
    return _merge(tree, patch, shape(definition))


def _merge(tree: Tree, patch: Tree, wanted: Shape) -> Tree:
    if _DIRECTIVE in patch:
        return _by_directive(patch)
    _retain(tree, patch)
    _merge_in_order(tree, patch, wanted)
    for key, value in patch.items():
        deletes = key.startswith(_DELETE)
        if deletes:
            key = _bare(key, _DELETE)
        if value is None:
            tree.pop(key, None)
        elif key in tree and type(tree[key]) is type(value):
            tree[key] = _merge_value(tree[key], value, wanted, key, deletes)
        elif not deletes:
            tree[key] = _without_directives(_without_nulls(value))
        if tree.get(key) is _GONE:
            del tree[key]
    return tree


_GONE = object()


def _by_directive(patch: Tree) -> Tree:
    directive = patch[_DIRECTIVE]
    if directive == "delete":
        return {}
    if directive == "replace":
        del patch[_DIRECTIVE]
        return patch
    raise CannotMerge(f"unknown patch type: {go_text(directive)} in map: {go_text(patch)}")


def _merge_value(old: Any, new: Any, holder: Shape, key: str, deletes: bool) -> Any:
    if isinstance(old, dict):
        return _merge(old, new, _member(holder, key))
    if isinstance(old, list):
        return _merge_list(old, new, _member(holder, key), deletes)
    return new


def _member(holder: Shape, key: str) -> Shape:
    """The shape of a field of a struct or of a map's values."""
    if holder.sort is Sort.MAP and holder.item is not None:
        return holder.item
    field = holder.fields.get(key)
    if field is None:
        raise CannotMerge(f'unable to find api field "{key}" in {holder.go}')
    return field.shape


def _bare(key: str, prefix: str) -> str:
    """The list that a directive is about."""
    head, slash, name = key.partition("/")
    if not slash or head != prefix:
        what = "primitive" if prefix == _DELETE else "setElementOrder"
        raise BadPatch(f"invalid patch format of {what} list")
    return name


def _retain(tree: Tree, patch: Tree) -> None:
    """Carries out $retainKeys."""
    if _RETAIN not in patch:
        return
    kept = patch.pop(_RETAIN)
    if not isinstance(kept, list):
        raise BadPatch("invalid patch format of retainKeys")
    for key, value in patch.items():
        if value is not None and not key.startswith((_DELETE, _ORDER)) and key not in kept:
            raise BadPatch("invalid patch format of retainKeys")
    for key in [key for key in tree if key not in kept]:
        del tree[key]


def _merge_in_order(tree: Tree, patch: Tree, wanted: Shape) -> None:
    """Joins the lists whose order the patch prescribes, and takes them out of the patch."""
    for directive in [key for key in patch if key.startswith(_ORDER)]:
        order = patch.pop(directive)
        key = _bare(directive, _ORDER)
        old, new = _as_list(tree.get(key, [])), _as_list(patch.get(key, []))
        made = _member(wanted, key)
        _check_order(new, _as_list(order), made.merge_key)
        if key not in tree and key not in patch:
            continue
        server_order = list(old)
        merged = _without_directives(new) if key not in tree else old
        if key in tree and key in patch:
            merged = _merge_list(old, new, made, deletes=False)
        tree[key] = _ordered(merged, order, server_order, made.merge_key)
        patch.pop(key, None)


def _as_list(value: Any) -> list[Any]:
    if isinstance(value, list):
        return value
    raise CannotMerge(f"expected a []interface {{}}, but received a {_GO_TYPES[type(value)]}")


def _check_order(patch: list[Any], order: list[Any], merge_key: str) -> None:
    """Refuses a patch whose entries stand in another order than the one it prescribes."""
    given = [entry for entry in patch if not (isinstance(entry, dict) and _DIRECTIVE in entry)]
    if not order or not given:
        return
    wanted = iter([_identity(entry, merge_key) for entry in order])
    for entry in given:
        if _identity(entry, merge_key) not in wanted:  # Consumes the iterator up to the match.
            raise CannotMerge(
                f"The order in patch list:\n{go_text(patch)}\n doesn't match {_ORDER} list:\n{go_text(order)}\n"
            )


def _merge_list(old: list[Any], new: list[Any], made: Shape, deletes: bool) -> list[Any]:
    if not made.merges and not deletes:
        return new
    if not old and not new:
        return old
    if not _holds_objects(old, new):
        return _merge_scalars(old, new, deletes)
    if not made.merge_key:
        item = made.item.go if made.item else made.go
        raise CannotMerge(f"cannot merge lists without merge key for {item}")
    old, new = _special_entries(old, new, made.merge_key)
    server_order = list(old)
    merged = _merge_entries(old, new, made)
    return _ordered(merged, new, server_order, made.merge_key)


def _holds_objects(old: list[Any], new: list[Any]) -> bool:
    """Whether the entries are objects; they must all be of one type."""
    kinds = {type(entry) for entry in (*old, *new)}
    if type((*old, *new)[0]) is list:
        raise NoListOfLists
    if len(kinds) > 1:
        raise CannotMerge(f"list element types are not identical: {go_text([old, new])}")
    return kinds == {dict}


def _merge_scalars(old: list[Any], new: list[Any], deletes: bool) -> list[Any]:
    if deletes:
        return [entry for entry in old if entry not in new]
    merged = list(dict.fromkeys([*old, *new]))
    return _ordered(merged, new, old, "")


def _special_entries(old: list[Any], new: list[Any], merge_key: str) -> tuple[list[Any], list[Any]]:
    """Carries out the directives that stand in a list as entries."""
    plain, replaces = [], False
    for entry in new:
        directive = entry.get(_DIRECTIVE)
        if _DIRECTIVE not in entry:
            plain.append(entry)
        elif directive == "delete":
            gone = _identity(entry, merge_key)
            old = [known for known in old if known.get(merge_key) != gone]
        elif directive == "replace":
            replaces = True
        elif directive == "merge":
            raise CannotMerge("merging lists cannot yet be specified in the patch")
        else:
            raise CannotMerge(f"unknown patch type: {go_text(directive)} in map: {go_text(entry)}")
    return (plain, []) if replaces else (old, plain)


def _merge_entries(old: list[Any], new: list[Any], made: Shape) -> list[Any]:
    """The old entries, changed by those of the patch with the same key, and the others of the patch."""
    item = made.item
    assert item is not None  # A list that is joined has items in the tables.
    merged = list(old)
    for entry in new:
        key = _identity(entry, made.merge_key)
        for place, known in enumerate(merged):
            if known.get(made.merge_key) == key:
                merged[place] = _merge(known, entry, item)
                break
        else:
            merged.append(entry)  # As in the reference, with its directives, of which it is said that they are unknown.
    return merged


def _identity(entry: Any, merge_key: str) -> Hashable:
    """What tells an entry from its neighbours."""
    if not merge_key:
        return entry if isinstance(entry, Hashable) else go_text(entry)
    if not isinstance(entry, dict):
        raise CannotMerge(f"expected a map[string]interface {{}}, but received a {_GO_TYPES[type(entry)]}")
    if merge_key not in entry:
        raise CannotMerge(f"map: {go_text(entry)} does not contain declared merge key: {merge_key}")
    value = entry[merge_key]
    return value if isinstance(value, Hashable) else go_text(value)


def _ordered(merged: list[Any], order: list[Any], server_order: list[Any], merge_key: str) -> list[Any]:
    """The entries in the wished order, with those it does not name let in where they stood among the named ones."""
    wished = {_identity(entry, merge_key): place for place, entry in reversed(list(enumerate(order)))}
    known = {_identity(entry, merge_key): place for place, entry in reversed(list(enumerate(server_order)))}
    keyed = [(_identity(entry, merge_key), entry) for entry in merged]
    named = sorted((pair for pair in keyed if pair[0] in wished), key=lambda pair: wished[pair[0]])
    others = sorted((pair for pair in keyed if pair[0] not in wished), key=lambda pair: known.get(pair[0], -1))
    made: list[Any] = []
    while named and others:
        left, right = known.get(others[0][0]), known.get(named[0][0])
        goes_first = left is not None and right is not None and left < right
        made.append((others if goes_first else named).pop(0)[1])
    return made + [entry for _, entry in (*others, *named)]


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(entry) for key, entry in value.items() if entry is not None}
    if isinstance(value, list):
        return [_without_nulls(entry) for entry in value]
    return value


def _without_directives(value: Any) -> Any:
    """A value of the patch as it goes into the object; `_GONE` when it was nothing but a directive."""
    if isinstance(value, dict):
        if _DIRECTIVE in value:
            return _GONE
        made = {key: _without_directives(entry) for key, entry in value.items() if not key.startswith(_ALL_BUT_PATCH)}
        return {key: entry for key, entry in made.items() if entry is not _GONE}
    if isinstance(value, list):
        return [entry for entry in map(_without_directives, value) if entry is not _GONE]
    return value


def go_text(value: Any) -> str:
    """A tree as Go prints it with %v."""
    if isinstance(value, dict):
        return f"map[{' '.join(f'{key}:{go_text(value[key])}' for key in sorted(value))}]"
    if isinstance(value, list):
        return f"[{' '.join(map(go_text, value))}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return "<nil>" if value is None else str(value)
