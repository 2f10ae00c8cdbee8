"""How an object is to be deleted: grace, what becomes of its dependents, and under which preconditions."""

from __future__ import annotations

from typing import Literal

import msgspec

Propagation = Literal["Background", "Foreground", "Orphan"]


class Preconditions(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel", kw_only=True):
    """The object is deleted only if it still is this one."""

    uid: str | None = None
    resource_version: str | None = None


class DeleteOptions(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel", kw_only=True):
    """The body of a DELETE."""

    grace_period_seconds: int | None = None
    propagation_policy: Propagation | None = None
    orphan_dependents: bool | None = None
    preconditions: Preconditions | None = None
    dry_run: tuple[str, ...] = ()
