"""The part of JSONPath that printer columns and field selectors of custom kinds use.

`.spec.size`, `.status.addresses[0].ip`, `.metadata.labels['a/b']`, `.a[*].b`,
`.status.conditions[?(@.type=="Ready")].status`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, TypeAlias

Step: TypeAlias = (
    "str | int | tuple[str, str, Any] | None"  # A key, an index, all of them, or (key, comparison, value).
)

_STEP = re.compile(
    r"\.(?P<name>[^.\[\]'\"\s]+(?:\\\.[^.\[\]'\"\s]+)*)"
    r"|\[(?P<index>-?\d+)\]"
    r"|\[(?P<all>\*)\]"
    r"|\[['\"](?P<quoted>[^'\"]+)['\"]\]"
    r"|\[\?\(\s*@\.(?P<key>[\w.\-/]+)\s*(?P<how>==|!=)\s*(?P<value>'[^']*'|\"[^\"]*\"|[\w.\-]+)\s*\)\]"
)


@lru_cache(maxsize=512)
def parsed(path: str) -> tuple[Step, ...] | None:
    """The steps of a path; None when it is none."""
    steps: list[Step] = []
    at = 0
    path = path.replace("\\.", "\0")  # A dot that belongs to a key.
    while at < len(path):
        match = _STEP.match(path, at)
        if match is None:
            return None
        at = match.end()
        steps.append(_step(match))
    return tuple(steps)


def _step(match: re.Match[str]) -> Step:
    if match["name"] is not None:
        return None if match["name"] == "*" else match["name"].replace("\0", ".")
    if match["quoted"] is not None:
        return match["quoted"].replace("\0", ".")
    if match["index"] is not None:
        return int(match["index"])
    if match["key"] is not None:
        return match["key"], match["how"], _literal(match["value"])
    return None


def _literal(text: str) -> Any:
    if text[0] in "'\"":
        return text[1:-1]
    words = {"true": True, "false": False, "null": None}
    if text in words:
        return words[text]
    return int(text) if text.lstrip("-").isdigit() else text


def find(path: str, tree: Any) -> list[Any]:
    """Everything a path leads to, in order."""
    found = [tree]
    for step in parsed(path) or ():
        found = [inner for node in found for inner in _inside(node, step)]
    return found


def _inside(node: Any, step: Step) -> list[Any]:
    if isinstance(step, str):
        return [node[step]] if isinstance(node, dict) and step in node else []
    if isinstance(step, int):
        return [node[step]] if isinstance(node, list) and -len(node) <= step < len(node) else []
    entries = list(node.values()) if isinstance(node, dict) else node if isinstance(node, list) else []
    if step is None:
        return entries
    key, how, value = step
    return [entry for entry in entries if (_first(entry, key) == value) == (how == "==")]


def _first(entry: Any, key: str) -> Any:
    found = find(f".{key}", entry)
    return found[0] if found else None
