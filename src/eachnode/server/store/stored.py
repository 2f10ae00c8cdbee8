"""One object as the store keeps it: its JSON, encoded once, and what selectors ask of it, at hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from eachnode.objects.document import Document

Tree = dict[str, Any]
FieldReader = Callable[[Tree], str]
NO_VALUES: Mapping[str, str] = {}


@dataclass(slots=True)
class FieldReaders:
    """The selectable fields of a kind: those read from every object as it is written, and those read when asked for."""

    at_once: Mapping[str, FieldReader] = field(default_factory=dict)
    late: dict[str, FieldReader] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Place:
    """Where one version of an object stands in the store."""

    version: int
    born: int  # The version the object was created at, which also numbers its row in the database.
    expires: float | None = None


class Stored:
    """One version of one object; never changed, only replaced."""

    __slots__ = (
        "_fields",
        "_readers",
        "born",
        "document",
        "expires",
        "labels",
        "name",
        "namespace",
        "path",
        "uid",
        "version",
    )

    def __init__(
        self,
        document: Document,
        place: Place,
        readers: FieldReaders,
        *,
        namespace: str,
        name: str,
        uid: str,
        labels: Mapping[str, str],
        fields: Mapping[str, str] = NO_VALUES,
    ) -> None:
        self.document = document
        self.version = place.version
        self.born = place.born
        self.expires = place.expires
        self.namespace = namespace
        self.name = name
        self.path = path_of(namespace, name)
        self.uid = uid
        self.labels = labels
        self._fields = fields
        self._readers = readers

    def field(self, name: str) -> str | None:
        """What a field selector compares; None when this kind has no such field."""
        known = self._fields.get(name)
        if known is not None:
            return known
        if name == "metadata.name":
            return self.name
        if name == "metadata.namespace":
            return self.namespace
        reader = self._readers.late.get(name)
        if reader is None:
            return None
        value = reader(self.document.tree())
        self._fields = {**self._fields, name: value}
        return value


def path_of(namespace: str, name: str) -> str:
    """An object's place among those of its kind; objects are listed in the order of these."""
    return f"{namespace}/{name}" if namespace else name


def stored_from(tree: Tree, raw: bytes, readers: FieldReaders, place: Place) -> Stored:
    """The stored form of an object whose JSON is `raw` and says the same as `tree`."""
    metadata = tree["metadata"]
    return Stored(
        Document(raw),
        place,
        readers,
        namespace=metadata.get("namespace", ""),
        name=metadata["name"],
        uid=metadata.get("uid", ""),
        labels=metadata.get("labels") or NO_VALUES,
        fields={name: read(tree) for name, read in readers.at_once.items()} if readers.at_once else NO_VALUES,
    )


class _About(msgspec.Struct):
    name: str
    namespace: str = ""
    uid: str = ""
    labels: dict[str, str] | None = None


class _Head(msgspec.Struct):
    metadata: _About


_READ_HEAD = msgspec.json.Decoder(_Head)
_PARTS = msgspec.json.Decoder(dict[str, msgspec.Raw])


def stored_from_row(raw: bytes, readers: FieldReaders, place: Place) -> Stored:
    """The stored form of a row of the database; only kinds with selectable fields are decoded whole."""
    if readers.at_once:
        return stored_from(msgspec.json.decode(raw), raw, readers, place)
    about = _READ_HEAD.decode(raw).metadata
    return Stored(
        Document(raw),
        place,
        readers,
        namespace=about.namespace,
        name=about.name,
        uid=about.uid,
        labels=about.labels or NO_VALUES,
    )


def at_version(document: Document, version: int) -> Document:
    """The same object at another version; every other byte stays as it is."""
    parts = _PARTS.decode(document.raw)
    metadata = _PARTS.decode(parts["metadata"])
    metadata["resourceVersion"] = msgspec.Raw(b'"%d"' % version)
    parts["metadata"] = msgspec.Raw(msgspec.json.encode(metadata))
    return Document(msgspec.json.encode(parts))
