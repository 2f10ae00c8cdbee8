"""The kinds that are served, a file each; `BUILT_IN` is all of them."""

from __future__ import annotations

from eachnode.server.kind import Kind
from eachnode.server.kinds.config_maps import CONFIG_MAP
from eachnode.server.kinds.controller_revisions import CONTROLLER_REVISIONS_KIND
from eachnode.server.kinds.custom_resource_definitions import CUSTOM_RESOURCE_DEFINITION
from eachnode.server.kinds.daemonsets import DAEMON_SETS_KIND
from eachnode.server.kinds.disruption_budgets import POD_DISRUPTION_BUDGET
from eachnode.server.kinds.endpoints import ENDPOINTS
from eachnode.server.kinds.events import EVENT, EVENT_V1
from eachnode.server.kinds.leases import LEASE
from eachnode.server.kinds.limit_ranges import LIMIT_RANGE
from eachnode.server.kinds.namespaces import NAMESPACE
from eachnode.server.kinds.nodes import NODE
from eachnode.server.kinds.pods.kind import PODS_KIND
from eachnode.server.kinds.priority_classes import PRIORITY_CLASS
from eachnode.server.kinds.resource_quotas import RESOURCE_QUOTA
from eachnode.server.kinds.role_bindings import CLUSTER_ROLE_BINDING, ROLE_BINDING
from eachnode.server.kinds.roles import CLUSTER_ROLE, ROLE
from eachnode.server.kinds.secrets import SECRET
from eachnode.server.kinds.service_accounts import SERVICE_ACCOUNT
from eachnode.server.kinds.services import SERVICE

BUILT_IN: tuple[Kind, ...] = (
    NAMESPACE,
    NODE,
    PODS_KIND,
    EVENT,
    CONFIG_MAP,
    SECRET,
    SERVICE_ACCOUNT,
    SERVICE,
    ENDPOINTS,
    RESOURCE_QUOTA,
    LIMIT_RANGE,
    DAEMON_SETS_KIND,
    CONTROLLER_REVISIONS_KIND,
    LEASE,
    EVENT_V1,
    PRIORITY_CLASS,
    POD_DISRUPTION_BUDGET,
    ROLE,
    ROLE_BINDING,
    CLUSTER_ROLE,
    CLUSTER_ROLE_BINDING,
    CUSTOM_RESOURCE_DEFINITION,
)
