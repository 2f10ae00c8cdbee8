"""Makes answers of different runs comparable: what differs from run to run becomes a symbol, in order of appearance.

Uids, generated names, revision hashes, versions and times differ each time; that two of them are the *same* must not.
So a value becomes the same symbol wherever it appears, and everything else must be equal.
"""

from __future__ import annotations

import json
import re
from typing import Any

TIMES = frozenset(
    {
        "creationTimestamp",
        "deletionTimestamp",
        "lastTransitionTime",
        "lastHeartbeatTime",
        "lastProbeTime",
        "lastUpdateTime",
        "startTime",
        "startedAt",
        "finishedAt",
        "firstTimestamp",
        "lastTimestamp",
        "eventTime",
        "renewTime",
        "acquireTime",
        "time",
    }
)
DROPPED = frozenset({"managedFields", "selfLink"})
KINDS = {"uid": "uid", "controller-revision-hash": "hash"}
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_EVENT_NAME = re.compile(r"\.[0-9a-f]{14,16}\b")


class Symbols:
    """The symbols of one recording."""

    def __init__(self, run: str) -> None:
        self._known = {run: "RUN"}
        self._counts: dict[str, int] = {}

    def learn(self, tree: Any) -> None:
        """Take notice of every value in an answer that differs from run to run."""
        if isinstance(tree, list):
            for value in tree:
                self.learn(value)
        if not isinstance(tree, dict):
            return
        self._learn_generated(tree.get("metadata"))
        for key, value in sorted(tree.items()):
            if key == "continue" and isinstance(value, str) and value:
                self._known[value] = "<continue>"
            elif key in KINDS:
                self._number(KINDS[key], value)
            self.learn(value)

    def _learn_generated(self, metadata: Any) -> None:
        """Objects with generated names stay unnumbered: their order is random."""
        if isinstance(metadata, dict) and metadata.get("generateName") and metadata.get("name"):
            self._known[metadata["name"]] = f"<{metadata['generateName']}*>"
            if metadata.get("uid"):
                self._known[metadata["uid"]] = f"<uid of {metadata['generateName']}*>"

    def _number(self, kind: str, value: Any) -> None:
        if isinstance(value, str) and value and value not in self._known:
            self._counts[kind] = self._counts.get(kind, 0) + 1
            self._known[value] = f"<{kind}-{self._counts[kind]}>"

    def text(self, value: str) -> str:
        """The text with every known value replaced, longest first."""
        for real in sorted(self._known, key=len, reverse=True):
            if len(real) > 4 and real in value:
                value = value.replace(real, self._known[real])
        return value

    def normal(self, tree: Any, key: str = "") -> Any:
        """The answer as it is compared."""
        if isinstance(tree, dict):
            return {
                self._key(name, value): self._value(name, value) for name, value in tree.items() if name not in DROPPED
            }
        if isinstance(tree, list):
            values = [self.normal(value) for value in tree]
            if key == "items" and any(_is_generated(value) for value in values):
                values.sort(key=_as_text)
            return values
        if isinstance(tree, str):
            return _MOMENT.sub("<time>", _EVENT_NAME.sub(".<event>", self.text(tree)))
        return tree

    def _key(self, name: str, value: Any) -> str:
        masked = isinstance(value, str) and (name in TIMES or name == "resourceVersion")
        return name if masked else self.text(name)

    def _value(self, name: str, value: Any) -> Any:
        if name in TIMES and isinstance(value, str):
            return "<time>"
        if name == "resourceVersion" and isinstance(value, str):
            return "<version>" if value else ""
        return self.normal(value, name)


def _is_generated(value: Any) -> bool:
    return isinstance(value, dict) and bool(value.get("metadata", {}).get("generateName"))


def _as_text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def sorted_deeply(value: Any) -> Any:
    """Every list in order, for answers whose order is not promised."""
    if not isinstance(value, dict):
        return value
    return {
        key: sorted((sorted_deeply(each) for each in inner), key=_as_text)
        if isinstance(inner, list)
        else sorted_deeply(inner)
        for key, inner in value.items()
    }


def dig(tree: Any, path: str) -> Any:
    """What stands at a path: `metadata.labels['a/b']`, `items[0].x`, `items[*].x`, `items.length`."""
    for quoted, index, plain in re.findall(r"\['([^']+)'\]|\[(\d+|\*)\]|([^.\[\]]+)", path):
        if index == "*":
            rest = path.split("[*]", 1)[1].lstrip(".")
            return [dig(each, rest) if rest else each for each in tree or []]
        if index:
            tree = tree[int(index)] if isinstance(tree, list) and len(tree) > int(index) else None
        elif plain == "length" and (tree is None or isinstance(tree, list)):
            tree = len(tree or [])
        else:
            tree = tree.get(quoted or plain) if isinstance(tree, dict) else None
    return tree


def fill(tree: Any, saved: dict[str, Any]) -> Any:
    """The step with `<name>` replaced by what was saved under that name."""
    if isinstance(tree, dict):
        return {fill(key, saved): fill(value, saved) for key, value in tree.items()}
    if isinstance(tree, list):
        return [fill(value, saved) for value in tree]
    if isinstance(tree, str):
        whole = re.fullmatch(r"<(\w+)>", tree)
        if whole:
            return saved.get(whole[1], tree)
        return re.sub(r"<(\w+)>", lambda match: str(saved.get(match[1], match[0])), tree)
    return tree
