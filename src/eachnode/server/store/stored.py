"""One object as the store keeps it: its JSON, encoded once, and what selectors ask of it, at hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from eachnode.objects.document import Document

Tree = dict[str, Any]
FieldReaders = Mapping[str, Callable[[Tree], str]]
NO_VALUES: Mapping[str, str] = {}


class Stored:
    """One version of one object; never changed, only replaced."""

    __slots__ = ("born", "document", "expires", "fields", "labels", "name", "namespace", "path", "uid", "version")

    def __init__(
        self,
        document: Document,
        *,
        namespace: str,
        name: str,
        uid: str,
        version: int,
        labels: Mapping[str, str] = NO_VALUES,
        fields: Mapping[str, str] = NO_VALUES,
        born: int = 0,
        expires: float | None = None,
    ) -> None:
        self.document = document
        self.namespace = namespace
        self.name = name
        self.path = path_of(namespace, name)
        self.uid = uid
        self.version = version
        self.labels = labels
        self.fields = fields
        self.born = born  # The version it was created at, which also numbers its row in the database.
        self.expires = expires

    def field(self, name: str) -> str | None:
        """What a field selector compares; None when this kind has no such field."""
        if name == "metadata.name":
            return self.name
        if name == "metadata.namespace":
            return self.namespace
        return self.fields.get(name)


def path_of(namespace: str, name: str) -> str:
    """An object's place among those of its kind; objects are listed in the order of these."""
    return f"{namespace}/{name}" if namespace else name


def stored_from(
    tree: Tree, raw: bytes, readers: FieldReaders, *, version: int, born: int, expires: float | None
) -> Stored:
    """The stored form of an object whose JSON is `raw` and says the same as `tree`."""
    metadata = tree["metadata"]
    return Stored(
        Document(raw),
        namespace=metadata.get("namespace", ""),
        name=metadata["name"],
        uid=metadata.get("uid", ""),
        version=version,
        labels=metadata.get("labels") or NO_VALUES,
        fields={name: read(tree) for name, read in readers.items()} if readers else NO_VALUES,
        born=born,
        expires=expires,
    )


class _Labelled(msgspec.Struct):
    name: str
    namespace: str = ""
    uid: str = ""
    labels: dict[str, str] | None = None


class _Head(msgspec.Struct):
    metadata: _Labelled


_READ_HEAD = msgspec.json.Decoder(_Head)
_PARTS = msgspec.json.Decoder(dict[str, msgspec.Raw])


def stored_from_row(raw: bytes, readers: FieldReaders, *, version: int, born: int, expires: float | None) -> Stored:
    """The stored form of a row of the database; only kinds with selectable fields are decoded whole."""
    if readers:
        tree = msgspec.json.decode(raw)
        return stored_from(tree, raw, readers, version=version, born=born, expires=expires)
    head = _READ_HEAD.decode(raw).metadata
    return Stored(
        Document(raw),
        namespace=head.namespace,
        name=head.name,
        uid=head.uid,
        version=version,
        labels=head.labels or NO_VALUES,
        born=born,
        expires=expires,
    )


def at_version(document: Document, version: int) -> Document:
    """The same object at another version; every other byte stays as it is."""
    parts = _PARTS.decode(document.raw)
    metadata = _PARTS.decode(parts["metadata"])
    metadata["resourceVersion"] = msgspec.Raw(b'"%d"' % version)
    parts["metadata"] = msgspec.Raw(msgspec.json.encode(metadata))
    return Document(msgspec.json.encode(parts))
