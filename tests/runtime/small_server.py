"""A very small API server in memory, for tests of what runs against any: versions, watches, merge patches, and failures
on demand. It knows no kinds and no rules."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import msgspec

from eachnode.client.door import PatchKind
from eachnode.objects.deletion import DeleteOptions
from eachnode.objects.document import Document
from eachnode.objects.meta import Key
from eachnode.objects.resources import Resource
from eachnode.objects.status import AlreadyExists, Conflict, Gone, Invalid, NotFound
from eachnode.objects.watching import ChangeType, Page, WatchEvent

Tree = dict[str, Any]


class SmallServer:
    """A door with objects behind it; `failures` are raised by the next requests, one each."""

    def __init__(self, *, streams_initial: bool = True) -> None:
        self.streams_initial = streams_initial
        self.version = 0
        self.oldest = 0
        self.objects: dict[tuple[Resource, Key], Tree] = {}
        self.log: list[tuple[int, Resource, WatchEvent]] = []
        self.failures: deque[Exception] = deque()
        self.requests: list[str] = []
        self.before_request: Callable[[str], None] = lambda _: None
        self._news = asyncio.Condition()
        self._connections = 0

    # What tests do to it

    def put(self, resource: Resource, tree: Tree, *, kind_of_change: ChangeType | None = None) -> Document:
        """Write an object as if somebody else had."""
        key = Key(tree["metadata"].get("namespace", ""), tree["metadata"]["name"])
        self.version += 1
        known = self.objects.get((resource, key))
        metadata = {"uid": f"uid-{self.version}"} | (known or {}).get("metadata", {}) | tree["metadata"]
        stored = {**tree, "metadata": metadata | {"resourceVersion": str(self.version)}}
        self.objects[(resource, key)] = stored
        return self._publish(resource, kind_of_change or ("MODIFIED" if known else "ADDED"), stored)

    def remove(self, resource: Resource, name: str, namespace: str = "") -> Document:
        """Delete an object as if somebody else had."""
        stored = self.objects.pop((resource, Key(namespace, name)))
        self.version += 1
        return self._publish(
            resource, "DELETED", {**stored, "metadata": stored["metadata"] | {"resourceVersion": str(self.version)}}
        )

    def bookmark(self, resource: Resource) -> None:
        """Tell watchers how far they are."""
        self.version += 1
        self._publish(resource, "BOOKMARK", {"metadata": {"resourceVersion": str(self.version)}})

    def forget_history(self) -> None:
        """Answer 410 to whoever resumes from before now."""
        self.oldest = self.version

    def break_connections(self) -> None:
        """End every watch."""
        self._connections += 1
        self._notify()

    # The door

    async def get(self, resource: Resource, name: str, namespace: str = "", *, subresource: str = "") -> Document:
        self._request(f"get {resource.plural}")
        return _document(self._stored(resource, name, namespace))

    async def list(
        self,
        resource: Resource,
        namespace: str = "",
        *,
        labels: str = "",
        fields: str = "",
        limit: int = 0,
        after: str = "",
        version: str = "",
    ) -> Page:
        self._request(f"list {resource.plural}")
        found = [_document(tree) for tree in self._selected(resource, namespace, fields)]
        begin = int(after or 0)
        end = begin + limit if limit else len(found)
        return Page(tuple(found[begin:end]), str(self.version), str(end) if end < len(found) else "")

    async def watch(
        self,
        resource: Resource,
        namespace: str = "",
        *,
        labels: str = "",
        fields: str = "",
        version: str = "",
        initial: bool = False,
        timeout: float | None = None,
    ) -> AsyncIterator[Sequence[WatchEvent]]:
        self._request(f"watch {resource.plural}")
        if initial and not self.streams_initial:
            raise Invalid("sendInitialEvents is forbidden")
        if initial:
            at = self.version
            present = [_event("ADDED", tree) for tree in self._selected(resource, namespace, fields)]
            yield [*present, WatchEvent("BOOKMARK", _document({"metadata": {"resourceVersion": str(at)}}), True)]
        else:
            at = int(version)
            if at < self.oldest:
                raise Gone(f"too old resource version: {version}")
        connection, ends = self._connections, asyncio.get_running_loop().time() + (timeout or 1e9)
        while connection == self._connections:
            batch = [event for when, of, event in self.log if when > at and of == resource]
            at = self.version
            if batch:
                yield batch
                continue
            try:
                async with asyncio.timeout_at(ends), self._news:
                    await self._news.wait()
            except TimeoutError:
                return

    async def create(
        self,
        resource: Resource,
        body: bytes,
        namespace: str = "",
        *,
        name: str = "",
        subresource: str = "",
        field_manager: str = "",
        dry_run: bool = False,
    ) -> Document:
        self._request(f"create {resource.plural}")
        tree: Tree = msgspec.json.decode(body)
        tree["metadata"].setdefault("namespace", namespace)
        if (resource, Key(namespace, tree["metadata"]["name"])) in self.objects:
            raise AlreadyExists(f"{tree['metadata']['name']} already exists")
        return self.put(resource, tree)

    async def update(
        self,
        resource: Resource,
        name: str,
        body: bytes,
        namespace: str = "",
        *,
        subresource: str = "",
        field_manager: str = "",
        dry_run: bool = False,
    ) -> Document:
        self._request(f"update {resource.plural}")
        tree: Tree = msgspec.json.decode(body)
        self._check_version(self._stored(resource, name, namespace), tree)
        return self.put(resource, tree)

    async def patch(
        self,
        resource: Resource,
        name: str,
        body: bytes,
        kind: PatchKind,
        namespace: str = "",
        *,
        subresource: str = "",
        field_manager: str = "",
        force: bool = False,
        dry_run: bool = False,
    ) -> Document:
        self._request(f"patch {resource.plural}")
        assert kind in (PatchKind.MERGE, PatchKind.STRATEGIC)
        stored, patch = self._stored(resource, name, namespace), msgspec.json.decode(body)
        self._check_version(stored, patch)
        return self.put(resource, _merged(stored, patch))

    async def delete(
        self, resource: Resource, name: str, namespace: str = "", *, options: DeleteOptions | None = None
    ) -> Document:
        self._request(f"delete {resource.plural}")
        self._stored(resource, name, namespace)
        return self.remove(resource, name, namespace)

    async def delete_collection(
        self, resource: Resource, namespace: str = "", *, labels: str = "", options: DeleteOptions | None = None
    ) -> None:
        self._request(f"deletecollection {resource.plural}")
        for tree in self._selected(resource, namespace, ""):
            self.remove(resource, tree["metadata"]["name"], tree["metadata"].get("namespace", ""))

    async def served(self) -> Sequence[Resource]:
        return sorted({of for of, _ in self.objects}, key=lambda of: (of.group, of.plural))

    # Inside

    def _request(self, what: str) -> None:
        self.before_request(what)
        self.requests.append(what)
        if self.failures:
            raise self.failures.popleft()

    def _stored(self, resource: Resource, name: str, namespace: str) -> Tree:
        try:
            return self.objects[(resource, Key(namespace, name))]
        except KeyError:
            raise NotFound(f"{resource.plural} {name} not found") from None

    def _selected(self, resource: Resource, namespace: str, fields: str) -> Sequence[Tree]:
        return [
            tree
            for (of, key), tree in sorted(self.objects.items(), key=lambda item: item[0][1])
            if of == resource and namespace in ("", key.namespace) and fields in ("", f"metadata.name={key.name}")
        ]

    def _check_version(self, stored: Tree, given: Tree) -> None:
        expected = given.get("metadata", {}).get("resourceVersion")
        if expected and expected != stored["metadata"]["resourceVersion"]:
            raise Conflict("the object has been modified")

    def _publish(self, resource: Resource, change: ChangeType, tree: Tree) -> Document:
        event = _event(change, tree)
        self.log.append((self.version, resource, event))
        self._notify()
        return event.document

    def _notify(self) -> None:
        async def tell() -> None:
            async with self._news:
                self._news.notify_all()

        self._telling = asyncio.ensure_future(tell())


def _document(tree: Tree) -> Document:
    return Document(msgspec.json.encode(tree))


def _event(change: ChangeType, tree: Tree) -> WatchEvent:
    return WatchEvent(change, _document(tree))


def _merged(old: Tree, patch: Tree) -> Tree:
    new = dict(old)
    for key, value in patch.items():
        if value is None:
            new.pop(key, None)
        elif isinstance(value, dict):
            new[key] = _merged(new.get(key) or {}, value)
        else:
            new[key] = value
    return new
