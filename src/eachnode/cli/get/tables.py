"""Tables as the server makes them: it knows the columns of every kind, so nobody has to know them here."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from eachnode.client.cluster import Cluster
from eachnode.objects.meta import Metadata
from eachnode.objects.status import Status, error_from

ACCEPT = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
PAGE = 500  # Rows in a page of a list.
PAUSE = 1.0  # Seconds until a watch that the server ended is opened again.


class Column(msgspec.Struct, frozen=True):
    """One column; those of a priority above zero are for `-o wide`."""

    name: str
    priority: int = 0


class RowObject(msgspec.Struct, frozen=True):
    """What a row carries of its object."""

    metadata: Metadata


class Row(msgspec.Struct, frozen=True):
    """One object in cells."""

    cells: list[Any]
    object: RowObject


class ListMeta(msgspec.Struct, frozen=True, rename="camel"):
    """Where the page stands."""

    resource_version: str = ""
    continues: str = msgspec.field(default="", name="continue")


class Table(msgspec.Struct, frozen=True, rename="camel"):
    """A page of rows; in a watch the columns are told once."""

    kind: str
    column_definitions: list[Column] | None = None
    rows: list[Row] | None = None
    metadata: ListMeta = ListMeta()


class TableEvent(msgspec.Struct, frozen=True):
    """One change of a watch."""

    type: str
    object: msgspec.Raw


@dataclass(frozen=True, slots=True)
class Layout:
    """Which columns are shown."""

    wide: bool = False
    namespaces: bool = False
    labels: bool = False
    headers: bool = True
    prefix: str = ""  # Before every name, where several kinds are shown: `pod/`.


@dataclass(slots=True)
class Sheet:
    """Rows gathered from pages, as text."""

    layout: Layout
    columns: Sequence[Column] = ()
    version: str = ""
    rows: list[list[str]] = field(default_factory=list)

    @property
    def header(self) -> list[str]:
        """The names of the shown columns, as kubectl writes them."""
        names = [column.name.upper() for column in self._shown]
        before = ["NAMESPACE"] if self.layout.namespaces else []
        return [*before, *names, *(["LABELS"] if self.layout.labels else [])]

    @property
    def _shown(self) -> list[Column]:
        return [column for column in self.columns if self.layout.wide or not column.priority]

    def add(self, table: Table) -> None:
        """Take in the rows of a page."""
        if table.column_definitions:
            self.columns = table.column_definitions
        self.version = table.metadata.resource_version or self.version
        self.rows += [self.cells(row) for row in table.rows or ()]

    def cells(self, row: Row) -> list[str]:
        """The shown cells of a row."""
        pairs = zip(self.columns, row.cells, strict=True)
        cells = ["" if cell is None else str(cell) for column, cell in pairs if self.layout.wide or not column.priority]
        cells[0] = self.layout.prefix + cells[0]
        metadata = row.object.metadata
        before = [metadata.namespace] if self.layout.namespaces else []
        return [*before, *cells, *([_labels(metadata.labels)] if self.layout.labels else [])]


def _labels(labels: Mapping[str, str] | None) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted((labels or {}).items())) or "<none>"


async def read_table(cluster: Cluster, path: str, query: Mapping[str, str], sheet: Sheet) -> None:
    """All pages of a list into the sheet."""
    after = ""
    while True:
        page = {**query, "limit": str(PAGE), "continue": after}
        table = msgspec.json.decode(await cluster.fetch(path, page, accept=ACCEPT), type=Table)
        sheet.add(table)
        after = table.metadata.continues
        if not after:
            return


async def read_row(cluster: Cluster, path: str, sheet: Sheet) -> None:
    """One object into the sheet."""
    sheet.add(msgspec.json.decode(await cluster.fetch(path, accept=ACCEPT), type=Table))


async def watch_rows(cluster: Cluster, path: str, query: Mapping[str, str], sheet: Sheet) -> AsyncIterator[list[str]]:
    """The cells of each object that changes, for as long as the server remembers where we are."""
    version = sheet.version
    while True:
        follow = {**query, "watch": "true", "allowWatchBookmarks": "true", "resourceVersion": version}
        async for line in cluster.stream(path, follow, accept=ACCEPT):
            event = msgspec.json.decode(line, type=TableEvent)
            if event.type == "ERROR":
                raise error_from(msgspec.json.decode(event.object, type=Status))
            table = msgspec.json.decode(event.object, type=Table)
            if table.column_definitions:
                sheet.columns = table.column_definitions
            for row in table.rows or ():
                version = row.object.metadata.resource_version or version
                if event.type != "BOOKMARK":
                    yield sheet.cells(row)
        await asyncio.sleep(PAUSE)
