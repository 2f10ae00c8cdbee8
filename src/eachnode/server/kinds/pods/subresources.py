"""What can be asked of a pod besides itself and its status."""

from __future__ import annotations

from eachnode.server.kind import Subresource
from eachnode.server.kinds.pods.binding import BINDING
from eachnode.server.kinds.pods.ephemeral import EPHEMERAL_CONTAINERS
from eachnode.server.kinds.pods.eviction import EVICTION
from eachnode.server.kinds.pods.logs import LOG
from eachnode.server.kinds.pods.resize import RESIZE

SUBRESOURCES: dict[str, Subresource] = {
    "binding": BINDING,
    "ephemeralcontainers": EPHEMERAL_CONTAINERS,
    "eviction": EVICTION,
    "log": LOG,
    "resize": RESIZE,
}
