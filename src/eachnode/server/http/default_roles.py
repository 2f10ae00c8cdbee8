"""The cluster roles and bindings a new cluster has: what everybody may see, and the roles people bind others to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from eachnode.objects.resources import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, Resource
from eachnode.server.kind import Tree

RBAC = "rbac.authorization.k8s.io"
READ = ("get", "list", "watch")
WRITE = ("create", "delete", "deletecollection", "patch", "update")
HEALTH = ("/livez", "/readyz", "/healthz", "/version", "/version/")
PAGES = (*HEALTH, "/openapi", "/openapi/*", "/api", "/api/*", "/apis", "/apis/*")
CORE_IN_NAMESPACES = ("configmaps", "endpoints", "events", "pods", "serviceaccounts", "services")
NAMESPACE_STATUS = ("limitranges", "resourcequotas", "resourcequotas/status", "namespaces", "pods/log", "pods/status")
APPS = ("daemonsets", "daemonsets/status", "controllerrevisions")


def default_roles() -> Iterator[tuple[Resource, Tree]]:
    """Every role and binding with its kind, in the order in which they are to be created."""
    everything = [_rule(("*",), ("*",), ("*",)), _pages(("*",), ("*",))]
    yield _role("cluster-admin", everything)
    yield _role("system:discovery", [_pages(("get",), PAGES)])
    yield _role("system:public-info-viewer", [_pages(("get",), HEALTH)])
    yield _role(
        "system:monitoring", [_pages(("get",), ("/metrics", *HEALTH[:3], "/livez/*", "/readyz/*", "/healthz/*"))]
    )
    yield _role("system:basic-user", _about_oneself())
    yield _gathering("admin", "")
    yield _gathering("edit", "admin")
    yield _gathering("view", "edit")
    yield _role("system:aggregate-to-admin", _of_admins(), gathered_by="admin")
    yield _role("system:aggregate-to-edit", _of_editors(), gathered_by="edit")
    yield _role("system:aggregate-to-view", _of_viewers(), gathered_by="view")
    yield _binding("cluster-admin", ["system:masters"])
    yield _binding("system:discovery", ["system:authenticated"])
    yield _binding("system:basic-user", ["system:authenticated"])
    yield _binding("system:public-info-viewer", ["system:authenticated", "system:unauthenticated"])
    yield _binding("system:monitoring", ["system:monitoring"])


def _about_oneself() -> list[Tree]:
    reviews = ("selfsubjectaccessreviews", "selfsubjectrulesreviews")
    return [
        _rule(("create",), ("authorization.k8s.io",), reviews),
        _rule(("create",), ("authentication.k8s.io",), ("selfsubjectreviews",)),
    ]


def _of_viewers() -> list[Tree]:
    return [
        _rule(READ, ("",), (*CORE_IN_NAMESPACES, *NAMESPACE_STATUS)),
        _rule(READ, ("apps",), APPS),
        _rule(READ, ("policy",), ("poddisruptionbudgets", "poddisruptionbudgets/status")),
        _rule(READ, ("events.k8s.io",), ("events",)),
    ]


def _of_editors() -> list[Tree]:
    return [
        _rule(READ, ("",), ("secrets",)),
        _rule(WRITE, ("",), ("configmaps", "endpoints", "events", "pods", "secrets", "serviceaccounts", "services")),
        _rule(("create",), ("",), ("pods/eviction", "serviceaccounts/token")),
        _rule(("impersonate",), ("",), ("serviceaccounts",)),
        _rule(WRITE, ("apps",), ("daemonsets",)),
        _rule(WRITE, ("policy",), ("poddisruptionbudgets",)),
        _rule((*READ, *WRITE), ("coordination.k8s.io",), ("leases",)),
    ]


def _of_admins() -> list[Tree]:
    return [
        _rule(("create",), ("authorization.k8s.io",), ("localsubjectaccessreviews",)),
        _rule((*READ, *WRITE), (RBAC,), ("roles", "rolebindings")),
    ]


def _role(name: str, rules: list[Tree], *, gathered_by: str = "") -> tuple[Resource, Tree]:
    labels = {"kubernetes.io/bootstrapping": "rbac-defaults"}
    if gathered_by:
        labels[f"{RBAC}/aggregate-to-{gathered_by}"] = "true"
    return CLUSTER_ROLES, _object("ClusterRole", name, labels) | {"rules": rules}


def _gathering(name: str, gathered_by: str) -> tuple[Resource, Tree]:
    """A role that has the rules of all roles labelled for it."""
    selector = {"matchLabels": {f"{RBAC}/aggregate-to-{name}": "true"}}
    resource, tree = _role(name, [], gathered_by=gathered_by)
    return resource, tree | {"aggregationRule": {"clusterRoleSelectors": [selector]}}


def _binding(role: str, groups: Sequence[str]) -> tuple[Resource, Tree]:
    tree = _object("ClusterRoleBinding", role, {"kubernetes.io/bootstrapping": "rbac-defaults"})
    tree["roleRef"] = {"apiGroup": RBAC, "kind": "ClusterRole", "name": role}
    tree["subjects"] = [{"apiGroup": RBAC, "kind": "Group", "name": group} for group in groups]
    return CLUSTER_ROLE_BINDINGS, tree


def _object(kind: str, name: str, labels: dict[str, str]) -> Tree:
    metadata = {"name": name, "labels": labels, "annotations": {"rbac.authorization.kubernetes.io/autoupdate": "true"}}
    return {"apiVersion": f"{RBAC}/v1", "kind": kind, "metadata": metadata}


def _rule(verbs: Sequence[str], groups: Sequence[str], resources: Sequence[str]) -> Tree:
    return {"verbs": sorted(verbs), "apiGroups": sorted(groups), "resources": sorted(resources)}


def _pages(verbs: Sequence[str], paths: Sequence[str]) -> Tree:
    return {"verbs": sorted(verbs), "nonResourceURLs": sorted(paths)}
