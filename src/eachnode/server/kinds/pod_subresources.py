"""What can be asked of a pod besides itself and its status."""

from __future__ import annotations

from eachnode.server.kind import Subresource

SUBRESOURCES: dict[str, Subresource] = {}
