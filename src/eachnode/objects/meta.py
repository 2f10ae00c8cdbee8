"""The part of `metadata` that decisions read, and keys."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec


class Key(NamedTuple):
    """An object's name within its kind; the namespace is empty for cluster-wide kinds."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class OwnerReference(msgspec.Struct, frozen=True, rename="camel", kw_only=True, gc=False):
    """Who an object belongs to."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None
    block_owner_deletion: bool | None = None

    def tree(self) -> dict[str, Any]:
        """As it goes over the wire."""
        return {key: value for key, value in msgspec.to_builtins(self).items() if value is not None}


class Metadata(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """`metadata` without what no decision reads (managedFields, above all)."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: tuple[OwnerReference, ...] | None = None
    finalizers: tuple[str, ...] | None = None

    def tree(self) -> dict[str, Any]:
        """What a PUT of the whole object has to carry of it."""
        found = {
            "name": self.name,
            "namespace": self.namespace,
            "uid": self.uid,
            "resourceVersion": self.resource_version,
            "labels": self.labels,
            "annotations": self.annotations,
            "ownerReferences": [owner.tree() for owner in self.owner_references or ()],
            "finalizers": self.finalizers,
        }
        return {name: value for name, value in found.items() if value}

    @property
    def key(self) -> Key:
        """Its name within its kind."""
        return Key(self.namespace, self.name)

    @property
    def controller(self) -> OwnerReference | None:
        """The owner that controls it, if any."""
        for owner in self.owner_references or ():
            if owner.controller:
                return owner
        return None


class MetadataOnly(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """The view of an object that only needs a name: any kind fits."""

    metadata: Metadata
