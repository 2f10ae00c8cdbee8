"""Serves the kinds that definitions bring, as long as there are their definitions.

A definition is seen the moment it is committed: its kinds are served before its writer gets an answer. What then has to
be written (that its names are accepted, that its objects are gone) is written a moment later, one definition at a time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from eachnode.objects.document import Document
from eachnode.objects.resources import CUSTOM_RESOURCE_DEFINITIONS, Resource
from eachnode.objects.status import ApiError, NotFound
from eachnode.server.api_server import OURSELVES, ApiServer
from eachnode.server.kind import Call, Tree
from eachnode.server.kinds.custom_resource_definitions import CLEANUP, condition, is_true, set_condition
from eachnode.server.kinds.custom_resources import resources, served_kinds
from eachnode.server.store import Shelf
from eachnode.server.verbs.update import modify


class CustomKinds:
    """The definitions of one server, and what they bring."""

    def __init__(self, server: ApiServer) -> None:
        self._server = server
        self._definitions: dict[str, Tree] = {}
        self._followed: dict[str, Shelf] = {}
        self._waiting: dict[str, None] = {}
        self._worker: asyncio.Task[None] | None = None
        server.follow(CUSTOM_RESOURCE_DEFINITIONS, self._see)

    async def settled(self) -> None:
        """Waits until all definitions are in the state they should be in."""
        self._work()
        if self._worker is not None:
            await self._worker

    def _see(self, old: Document | None, new: Document | None) -> None:
        """A definition came, changed or went."""
        if new is None:
            assert old is not None
            self._forget(old.tree())
            return
        tree = new.tree()
        name = tree["metadata"]["name"]
        before = self._definitions.get(name)
        self._definitions[name] = tree
        if self._has_conflict(tree):
            self._unserve(tree)
        elif before is None or _changes_what_is_served(before, tree):
            self._serve(tree, before)
        self._later(name)

    def _later(self, name: str) -> None:
        self._waiting[name] = None
        self._work()

    def _work(self) -> None:
        """Starts writing what waits to be written; before the server runs, it waits for `settled`."""
        if not self._waiting or (self._worker is not None and not self._worker.done()):
            return
        with suppress(RuntimeError):  # No loop runs yet.
            self._worker = asyncio.get_running_loop().create_task(self._settle())

    async def _settle(self) -> None:
        while self._waiting:
            await asyncio.sleep(0)  # The write that woke us is answered first.
            name = next(iter(self._waiting), "")
            self._waiting.pop(name, None)
            tree = self._definitions.get(name)
            if tree is None:
                continue
            if "deletionTimestamp" in tree["metadata"]:
                await self._clean_up(tree)
            elif not _is_settled(tree):
                self._modify(name, self._accept)

    # Serving ----------------------------------------------------------------------------------------------------------

    def _serve(self, tree: Tree, before: Tree | None) -> None:
        kinds = served_kinds(tree)
        for kind in kinds:
            self._server.register(kind)
        now_served = {kind.resource for kind in kinds}
        known = {*resources(tree), *(resources(before) if before is not None else ())}
        for resource in sorted(known - now_served, key=str):
            self._drop(resource)
        if kinds and tree["metadata"]["name"] not in self._followed:
            self._follow(tree["metadata"]["name"], kinds[0].resource)

    def _follow(self, name: str, resource: Resource) -> None:
        """Looks again whenever an object of a kind that is being deleted goes."""
        shelf = self._server.registry.served(resource).shelf
        self._followed[name] = shelf

        def see(_old: Document | None, new: Document | None) -> None:
            tree = self._definitions.get(name)
            if new is None and tree is not None and "deletionTimestamp" in tree["metadata"]:
                self._later(name)

        shelf.follow(see)

    def _unserve(self, tree: Tree) -> None:
        for resource in resources(tree):
            self._drop(resource)

    def _drop(self, resource: Resource) -> None:
        # Not served anyway; or objects that no version shows any more, which stay where they are.
        with suppress(NotFound, ValueError):
            self._server.unregister(resource)

    def _forget(self, tree: Tree) -> None:
        name = tree["metadata"]["name"]
        self._definitions.pop(name, None)
        self._followed.pop(name, None)
        self._waiting.pop(name, None)
        self._unserve(tree)
        for other, definition in self._definitions.items():
            if definition["spec"]["group"] == tree["spec"]["group"] and not is_true(definition, "NamesAccepted"):
                self._later(other)

    # Names ------------------------------------------------------------------------------------------------------------

    def _taken(self, tree: Tree) -> tuple[set[str], set[str]]:
        """(resource names, kind names) that other definitions of the group were given."""
        plurals: set[str] = set()
        kinds: set[str] = set()
        for name, other in self._definitions.items():
            if other["spec"]["group"] == tree["spec"]["group"] and name != tree["metadata"]["name"]:
                names = other["status"].get("acceptedNames") or {}
                plurals |= {names.get("plural", ""), names.get("singular", ""), *(names.get("shortNames") or ())}
                kinds |= {names.get("kind", ""), names.get("listKind", "")}
        return plurals - {""}, kinds - {""}

    def _has_conflict(self, tree: Tree) -> bool:
        plurals, kinds = self._taken(tree)
        names = tree["spec"]["names"]
        return not is_true(tree, "Established") and bool(
            {names["plural"], names["singular"]} & plurals or {names["kind"], names["listKind"]} & kinds
        )

    def _accept(self, tree: Tree) -> None:
        """Gives the definition the names that nobody has, and says so in its status."""
        now = self._server.registry.now()
        plurals, kinds = self._taken(tree)
        wanted, given = tree["spec"]["names"], dict(tree["status"].get("acceptedNames") or {})
        refused: tuple[str, str] | None = None
        for field, taken in (("plural", plurals), ("singular", plurals), ("kind", kinds), ("listKind", kinds)):
            if wanted.get(field) != given.get(field) and wanted.get(field) in taken:
                refused = (f"{field[0].upper()}{field[1:]}Conflict", f'"{wanted[field]}" is already in use')
            else:
                given[field] = wanted[field]
        conflicting = [name for name in wanted.get("shortNames") or () if name in plurals]
        if conflicting:
            refused = ("ShortNamesConflict", ", ".join(f'"{name}" is already in use' for name in conflicting))
        for field in ("shortNames", "categories"):
            given.pop(field, None)
            if wanted.get(field) and not (field == "shortNames" and conflicting):
                given[field] = wanted[field]
        tree["status"]["acceptedNames"] = given
        if refused is not None:
            set_condition(tree, "NamesAccepted", "False", *refused, now)
            if condition(tree, "Established") is None:
                set_condition(tree, "Established", "False", "NotAccepted", "not all names are accepted", now)
            return
        set_condition(tree, "NamesAccepted", "True", "NoConflicts", "no conflicts found", now)
        if not is_true(tree, "Established"):
            set_condition(tree, "Established", "True", "InitialNamesAccepted", _ACCEPTED, now)

    # Deletion ---------------------------------------------------------------------------------------------------------

    async def _clean_up(self, tree: Tree) -> None:
        """Deletes the objects of a definition that is being deleted, and lets it go when there are none."""
        name = tree["metadata"]["name"]
        if CLEANUP not in (tree["metadata"].get("finalizers") or ()):
            return
        self._modify(name, self._tell_of_clean_up)
        shelf = self._followed.get(name)
        kinds = served_kinds(tree) if is_true(tree, "Established") else []
        if shelf is not None and len(shelf) and kinds:
            for namespace in sorted({stored.namespace for stored in shelf.listed()}):
                with suppress(ApiError):
                    await self._server.delete_collection(kinds[0].resource, namespace)
            if len(shelf):
                return  # What has finalizers goes when they do; we hear of it.
        self._modify(name, _let_go)

    def _tell_of_clean_up(self, tree: Tree) -> None:
        message = "CustomResource deletion is in progress"
        set_condition(tree, "Terminating", "True", "InstanceDeletionInProgress", message, self._server.registry.now())

    def _modify(self, name: str, change: Callable[[Tree], None]) -> None:
        registry = self._server.registry
        call = Call(OURSELVES, registry.now(), verb="update")
        with suppress(ApiError):  # It is gone, or nothing can be written now; the next start looks again.
            modify(registry, call, registry.served(CUSTOM_RESOURCE_DEFINITIONS), "", name, change)


_ACCEPTED = "the initial names have been accepted"


def _changes_what_is_served(before: Tree, tree: Tree) -> bool:
    is_ending = "deletionTimestamp" in tree["metadata"] and "deletionTimestamp" not in before["metadata"]
    return before["spec"] != tree["spec"] or is_ending or not is_true(before, "Established")


def _is_settled(tree: Tree) -> bool:
    return condition(tree, "Established") is not None and tree["status"].get("acceptedNames") == tree["spec"]["names"]


def _let_go(tree: Tree) -> None:
    finalizers = [name for name in tree["metadata"].get("finalizers") or () if name != CLEANUP]
    tree["metadata"]["finalizers"] = finalizers
    if not finalizers:
        del tree["metadata"]["finalizers"]
