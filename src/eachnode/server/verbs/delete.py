"""DELETE: at once, or begun now and done when finalizers and grace allow it.

What keeps an object for a while: its finalizers (among them the two by which the garbage collector is asked to orphan
its dependents or to delete them first), the grace that its kind gives (pods), and what its kind holds it by
(namespaces).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from eachnode.objects.clock import seconds, timestamp
from eachnode.objects.deletion import DeleteOptions, Preconditions
from eachnode.objects.document import Document
from eachnode.objects.status import Details, Status
from eachnode.server.kind import Answer, Call, Tree
from eachnode.server.schema import encode
from eachnode.server.store import Stored
from eachnode.server.verbs import refusals
from eachnode.server.verbs.metadata import FOREGROUND, ORPHAN
from eachnode.server.verbs.registry import Registry, Served, admit
from eachnode.server.verbs.writing import Written, put, show, take_away, unchanged


def delete(registry: Registry, call: Call, served: Served, namespace: str, name: str, options: DeleteOptions) -> Answer:
    """Deletes an object, or begins to."""
    old = served.shelf.get(served.namespace(namespace), name)
    if old is None:
        raise refusals.not_found(served.resource, name)
    before = served.outward(old.document.tree())
    _check(served, before, options.preconditions)
    admit(registry, served.kind, before, before, call)
    ending = _Ending(registry, call, served, old, before, options)
    return ending.of_held() if served.kind.held is not None else ending.of_any()


@dataclass(slots=True)
class _Ending:
    """The deletion of one object."""

    registry: Registry
    call: Call
    served: Served
    old: Stored
    before: Tree
    options: DeleteOptions

    def of_held(self) -> Answer:
        """Kinds that hold their objects by themselves: the first DELETE always only begins."""
        if "deletionTimestamp" not in self.before["metadata"]:
            return self._begin(self._mark_held)
        assert self.served.kind.held is not None
        return self._as_it_is() if self.served.kind.held(self.before) else self.of_any()

    def of_any(self) -> Answer:
        """All other kinds: now, unless grace or finalizers stand against it."""
        tree = self._copy()
        grace = self._grace(tree)
        if grace == _PENDING:
            return self._as_it_is() if self.served.kind.returns_deleted else self._done(self.old)
        if finalizers := _finalizers(tree, self.served, self.options):
            tree["metadata"]["finalizers"] = finalizers
        else:
            tree["metadata"].pop("finalizers", None)
        if grace is None and not finalizers:
            return self._finish(self.old)
        if grace is None:
            _mark_leaving(tree["metadata"], self.call.now)
        written = self._write(tree)
        if grace or finalizers:
            return Answer(written.document, self._code)
        if self.call.dry_run:
            return Answer(written.document)
        return self._finish(written.stored or self.old)

    @property
    def _code(self) -> int:
        """202 tells those who ask for dependents to go too that it will take a while."""
        return 202 if self.options.orphan_dependents is False else 200

    def _copy(self) -> Tree:
        return self.served.outward(self.old.document.tree())

    def _begin(self, mark: Callable[[Tree], None]) -> Answer:
        tree = self._copy()
        mark(tree)
        return Answer(self._write(tree).document, self._code)

    def _mark_held(self, tree: Tree) -> None:
        about = tree["metadata"]
        about["deletionTimestamp"] = timestamp(self.call.now)
        self.served.kind.prepare_delete(tree)
        if finalizers := _finalizers(tree, self.served, self.options):
            about["finalizers"] = finalizers
        else:
            about.pop("finalizers", None)

    def _grace(self, tree: Tree) -> int | None:
        """Begins or shortens a graceful deletion: the seconds it takes, `_PENDING`, or None when there is no grace."""
        kind, about = self.served.kind, tree["metadata"]
        asked = self.options.grace_period_seconds
        if asked is not None and asked < 0:
            asked = 1
        if kind.grace is None:
            return None
        if "deletionTimestamp" not in about:
            period = kind.grace(tree, asked)
            about["deletionTimestamp"] = timestamp(self.call.now + period)
            about["deletionGracePeriodSeconds"] = period
            if about.get("generation", 0) > 0:
                about["generation"] += 1
            kind.prepare_delete(tree)
            return period
        given = about.get("deletionGracePeriodSeconds")
        if not given:
            return None
        if asked is None or asked >= given:
            return _PENDING
        return _shorten(about, given, asked, self.call.now)

    def _write(self, tree: Tree) -> Written:
        if unchanged(tree, self.before):
            return Written(show(self.served, self.old), self.old)
        return put(self.registry, self.served, tree, self.old, self.call)

    def _finish(self, last: Stored) -> Answer:
        take_away(self.registry, self.served, last, self.call)
        return Answer(show(self.served, last)) if self.served.kind.returns_deleted else self._done(last)

    def _as_it_is(self) -> Answer:
        return Answer(show(self.served, self.old), self._code)

    def _done(self, stored: Stored) -> Answer:
        resource = self.served.resource
        details = Details(name=stored.name, group=resource.group, kind=resource.plural, uid=stored.uid)
        return Answer(Document(encode(Status(status="Success", details=details).tree())))


_PENDING = -1


def _check(served: Served, tree: Tree, wanted: Preconditions | None) -> None:
    """Raises Conflict unless the object still is the one that is meant."""
    if wanted is None:
        return
    about, resource = tree["metadata"], served.resource
    for what, asked, actual, since in (
        ("UID", wanted.uid, about.get("uid", ""), "The object might have been deleted and then recreated"),
        ("ResourceVersion", wanted.resource_version, about["resourceVersion"], "The object might have been modified"),
    ):
        if asked is None or asked == actual:
            continue
        if served.kind.held is not None:
            reason = f"Precondition failed: {what} in precondition: {asked}, {what} in object meta: {actual}"
            raise refusals.conflict(resource, about["name"], reason)
        reason = f"the {what} in the precondition ({asked}) does not match the {what} in record ({actual}). {since}"
        raise refusals.conflict(resource, about["name"], reason, kind=resource.kind)


def _shorten(about: Tree, given: int, asked: int, now: float) -> int:
    """Moves the end of a graceful deletion forward, but never into the past."""
    end = seconds(about["deletionTimestamp"]) - given + asked
    if end < now:
        end, asked = now, min(asked, 1)
    about["deletionTimestamp"] = timestamp(end)
    about["deletionGracePeriodSeconds"] = asked
    return asked


def _mark_leaving(about: Tree, now: float) -> None:
    """Says that the object goes as soon as its finalizers do."""
    marked = about.get("deletionTimestamp")
    if marked is None and about.get("generation", 0) > 0:
        about["generation"] += 1
    if marked is None or seconds(marked) > now:
        about["deletionTimestamp"] = timestamp(now)
    about["deletionGracePeriodSeconds"] = 0


def _finalizers(tree: Tree, served: Served, options: DeleteOptions) -> list[str]:
    """The finalizers an object has during its deletion: its own, and what is asked of the garbage collector."""
    present: list[str] = tree["metadata"].get("finalizers") or []
    policy = _policy(present, served, options)
    wanted = {"Orphan": [ORPHAN], "Foreground": [FOREGROUND]}.get(policy, [])
    found = [name for name in present if name not in (ORPHAN, FOREGROUND)] + wanted
    return present if set(found) == set(present) else found


def _policy(present: list[str], served: Served, options: DeleteOptions) -> str:
    """What becomes of dependents: as asked, else as the object's finalizers say, else as the kind has it."""
    if options.orphan_dependents is not None:
        orphan = options.orphan_dependents
        # Namespaces understand the old option as the opposite of orphaning; elsewhere it means "in the background".
        return "Orphan" if orphan else "Foreground" if served.kind.held is not None else "Background"
    if options.propagation_policy is not None:
        return options.propagation_policy
    for name in present:
        if name in (ORPHAN, FOREGROUND):
            return "Orphan" if name == ORPHAN else "Foreground"
    return served.kind.default_propagation
