"""The kinds that are served, a file each; `BUILT_IN` is all of them."""

from __future__ import annotations

from eachnode.server.kind import Kind
from eachnode.server.kinds.config_maps import CONFIG_MAP
from eachnode.server.kinds.leases import LEASE
from eachnode.server.kinds.namespaces import NAMESPACE
from eachnode.server.kinds.nodes import NODE
from eachnode.server.kinds.priority_classes import PRIORITY_CLASS
from eachnode.server.kinds.secrets import SECRET
from eachnode.server.kinds.service_accounts import SERVICE_ACCOUNT

BUILT_IN: tuple[Kind, ...] = (
    NAMESPACE,
    NODE,
    CONFIG_MAP,
    SECRET,
    SERVICE_ACCOUNT,
    LEASE,
    PRIORITY_CLASS,
)
