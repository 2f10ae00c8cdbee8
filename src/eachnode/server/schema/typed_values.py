"""What server-side apply does with values whose shape is known: compare, list the fields of, merge, and take away.

Who owns a value depends on its shape: a scalar, or anything atomic, is owned as a whole; structs and maps field by
field; lists entry by entry, where entries are told apart by keys (list maps) or by themselves (sets). A value that is
absent differs from one that is null or empty.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from eachnode.objects.go_text import go_quoted
from eachnode.server.schema.field_sets import LEAF, SELF, FieldSet, is_member, spelled
from eachnode.server.schema.shapes import Field, Presence, Shape, Sort

ABSENT: Any = object()
DEDUCED = Shape(Sort.ANY, "interface {}", open=True)  # Of unknown shape: objects field by field, lists as a whole.

_STRUCT, _MAP, _LIST, _ANY = Sort.STRUCT, Sort.MAP, Sort.LIST, Sort.ANY
_encode = msgspec.json.Encoder(order="sorted").encode


class Untypable(ValueError):
    """A value does not fit its shape; each line names a place and what is wrong there."""


def is_leaf(wanted: Shape, value: Any) -> bool:
    """Whether a value has one owner as a whole."""
    return wanted.owned_whole or (wanted.sort is _ANY and not isinstance(value, dict))


def member(wanted: Shape, key: str) -> Shape | None:
    """The shape of what stands under a key; None when nothing may."""
    if wanted.sort is _STRUCT:
        field = wanted.fields.get(key)
        if field is not None:
            return field.shape
        return (wanted.item or DEDUCED) if wanted.open else None
    return wanted.item if wanted.sort is _MAP else DEDUCED


def step_to(wanted: Shape, entry: Any) -> str:
    """The step that leads to an entry of a list."""
    if wanted.relation == "set":
        return f"v:{_encode(entry).decode()}"
    if not isinstance(entry, dict):
        raise Untypable("associative list with keys may not have non-map elements")
    item = wanted.item
    defaults = item.key_defaults if item is not None else {}
    name = entry.get(wanted.keys[0]) if len(wanted.keys) == 1 else None
    if isinstance(name, str) and name.replace("-", "a").isalnum():  # As nearly all are: no need to ask the encoder.
        return f'k:{{"{wanted.keys[0]}":"{name}"}}'
    keys = {key: entry.get(key, defaults.get(key)) for key in wanted.keys if key in entry or key in defaults}
    if not keys:
        names = " ".join(f'"{key}"' for key in wanted.keys)
        raise Untypable(
            f"associative list with keys has an element that omits all key fields [{names}] "
            "(and doesn't have default values for any key fields)"
        )
    return f"k:{_encode(keys).decode()}"


def whole(wanted: Shape, value: Any) -> FieldSet:
    """The node of a value that is there with everything in it: itself and all below."""
    if not value or is_leaf(wanted, value):
        return LEAF
    made: FieldSet = {SELF: LEAF}
    if isinstance(value, dict):
        fields = wanted.fields
        for key, entry in value.items():
            field = fields.get(key)
            if field is None:
                made[f"f:{key}"] = whole(member(wanted, key) or DEDUCED, entry)
            else:
                made[field.step] = LEAF if field.owned_whole else whole(field.shape, entry)
    elif isinstance(value, list) and wanted.item is not None:
        for entry in value:
            step = step_to(wanted, entry)
            made[step] = LEAF if step in made else whole(wanted.item, entry)
    return made


class _Alike(list[Any]):
    """Several entries of a list that its keys do not tell apart: they have one owner together."""


def compare(wanted: Shape, old: Any, new: Any) -> tuple[FieldSet | None, FieldSet | None]:
    """(what was added or changed, what was removed) between two values, as nodes; None where there is nothing."""
    if old.__class__ is _Alike or new.__class__ is _Alike:
        return _compare_alike(wanted, old, new)
    if old is ABSENT:
        return whole(wanted, new), None
    if new is ABSENT:
        return None, whole(wanted, old)
    if old is new or (old == new and type(old) is type(new)):
        return None, None
    if is_leaf(wanted, new if new is not None else old) or not (old or new):
        return LEAF, None
    if isinstance(old or {}, dict) and isinstance(new or {}, dict) and wanted.sort is not _LIST:
        pairs = _pairs(wanted, old or {}, new or {})
    elif isinstance(old or [], list) and isinstance(new or [], list):
        pairs = _entry_pairs(wanted, old or [], new or [])
    else:
        return LEAF, None
    changed: FieldSet = {}
    removed: FieldSet = {}
    for step, inner, before, after in pairs:
        added, gone = compare(inner, before, after)
        if added is not None:
            changed[step] = added
        if gone is not None:
            removed[step] = gone
    return changed or None, removed or None


def _pairs(wanted: Shape, old: dict[str, Any], new: dict[str, Any]) -> Iterator[tuple[str, Shape, Any, Any]]:
    """Both sides of each key. What is always written counts as written, whether the tree holds it or not."""
    fields = wanted.fields
    for key in (*new, *(key for key in old if key not in new)):
        before, after = old.get(key, ABSENT), new.get(key, ABSENT)
        if before is after:
            continue
        field = fields.get(key)
        if field is None:
            yield f"f:{key}", member(wanted, key) or DEDUCED, before, after
            continue
        before = _implied(field) if before is ABSENT else before
        after = _implied(field) if after is ABSENT else after
        yield f"f:{key}", field.shape, before, after


def _implied(field: Field) -> Any:
    """What an absent field stands for."""
    if field.presence <= Presence.GIVEN:
        return ABSENT
    if field.presence is not Presence.ALWAYS:
        return None
    return {} if field.sort is _STRUCT else field.shape.zero


def _entry_pairs(wanted: Shape, old: list[Any], new: list[Any]) -> Iterator[tuple[str, Shape, Any, Any]]:
    item = wanted.item or DEDUCED
    before, after = _by_step(wanted, old), _by_step(wanted, new)
    for step in (*after, *(step for step in before if step not in after)):
        yield step, item, before.get(step, ABSENT), after.get(step, ABSENT)


def _by_step(wanted: Shape, entries: list[Any]) -> dict[str, Any]:
    """The entries of a list by the steps that lead to them."""
    made: dict[str, Any] = {}
    for entry in entries:
        step = step_to(wanted, entry)
        if step not in made:
            made[step] = entry
        elif made[step].__class__ is _Alike:
            made[step].append(entry)
        else:
            made[step] = _Alike((made[step], entry))
    return made


def _compare_alike(wanted: Shape, old: Any, new: Any) -> tuple[FieldSet | None, FieldSet | None]:
    """The same for what stands under one step, where there are several entries on one side or on both."""
    if old.__class__ is new.__class__:
        return (None if old == new else LEAF), None
    if new.__class__ is _Alike:
        return LEAF, None if old is ABSENT else whole(wanted, old)
    return None if new is ABSENT else whole(wanted, new), LEAF


def named(wanted: Shape, value: Any) -> FieldSet:
    """The fields that a configuration names: its leaves, its list entries, and the keys of its maps."""
    made: FieldSet = {}
    if isinstance(value, dict):
        for key, entry in value.items():
            inner = member(wanted, key) or DEDUCED
            made[f"f:{key}"] = _named_node(inner, entry, is_key=key not in wanted.fields)
    elif isinstance(value, list) and wanted.item is not None:
        for entry in value:
            made[step_to(wanted, entry)] = _named_node(wanted.item, entry, is_key=True)
    return {step: node for step, node in made.items() if node is not _NOTHING}


_NOTHING: FieldSet = {"": {}}


def _named_node(inner: Shape, entry: Any, *, is_key: bool) -> FieldSet:
    if is_leaf(inner, entry) or entry is None or entry == {}:
        return LEAF
    below = named(inner, entry)
    if not is_key:
        return below or _NOTHING
    return {SELF: LEAF, **below} if below else LEAF


def merge(wanted: Shape, live: Any, config: Any) -> Any:
    """The live value with the configuration laid over it; nothing is removed."""
    if config is ABSENT or live is ABSENT:
        return live if config is ABSENT else config
    if is_leaf(wanted, config if config is not None else live) or not (live or config):
        return config
    if config is None:
        return live
    if isinstance(config, dict) and isinstance(live or {}, dict):
        made = dict(live or {})
        for key, entry in config.items():
            made[key] = merge(member(wanted, key) or DEDUCED, made.get(key, ABSENT), entry)
        return made
    if isinstance(config, list) and isinstance(live or [], list):
        return _merge_lists(wanted, live or [], config)
    return config


def _merge_lists(wanted: Shape, live: list[Any], config: list[Any]) -> list[Any]:
    """Both lists' entries, those of the configuration in its order, the others after those they stood behind."""
    item = wanted.item or DEDUCED
    ours = {step_to(wanted, entry): entry for entry in config}
    theirs = [(step_to(wanted, entry), entry) for entry in live]
    known = dict(reversed(theirs))
    shared = [step for step in ours if step in known]
    waiting = list(ours)
    made: list[Any] = []
    done: set[str] = set()

    def take(step: str) -> None:
        done.add(step)
        waiting.remove(step)
        made.append(merge(item, known.get(step, ABSENT), ours[step]))
        if shared and shared[0] == step:
            shared.pop(0)

    for step, entry in theirs:
        if step not in ours:
            made.append(entry)
        elif step not in done and shared and shared[0] == step:
            while waiting and waiting[0] != step:  # What is new stands before the next entry that both have.
                take(waiting[0])
            take(step)
    for step in list(waiting):
        take(step)
    return made


def remove(wanted: Shape, value: Any, gone: FieldSet) -> Any:
    """The value without the members of a set; null when nothing is left."""
    if not isinstance(value, (dict, list)):
        return value
    if not value or is_leaf(wanted, value):
        return None
    if isinstance(value, dict):
        kept = {}
        for key, entry in value.items():
            node = gone.get(f"f:{key}")
            if node is None:
                kept[key] = entry
            elif not is_member(node):
                kept[key] = remove(member(wanted, key) or DEDUCED, entry, node)
        return kept or None
    return _remove_entries(wanted, value, gone) or None


def _remove_entries(wanted: Shape, entries: list[Any], gone: FieldSet) -> list[Any]:
    item = wanted.item or DEDUCED
    kept = []
    for entry in entries:
        node = gone.get(step_to(wanted, entry))
        if node is None:
            kept.append(entry)
        elif not is_member(node):
            kept.append(remove(item, entry, node))
    return kept


def with_structs(wanted: Shape, fields: FieldSet) -> FieldSet:
    """The set with every struct's field that leads to a member as a member itself."""
    made: FieldSet = {}
    for step, node in fields.items():
        if step == SELF:
            made[step] = node
            continue
        inner = _inner(wanted, step)
        below = with_structs(inner, node)
        if step[:2] == "f:" and step[2:] in wanted.fields and not is_member(node):
            below = {SELF: LEAF, **below}
        made[step] = below
    return made


def _inner(wanted: Shape, step: str) -> Shape:
    if step.startswith("f:"):
        return member(wanted, step[2:]) or DEDUCED
    return wanted.item or DEDUCED


def check(wanted: Shape, value: Any, place: str = "") -> Iterator[str]:
    """What does not fit its shape, a line each: `.spec.foo: field not declared in schema`."""
    if value is None:
        return
    sort = wanted.sort
    if sort is _ANY:
        return
    if sort is _STRUCT or sort is _MAP:
        yield from _check_map(wanted, value, place)
    elif sort is _LIST:
        yield from _check_list(wanted, value, place)
    else:
        problem = _SCALAR_PROBLEMS.get(sort)
        if problem is not None and (wrong := problem(value)):
            yield f"{place}: {wrong}"


def _check_map(wanted: Shape, value: Any, place: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{place}: expected map, got {_shown(value)}"
        return
    for key, entry in value.items():
        inner = member(wanted, key)
        if inner is None:
            yield f"{place}.{key}: field not declared in schema"
        else:
            yield from check(inner, entry, f"{place}.{key}")


def _check_list(wanted: Shape, value: Any, place: str) -> Iterator[str]:
    if not isinstance(value, list):
        yield f"{place}: expected list, got {_shown(value)}"
        return
    seen: set[str] = set()
    item = wanted.item or DEDUCED
    for index, entry in enumerate(value):
        step = f"i:{index}"
        if wanted.relation != "atomic":
            try:
                step = step_to(wanted, entry)
            except Untypable as wrong:
                yield f"{place}: element {index}: {wrong}"
                return
            if step in seen:
                yield f"{place}: duplicate entries for key {spelled(step)}"
            seen.add(step)
        yield from check(item, entry, place + spelled(step))


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return f"&{{{value}}}"
    return f"&{{{msgspec.json.encode(value).decode()}}}"


def _in_go(value: Any) -> str:
    """A value as Go's `%#v` prints it."""
    if isinstance(value, dict):
        entries = (f"{go_quoted(key)}:{_in_go(value[key])}" for key in sorted(value))
        return f"map[string]interface {{}}{{{', '.join(entries)}}}"
    if isinstance(value, list):
        return f"[]interface {{}}{{{', '.join(map(_in_go, value))}}}"
    return go_quoted(value) if isinstance(value, str) else msgspec.json.encode(value).decode()


def _go_type(value: Any) -> str:
    names = {str: "string", bool: "bool", dict: "map[string]interface {}", list: "[]interface {}"}
    return names.get(type(value), "int64")


def _not_a_string(value: Any) -> str:
    return "" if isinstance(value, str) else f"expected string, got &value.valueUnstructured{{Value:{_in_go(value)}}}"


def _not_numeric(value: Any) -> str:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return "" if is_number else f"expected numeric (int or float), got {_go_type(value)}"


def _not_a_boolean(value: Any) -> str:
    return "" if isinstance(value, bool) else f"expected boolean, got {_shown(value)}"


def _not_a_scalar(value: Any) -> str:
    return f"expected any scalar, got {_shown(value)}" if isinstance(value, (dict, list)) else ""


_SCALAR_PROBLEMS = {
    Sort.STRING: _not_a_string,
    Sort.BYTES: _not_a_string,
    Sort.INTEGER: _not_numeric,
    Sort.NUMBER: _not_numeric,
    Sort.BOOLEAN: _not_a_boolean,
    Sort.QUANTITY: _not_a_scalar,
    Sort.INTEGER_OR_STRING: _not_a_scalar,
    Sort.TIME: _not_a_scalar,
    Sort.MICRO_TIME: _not_a_scalar,
}
