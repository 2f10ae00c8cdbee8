"""Other shapes of objects and lists: rows of a Table, or their metadata alone.

The bytes of `metadata` are taken over as they are; nothing else of an object is decoded unless its row needs it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from eachnode.objects.document import Document
from eachnode.objects.status import NotAcceptable
from eachnode.objects.watching import Page
from eachnode.server.http.negotiation import META_GROUP, Form
from eachnode.server.kind import Column, Kind, Tree
from eachnode.server.schema import canonical
from eachnode.server.schema.decoding import internal_type


class _Metadata(msgspec.Struct):
    metadata: msgspec.Raw


class _Version(msgspec.Struct, rename="camel"):
    resource_version: str = ""


class _Versioned(msgspec.Struct):
    metadata: _Version


_METADATA = msgspec.json.Decoder(_Metadata)
_NEVER = "0001-01-01T00:00:00Z"  # How the reference prints a moment that is none.
_ENCODER = msgspec.json.Encoder()


@dataclass(frozen=True, slots=True)
class Shaper:
    """Turns objects of one kind into the shape that was agreed upon."""

    kind: Kind
    form: Form
    include: str = "Metadata"  # What a Table's rows carry of their object: Metadata, Object or None.

    def one(self, document: Document, now: float) -> bytes:
        """One object."""
        match self.form.shape:
            case "Table":
                return self.table([document], {"resourceVersion": version_of(document)}, now)
            case "PartialObjectMetadata":
                return self.partial(document)
            case "PartialObjectMetadataList":
                raise self._mismatch("not a list", self.kind.resource.kind)
            case _:
                return bytes(document.raw)

    def many(self, page: Page, now: float) -> bytes:
        """A page of a list."""
        match self.form.shape:
            case "Table":
                return self.table(page.documents, list_metadata(page), now)
            case "PartialObjectMetadataList":
                items = (self.partial(document) for document in page.documents)
                head = {"kind": "PartialObjectMetadataList", "apiVersion": self._meta_version}
                return list_text(head, list_metadata(page), items)
            case "PartialObjectMetadata":
                raise self._mismatch("a list", f"{self.kind.resource.kind}List")
            case _:
                return plain_list(self.kind, page)

    def table(self, documents: Sequence[Document], metadata: Tree, now: float, *, headers: bool = True) -> bytes:
        """Objects as rows, under column definitions unless they were sent before."""
        columns = [_column(column) for column in self.kind.columns] if headers else None
        rows = [self._row(document, now) for document in documents]
        head = {"kind": "Table", "apiVersion": self._meta_version, "metadata": metadata}
        return _ENCODER.encode({**head, "columnDefinitions": columns, "rows": rows})

    def partial(self, document: Document) -> bytes:
        """The metadata of an object, as an object."""
        metadata: bytes | msgspec.Raw = _METADATA.decode(document.raw).metadata
        if self.kind.field_annotations:
            metadata = _without_annotations(metadata, self.kind.field_annotations)
        head = b'{"kind":"PartialObjectMetadata","apiVersion":"%b","metadata":' % self._meta_version.encode()
        return head + bytes(metadata) + b"}"

    @property
    def _meta_version(self) -> str:
        return f"{META_GROUP}/{self.form.version or 'v1'}"

    def _row(self, document: Document, now: float) -> Tree:
        tree = document.tree()
        row: Tree = {"cells": self._cells(tree, now)}
        if self.include == "Object":
            row["object"] = tree
        elif self.include == "Metadata":
            row["object"] = msgspec.Raw(self.partial(document))
        else:
            row["object"] = None
        return row

    def _cells(self, tree: Tree, now: float) -> list[Any]:
        if self.kind.row is not None:
            return self.kind.row(tree, now)
        metadata = tree["metadata"]
        return [metadata.get("name", ""), metadata.get("creationTimestamp", _NEVER)]

    def cells_of_nothing(self, document: Document) -> list[Any]:
        """The row of an object that has nothing but a kind and a version."""
        tree, definition = document.tree(), self.kind.definition
        return self._cells(canonical(definition, tree) if definition else tree, 0.0)

    def _mismatch(self, what: str, name: str) -> NotAcceptable:
        called = internal_type(self.kind.resource, name) if self.kind.definition else "unstructured.Unstructured"
        return NotAcceptable(f"you requested {self.form.shape}, but the requested object is {what} (*{called})")


def _without_annotations(metadata: bytes | msgspec.Raw, keys: Iterable[str]) -> bytes:
    """The same metadata, less these annotations."""
    tree = msgspec.json.decode(metadata)
    left = {key: value for key, value in (tree.pop("annotations", None) or {}).items() if key not in keys}
    return _ENCODER.encode({**tree, "annotations": left} if left else tree)


class TableWatch:
    """A watch whose events are Tables of one row; only the first carries the column definitions."""

    def __init__(self, shaper: Shaper) -> None:
        self._shaper = shaper
        self._told_columns = False

    def one(self, document: Document, now: float, *, bookmark: bool) -> bytes:
        """The Table of one event."""
        headers, self._told_columns = not self._told_columns, True
        version = {"resourceVersion": version_of(document)}
        if bookmark:
            return self._bookmark(document, version, headers=headers)
        return self._shaper.table([document], version, now, headers=headers)

    def _bookmark(self, document: Document, version: Tree, *, headers: bool) -> bytes:
        """The row of an object without content; its object says how far the watch has come."""
        shaper = self._shaper
        table = msgspec.json.decode(shaper.table([], version, 0.0, headers=headers))
        table["rows"] = [{"cells": shaper.cells_of_nothing(document), "object": msgspec.Raw(shaper.partial(document))}]
        return _ENCODER.encode(table)


def plain_list(kind: Kind, page: Page) -> bytes:
    """A list of whole objects; those of built-in kinds leave it to the list to say what they are."""
    resource = kind.resource
    head = {"kind": f"{resource.kind}List", "apiVersion": resource.api_version}
    said = f'"kind":"{resource.kind}","apiVersion":"{resource.api_version}",'.encode() if kind.definition else b""
    # The store writes every object with these two first.
    items = (b"{" + bytes(document.raw).removeprefix(b"{" + said).removeprefix(b"{") for document in page.documents)
    metadata = list_metadata(page)
    if not kind.definition:
        metadata.setdefault("continue", "")  # The reference keeps custom kinds' lists untyped, and writes it always.
    return list_text(head, metadata, items)


def list_text(head: Tree, metadata: Tree, items: Iterable[bytes]) -> bytes:
    """The text of a list whose items are text already."""
    start = _ENCODER.encode({**head, "metadata": metadata})
    return b'%b,"items":[%b]}' % (start[:-1], b",".join(items))


def list_metadata(page: Page) -> Tree:
    """Where a page stands."""
    metadata: Tree = {"resourceVersion": page.version}
    if page.continues:
        metadata["continue"] = page.continues
    if page.remaining is not None:
        metadata["remainingItemCount"] = page.remaining
    return metadata


def version_of(document: Document) -> str:
    """An object's resourceVersion."""
    return document.read(_Versioned).metadata.resource_version


def _column(column: Column) -> Tree:
    return {
        "name": column.name,
        "type": column.type,
        "format": column.format,
        "description": column.description,
        "priority": column.priority,
    }
