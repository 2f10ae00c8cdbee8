"""A ControllerRevision: a template that a DaemonSet had at some time."""

from __future__ import annotations

import msgspec

from eachnode.objects.meta import Metadata
from eachnode.objects.pod import REVISION_LABEL


class ControllerRevision(msgspec.Struct, frozen=True, kw_only=True):
    """One recorded template; `data` is kept as the bytes that came."""

    metadata: Metadata
    data: msgspec.Raw = msgspec.Raw(b"null")
    revision: int = 0

    @property
    def name(self) -> str:
        """Its name."""
        return self.metadata.name

    @property
    def revision_hash(self) -> str | None:
        """What pods made from it are labelled with; None when it has no such label yet."""
        return (self.metadata.labels or {}).get(REVISION_LABEL)
