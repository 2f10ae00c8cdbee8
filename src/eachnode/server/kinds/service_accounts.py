"""Service accounts: who a pod is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from eachnode.objects.resources import SERVICE_ACCOUNTS
from eachnode.server.kind import Call, Kind, Tree
from eachnode.server.kinds import name_rules
from eachnode.server.kinds.rows import AGE, NAME, age_of, name_of

_MOUNTABLE = "kubernetes.io/enforce-mountable-secrets"


def _only_names(tree: Tree) -> None:
    """Of the secrets it refers to, only names count."""
    if secrets := tree.get("secrets"):
        tree["secrets"] = [{"name": secret["name"]} if secret.get("name") else {} for secret in secrets]


def _prepare_create(tree: Tree, _call: Call) -> None:
    _only_names(tree)


def _prepare_update(new: Tree, _old: Tree, _call: Call) -> None:
    _only_names(new)


def _warn(new: Tree, old: Tree | None) -> Iterator[str]:
    had = old is not None and _MOUNTABLE in old["metadata"].get("annotations", {})
    if not had and _MOUNTABLE in new["metadata"].get("annotations", {}):
        yield (
            f"metadata.annotations[{_MOUNTABLE}]: deprecated in v1.32+; "
            "prefer separate namespaces to isolate access to mounted secrets"
        )


def _row(tree: Tree, now: float) -> list[Any]:
    return [name_of(tree), age_of(tree, now)]


SERVICE_ACCOUNT = Kind(
    resource=SERVICE_ACCOUNTS,
    singular="serviceaccount",
    definition="io.k8s.api.core.v1.ServiceAccount",
    short_names=("sa",),
    prepare_create=_prepare_create,
    prepare_update=_prepare_update,
    validate_name=name_rules.dns_subdomain,
    returns_deleted=True,
    warn=_warn,
    columns=(NAME, AGE),
    row=_row,
)
