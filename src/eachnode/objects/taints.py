"""Taints, by which a node repels pods, and tolerations, by which a pod puts up with them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

NO_SCHEDULE = "NoSchedule"
PREFER_NO_SCHEDULE = "PreferNoSchedule"
NO_EXECUTE = "NoExecute"

NOT_READY = "node.kubernetes.io/not-ready"
UNREACHABLE = "node.kubernetes.io/unreachable"
DISK_PRESSURE = "node.kubernetes.io/disk-pressure"
MEMORY_PRESSURE = "node.kubernetes.io/memory-pressure"
PID_PRESSURE = "node.kubernetes.io/pid-pressure"
UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
NETWORK_UNAVAILABLE = "node.kubernetes.io/network-unavailable"
OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"  # Put on by people only, once a node is surely off.


class Taint(msgspec.Struct, frozen=True, rename="camel", kw_only=True, gc=False):
    """A reason for pods to stay away from a node."""

    key: str = ""
    value: str = ""
    effect: str = ""
    time_added: str | None = None

    @property
    def repels(self) -> bool:
        """Whether pods that do not tolerate it must not start here."""
        return self.effect in (NO_SCHEDULE, NO_EXECUTE)

    @property
    def expels(self) -> bool:
        """Whether pods that do not tolerate it must not even stay."""
        return self.effect == NO_EXECUTE

    def __str__(self) -> str:
        """As kubectl writes it: `key=value:Effect`."""
        return f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"


class Toleration(msgspec.Struct, frozen=True, rename="camel", kw_only=True, gc=False):
    """What a pod puts up with; an empty effect means every effect, an empty key every key."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None

    def tolerates(self, taint: Taint) -> bool:
        """Whether this taint is put up with. Comparing operators (Lt, Gt) never match: their gate is off."""
        if self.effect and self.effect != taint.effect:
            return False
        if self.key and self.key != taint.key:
            return False
        if self.operator in ("", "Equal"):
            return self.value == taint.value
        return self.operator == "Exists"


def untolerated(taints: Iterable[Taint], tolerations: Iterable[Toleration]) -> Iterator[Taint]:
    """The taints that none of the tolerations covers, whatever their effect."""
    for taint in taints:
        if not any(toleration.tolerates(taint) for toleration in tolerations):
            yield taint
