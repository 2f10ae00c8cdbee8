"""What lists and watches hand out: pages of documents, and changes to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from eachnode.objects.document import Document

ChangeType = Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """One line of a watch. A bookmark's document holds its `metadata.resourceVersion` and little else."""

    type: ChangeType
    document: Document
    initial_end: bool = False  # A bookmark that ends the initial objects.


@dataclass(frozen=True, slots=True)
class Page:
    """Some objects, the version they are true at, and where the next page begins (empty at the end)."""

    documents: tuple[Document, ...]
    version: str
    continues: str = ""
    remaining: int | None = None
