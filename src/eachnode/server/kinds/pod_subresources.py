"""What can be asked of a pod besides itself and its status."""

from __future__ import annotations

from eachnode.server.kind import Subresource
from eachnode.server.kinds.pod_binding import BINDING
from eachnode.server.kinds.pod_ephemeral import EPHEMERAL_CONTAINERS
from eachnode.server.kinds.pod_eviction import EVICTION
from eachnode.server.kinds.pod_logs import LOG
from eachnode.server.kinds.pod_resize import RESIZE

SUBRESOURCES: dict[str, Subresource] = {
    "binding": BINDING,
    "ephemeralcontainers": EPHEMERAL_CONTAINERS,
    "eviction": EVICTION,
    "log": LOG,
    "resize": RESIZE,
}
