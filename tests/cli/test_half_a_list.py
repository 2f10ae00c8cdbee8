"""A server that dies within a list: no output that looks whole, and never the exit code of success."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from eachnode.cli.events import show_events
from eachnode.cli.failures import UNREACHABLE, explain_failure
from eachnode.cli.get.showing import Asked, show
from eachnode.cli.get.tables import Layout
from eachnode.cli.top import answer as top
from eachnode.cli.why import answer as why
from eachnode.objects.document import Document
from eachnode.objects.resources import DAEMON_SETS, Resource
from eachnode.objects.status import Unreachable
from eachnode.objects.watching import Page
from eachnode.runtime.clock import SystemClock
from tests.worlds import daemon_set


class DiesWithinLists:
    """A door that gives the first page of any list, and then is gone."""

    async def get(self, resource: Resource, name: str, namespace: str = "", **options: Any) -> Document:
        assert resource is DAEMON_SETS
        return Document(msgspec.json.encode(daemon_set(name)))

    async def list(self, resource: Resource, namespace: str = "", **options: Any) -> Page:
        if options.get("after"):
            raise Unreachable("https://there: cannot connect: Connection refused")
        one = Document(b'{"metadata":{"name":"first","namespace":"default","uid":"u"}}')
        return Page((one,), "1", "more", None)

    async def fetch(self, path: str, query: dict[str, str], **options: Any) -> bytes:
        if query.get("continue"):
            raise Unreachable("https://there: cannot connect: Connection refused")
        column, row = {"name": "Name"}, {"cells": ["first"], "object": {"metadata": {"name": "first"}}}
        table = {"kind": "Table", "columnDefinitions": [column], "rows": [row], "metadata": {"continue": "more"}}
        return msgspec.json.encode(table)


@pytest.mark.parametrize("output", [None, "json", "yaml", "name"])
async def test_get_ends_in_an_error_and_cut_json_is_no_json(
    output: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    door: Any = DiesWithinLists()
    with pytest.raises(Unreachable) as failure:
        await show(door, Asked.of(["pods"]), "default", Layout(), output, watch=False)
    assert explain_failure(failure.value)[1] == UNREACHABLE
    said = capsys.readouterr().out
    assert ("first" in said) == (output is not None)  # A table is laid out when all of it is known.
    if output == "json":
        with pytest.raises(json.JSONDecodeError):
            json.loads(said)


async def test_why_top_and_events_say_nothing_of_what_they_know_by_half(capsys: pytest.CaptureFixture[str]) -> None:
    door: Any = DiesWithinLists()
    for asked in (
        why(door, SystemClock(), "ds/d", "default"),
        top(door, "default"),
        show_events(door, "default", lambda _: True, None, 0.0),
    ):
        with pytest.raises(Unreachable):
            await asked
    assert capsys.readouterr().out == ""
