"""Roles and cluster roles: lists of rules that only ever add permissions."""

from __future__ import annotations

from collections.abc import Iterator

from eachnode.objects.resources import CLUSTER_ROLES, ROLES
from eachnode.server.field_errors import FieldError, invalid, required
from eachnode.server.kind import Kind, Tree
from eachnode.server.kinds import name_rules
from eachnode.server.kinds.labels import has_invalid_values, validate_label_selector
from eachnode.server.kinds.rows import at

_SELECTORS = "aggregationRule.clusterRoleSelectors"


def _validate_role(tree: Tree) -> Iterator[FieldError]:
    return _validate_rules(tree.get("rules") or [], namespaced=True)


def _validate_cluster_role(tree: Tree) -> Iterator[FieldError]:
    yield from _validate_aggregation(tree, any_values=False)
    yield from _validate_rules(tree.get("rules") or [], namespaced=False)


def _update_cluster_role(new: Tree, old: Tree) -> Iterator[FieldError]:
    selectors = at(old, "aggregationRule", "clusterRoleSelectors") or ()
    yield from _validate_aggregation(new, any_values=any(map(has_invalid_values, selectors)))
    yield from _validate_rules(new.get("rules") or [], namespaced=False)


def _validate_rules(rules: list[Tree], *, namespaced: bool) -> Iterator[FieldError]:
    for index, rule in enumerate(rules):
        yield from _validate_rule(rule, f"rules[{index}]", namespaced)
    # The reference checks this one by its schema, after everything else.
    for index, rule in enumerate(rules):
        if not rule.get("verbs"):
            yield required(f"rules[{index}].verbs")


def _validate_rule(rule: Tree, path: str, namespaced: bool) -> Iterator[FieldError]:
    urls = rule.get("nonResourceURLs")
    if urls:
        if namespaced:
            yield invalid(f"{path}.nonResourceURLs", urls, "namespaced rules cannot apply to non-resource URLs")
        if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
            wrong = "rules cannot apply to both regular resources and non-resource URLs"
            yield invalid(f"{path}.nonResourceURLs", urls, wrong)
        return
    if not rule.get("apiGroups"):
        yield required(f"{path}.apiGroups", "resource rules must supply at least one api group")
    if not rule.get("resources"):
        yield required(f"{path}.resources", "resource rules must supply at least one resource")


def _validate_aggregation(tree: Tree, *, any_values: bool) -> Iterator[FieldError]:
    if tree.get("aggregationRule") is None:
        return
    selectors = tree["aggregationRule"].get("clusterRoleSelectors")
    if not selectors:
        yield required(_SELECTORS, "at least one clusterRoleSelector required if aggregationRule is non-nil")
    for index, selector in enumerate(selectors or ()):
        path = f"{_SELECTORS}[{index}]"
        yield from validate_label_selector(selector, path, any_values=any_values)
        if any(validate_label_selector(selector, path)):
            yield invalid(path, None, "invalid label selector.")


ROLE = Kind(
    resource=ROLES,
    singular="role",
    definition="io.k8s.api.rbac.v1.Role",
    validate=_validate_role,
    validate_name=name_rules.path_segment,
    create_on_update=True,
)

CLUSTER_ROLE = Kind(
    resource=CLUSTER_ROLES,
    singular="clusterrole",
    definition="io.k8s.api.rbac.v1.ClusterRole",
    validate=_validate_cluster_role,
    validate_update=_update_cluster_role,
    whole_update=True,
    validate_name=name_rules.path_segment,
    create_on_update=True,
)
