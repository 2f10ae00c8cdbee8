"""Whatever becomes of a good object on its way – a value turned into another, anywhere – no answer is our failure."""

from __future__ import annotations

import asyncio
import copy
import json
import os
import random
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.processes import Server, started
from tests.replay.player import Client
from tests.server.http.sites import Site, running
from tests.server.valid_objects import ACTIONS, HOME, OBJECTS

pytestmark = [pytest.mark.sockets, pytest.mark.xdist_group("hardening")]

REQUESTS = int(os.environ.get("EACHNODE_FUZZ_REQUESTS", "6000"))
SEED = int(os.environ.get("EACHNODE_FUZZ_SEED", "1"))
STATUS = ("pods", "nodes", "namespaces", "daemonsets", "resourcequotas", "poddisruptionbudgets", "services", "widgets")
PATCHES = ("json", "merge", "strategic-merge", "apply")
ODD: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 1 << 31, 1 << 63, 1 << 70, 1.5, -0.0, 1e300),
    *(
        "",
        " ",
        "a",
        "A",
        "a.b/c",
        "/",
        "a/b/c",
        "-",
        "ü",
        "\x00",
        "\ud800",
        "9" * 70,
        "1Gi",
        "1e3",
        "1e99999999",
        "50%",
        "-5%",
    ),
    *("2026-01-01T00:00:00Z", "2026-13-01T00:00:00Z", "10.0.0.1", "::1", "[", "(", "^(a+)+$", "$(A)", "{.a[?(@.b)]}"),
    *([], {}, [None], [[]], [{}], {"": None}, {"a": {"b": []}}, [1, "a", None], {"name": "one"}),
)


class Mischief:
    """Turns good requests into bad ones, reproducibly."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)

    def request(self) -> tuple[str, str, bytes, str]:
        """Method, path, body, media type."""
        chance = self.chance
        if chance.random() < 0.12:
            path, tree = chance.choice(list(ACTIONS.items()))
            return "POST", path, self._body(self.bent(tree)), "application/json"
        path, tree = chance.choice(list(OBJECTS.items()))
        name = str(tree["metadata"]["name"])
        how = chance.choice(("POST", "PUT", "PUT", "DELETE", *PATCHES, *PATCHES))
        if how == "POST":
            tree = {**tree, "metadata": {**tree["metadata"], "name": chance.choice(("one", "two", ""))}}
            return "POST", f"{path}{self._query()}", self._body(self.bent(tree)), "application/json"
        status = "/status" if path.rpartition("/")[2] in STATUS and chance.random() < 0.3 else ""
        target = f"{path}/{name}{status}{self._query()}"
        if how == "PUT":
            return "PUT", target, self._body(self.bent(tree)), chance.choice(("application/json", "application/yaml"))
        if how == "DELETE":
            return (
                "DELETE",
                target if chance.random() < 0.8 else path,
                self._body(self.bent(DELETE_OPTIONS)),
                "application/json",
            )
        media = f"application/{how}-patch+{'yaml' if how == 'apply' else 'json'}"
        return "PATCH", target, self._body(self._patch(how, tree)), media

    def bent(self, tree: Any) -> Any:
        """A copy with a few values turned into others, or moved to where they do not belong."""
        tree = copy.deepcopy(tree)
        for _ in range(self.chance.choice((0, 1, 1, 1, 2, 3))):
            if not (places := list(_places(tree))):
                break
            container, key = self.chance.choice(places)
            what = self.chance.random()
            if what < 0.6:
                container[key] = copy.deepcopy(self.chance.choice(ODD))
            elif what < 0.75:
                other, from_key = self.chance.choice(places)
                container[key] = copy.deepcopy(other[from_key])
            elif what < 0.85:
                del container[key]
            elif isinstance(container, list):
                container.append(copy.deepcopy(container[key]))
            else:
                container[self.chance.choice(("x", "$patch", "$retainKeys", "$setElementOrder/containers", "name"))] = (
                    copy.deepcopy(self.chance.choice((*ODD, "replace", "delete", "merge")))
                )
        return tree

    def _patch(self, how: str, tree: Any) -> Any:
        if how == "json":
            return [self._operation(tree) for _ in range(self.chance.randrange(4))]
        if how == "apply" or self.chance.random() < 0.3:
            return self.bent(tree)
        part = self.chance.choice([key for key in tree if key not in ("apiVersion", "kind")])
        return self.bent({part: tree[part]})

    def _operation(self, tree: Any) -> Any:
        chance = self.chance
        paths = [*_pointers(tree), "", "/", "/metadata/labels/-", "/spec/-", "/metadata/managedFields/0", "/status"]
        return {
            "op": chance.choice(("add", "remove", "replace", "move", "copy", "test")),
            "path": chance.choice(paths),
            "from": chance.choice(paths),
            "value": chance.choice(ODD),
        }

    def _query(self) -> str:
        options = (
            "dryRun=All",
            "fieldManager=m",
            "force=true",
            "fieldValidation=Strict",
            "fieldValidation=Warn",
            "dryRun=x",
        )
        return "?fieldManager=f&" + "&".join(option for option in options if self.chance.random() < 0.15)

    def _body(self, value: Any) -> bytes:
        return json.dumps(value).encode()


DELETE_OPTIONS = {
    "gracePeriodSeconds": 1,
    "propagationPolicy": "Foreground",
    "orphanDependents": None,
    "preconditions": {"uid": "u", "resourceVersion": "1"},
    "dryRun": ["All"],
}


def _places(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in a tree that holds a value: its container and the key there."""
    entries: Any = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in entries:
        yield tree, key
        yield from _places(value)


def _pointers(tree: Any, above: str = "") -> Iterator[str]:
    entries: Any = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in entries:
        here = f"{above}/{str(key).replace('~', '~0').replace('/', '~1')}"
        yield here
        yield from _pointers(value, here)


async def furnished(site: Site) -> None:
    """Puts a good object of each kind in place."""
    await site.call("POST /api/v1/namespaces", {"metadata": {"name": HOME}})
    for path, tree in OBJECTS.items():
        made = await site.call(f"POST {path}", tree)
        while "example.com" in path and made.status == 404:  # Until the definition is established.
            made = await site.call(f"POST {path}", tree)
        if made.status == 409:
            await site.call(f"PUT {path}/{tree['metadata']['name']}", tree)


async def test_the_objects_that_are_bent_are_good_ones() -> None:
    async with running() as site:
        await furnished(site)
        for path, tree in OBJECTS.items():
            assert (await site.call(f"GET {path}/{tree['metadata']['name']}")).status == 200


async def test_no_good_object_bent_anywhere_makes_the_server_fail() -> None:
    async with running() as site:
        await furnished(site)
        mischief, found, codes = Mischief(SEED), [], set()
        for number in range(1, REQUESTS + 1):
            method, path, body, media = mischief.request()
            headers = {"Authorization": "Bearer a-secret", "Content-Type": media}
            async with site.session.request(method, f"{site.front.url}{path}", data=body, headers=headers) as answer:
                text = await answer.text()
            codes.add(answer.status)
            if answer.status >= 500 and "reason" in yaml.safe_load(text):
                found.append(f"{method} {path} {media} {body!r}\n-> {text}")
            if number % 300 == 0:
                await furnished(site)
        assert not found, f"{len(found)} failures\n" + "\n\n".join(found[:6])
        assert {200, 201, 400, 409, 422} <= codes
        assert (await site.call("GET /readyz")).body == "ok"
        for path in OBJECTS:
            assert (await site.call(f"GET {path}")).status == 200


async def test_a_thousand_watchers_each_see_every_event() -> None:
    watchers, events = 1000, 10
    path = f"/api/v1/namespaces/{HOME}/configmaps"
    names = [f"event-{number}" for number in range(events)]
    with many_files(watchers + 500), started("server", "--insecure-http") as server:
        client = Client(server.url, server.token)
        assert client.call("POST /api/v1/namespaces", {"metadata": {"name": HOME}})[0] == 201
        begun = asyncio.Semaphore(0)
        request = f"GET {path}?watch=true&fieldSelector=metadata.name!=kube-root-ca.crt HTTP/1.1\r\nHost: x\r\n"
        watching = [
            asyncio.create_task(
                seen_by_watcher(server, f"{request}Authorization: Bearer secret\r\n\r\n", begun, events)
            )
            for _ in range(watchers)
        ]
        for _ in range(watchers):
            await begun.acquire()
        for name in names:
            assert (await asyncio.to_thread(client.call, f"POST {path}", {"metadata": {"name": name}}))[0] == 201
        seen = await asyncio.gather(*watching)
    assert seen == [names] * watchers


async def seen_by_watcher(server: Server, request: str, begun: asyncio.Semaphore, events: int) -> list[str]:
    """The names that a watcher is told, once it has been told so many."""
    host, port = server.url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        writer.write(request.encode())
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200"), head
        begun.release()
        found: list[str] = []
        while len(found) < events:
            line = await reader.readline()
            if line.startswith(b"{"):
                event = json.loads(line)
                assert event["type"] == "ADDED"
                found.append(event["object"]["metadata"]["name"])
        return found
    finally:
        writer.close()


@contextmanager
def many_files(wanted: int) -> Iterator[None]:
    """Leave to have so many files open, here and in what is started meanwhile."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < wanted:
        pytest.skip(f"only {hard} files may be open here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_full_disk_is_told_and_nothing_acknowledged_is_lost(tmp_path: Path) -> None:
    acknowledged, refusal = set(), {}
    with files_no_longer_than(3 << 20), started("server", "--data-dir", str(tmp_path)) as server:
        client = Client(server.url, server.token)
        for number in range(200):
            body = {"metadata": {"name": f"big-{number}"}, "data": {"k": "v" * 100_000}}
            status, answer, _ = client.call("POST /api/v1/namespaces/default/configmaps", body)
            if status != 201:
                refusal = answer
                break
            acknowledged.add(f"big-{number}")
        assert refusal["reason"] in ("InternalError", "ServiceUnavailable")
        assert "disk" in refusal["message"]
        assert acknowledged
        assert big_ones(client) == acknowledged
        status, health, _ = client.call("GET /readyz?verbose")
        assert status == 500
        assert "[-]storage" in health
    with started("server", "--data-dir", str(tmp_path)) as server:
        client = Client(server.url, server.token)
        assert big_ones(client) == acknowledged
        assert client.call("POST /api/v1/namespaces/default/configmaps", {"metadata": {"name": "small"}})[0] == 201


def big_ones(client: Client) -> set[str]:
    """The names of the objects that fill the disk."""
    items = client.call("GET /api/v1/namespaces/default/configmaps")[1]["items"]
    return {item["metadata"]["name"] for item in items if item["metadata"]["name"].startswith("big-")}


@contextmanager
def files_no_longer_than(size: int) -> Iterator[None]:
    """What is started meanwhile can write no more than this to any file, as if the disk were full then."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
