"""Where a pod may run: affinities, tolerations and spreading."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from eachnode.objects import formats
from eachnode.server.field_errors import FieldError, duplicate, forbidden, invalid, not_supported, required
from eachnode.server.kind import Tree
from eachnode.server.kinds.labels import validate_label_key, validate_label_selector
from eachnode.server.kinds.pods.validation import fields
from eachnode.server.kinds.pods.validation.fields import PodContext

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_NO_OPERATOR = "not a valid selector operator"

Errors = Iterator[FieldError]


def validate_affinity(affinity: Tree | None, path: str, pod: PodContext) -> Errors:
    """Affinity to nodes, to other pods and against them."""
    if affinity is None:
        return
    if (nodes := affinity.get("nodeAffinity")) is not None:
        yield from _validate_node_affinity(nodes, f"{path}.nodeAffinity", pod)
    for kind in ("podAffinity", "podAntiAffinity"):
        if (pods := affinity.get(kind)) is not None:
            yield from _validate_pod_affinity(pods, f"{path}.{kind}", pod)


def _validate_node_affinity(nodes: Tree, path: str, pod: PodContext) -> Errors:
    if (must := nodes.get(_REQUIRED)) is not None:
        terms_path = f"{path}.{_REQUIRED}.nodeSelectorTerms"
        if not must.get("nodeSelectorTerms"):
            yield required(terms_path, "must have at least one node selector term")
        for term, place in fields.each(must, "nodeSelectorTerms", f"{path}.{_REQUIRED}"):
            yield from _validate_term(term, place, any_values=pod.lenient.node_values)
    for preferred, place in fields.each(nodes, _PREFERRED, path):
        yield from _validate_weight(preferred, place)
        # A preference for labels that no node can have does no harm.
        yield from _validate_term(preferred.get("preference") or {}, f"{place}.preference", any_values=True)


def _validate_weight(preferred: Tree, path: str) -> Errors:
    if not 1 <= (weight := preferred.get("weight", 0)) <= 100:
        yield invalid(f"{path}.weight", weight, "must be in the range 1-100")


def _validate_term(term: Tree, path: str, *, any_values: bool) -> Errors:
    for expression, place in fields.each(term, "matchExpressions", path):
        yield from _validate_expression(expression, place, any_values)
    for requirement, place in fields.each(term, "matchFields", path):
        yield from _validate_field_requirement(requirement, place)


def _validate_expression(expression: Tree, path: str, any_values: bool) -> Errors:
    operator, values = expression.get("operator", ""), expression.get("values") or ()
    if operator in ("In", "NotIn"):
        if not values:
            yield required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            yield forbidden(f"{path}.values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
    elif operator in ("Gt", "Lt"):
        if len(values) != 1:
            yield required(f"{path}.values", "must be specified single value when `operator` is 'Lt' or 'Gt'")
    else:
        yield invalid(f"{path}.operator", operator, _NO_OPERATOR)
    yield from validate_label_key(expression.get("key", ""), f"{path}.key")
    if not any_values:
        for index, value in enumerate(values):
            yield from fields.wrong(f"{path}.values[{index}]", value, formats.label_value(value))


def _validate_field_requirement(requirement: Tree, path: str) -> Errors:
    operator, values = requirement.get("operator", ""), requirement.get("values") or ()
    if operator not in ("In", "NotIn"):
        yield invalid(f"{path}.operator", operator, _NO_OPERATOR)
    elif len(values) != 1:
        sentence = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        yield required(f"{path}.values", sentence)
    if (key := requirement.get("key", "")) != "metadata.name":
        yield invalid(f"{path}.key", key, "not a valid field selector key")
        return
    for index, value in enumerate(values):
        yield from fields.dns_subdomain(f"{path}.values[{index}]", value)


def _validate_pod_affinity(pods: Tree, path: str, pod: PodContext) -> Errors:
    for term, place in fields.each(pods, _REQUIRED, path):
        yield from _validate_pod_term(term, place, pod)
    for preferred, place in fields.each(pods, _PREFERRED, path):
        yield from _validate_weight(preferred, place)
        yield from _validate_pod_term(preferred.get("podAffinityTerm") or {}, f"{place}.podAffinityTerm", pod)


def _validate_pod_term(term: Tree, path: str, pod: PodContext) -> Errors:
    yield from validate_term_selectors(term, path, any_values=pod.lenient.selector_values)
    for namespace in term.get("namespaces") or ():
        yield from fields.dns_label(f"{path}.namespace", namespace)
    keys, others = term.get("matchLabelKeys") or (), term.get("mismatchLabelKeys") or ()
    yield from validate_label_keys(path, keys, others, term.get("labelSelector"))
    key = term.get("topologyKey", "")
    if not key:
        yield required(f"{path}.topologyKey", "can not be empty")
    yield from validate_label_key(key, f"{path}.topologyKey")


def validate_term_selectors(term: Tree, path: str, *, any_values: bool) -> Errors:
    """The selectors of an affinity to pods."""
    for name in ("labelSelector", "namespaceSelector"):
        yield from validate_label_selector(term.get(name), f"{path}.{name}", any_values=any_values)


def validate_label_keys(path: str, keys: Sequence[str], others: Sequence[str], selector: Tree | None) -> Errors:
    """Label keys whose values the pod's own labels give; a key may be named once."""
    yield from _validate_keys(f"{path}.matchLabelKeys", keys, selector)
    yield from _validate_keys(f"{path}.mismatchLabelKeys", others, selector)
    places = {key: index for index, key in enumerate(keys)}
    known = set((selector or {}).get("matchLabels") or ())
    for expression in (selector or {}).get("matchExpressions") or ():
        key = expression.get("key", "")
        # Creation turned each of the keys into an expression: a second one is the user's.
        if key in places and key in known:
            yield invalid(f"{path}[{places[key]}]", key, "exists in both matchLabelKeys and labelSelector")
        known.add(key)
    for index, key in enumerate(keys):
        if key in set(others):
            sentence = "exists in both matchLabelKeys and mismatchLabelKeys"
            yield invalid(f"{path}.matchLabelKeys[{index}]", key, sentence)


def _validate_keys(path: str, keys: Sequence[str], selector: Mapping[str, Any] | None) -> Errors:
    if keys and selector is None:
        yield forbidden(path, "must not be specified when labelSelector is not set")
        return
    for index, key in enumerate(keys):
        yield from validate_label_key(key, f"{path}[{index}]")


def validate_tolerations(tolerations: Iterable[Tree], path: str) -> Errors:
    """The taints that a pod bears."""
    for index, toleration in enumerate(tolerations):
        yield from _validate_toleration(toleration, f"{path}[{index}]")


def _validate_toleration(toleration: Tree, path: str) -> Errors:
    key, operator = toleration.get("key", ""), toleration.get("operator", "")
    value, effect = toleration.get("value", ""), toleration.get("effect", "")
    if key:
        yield from validate_label_key(key, f"{path}.key")
    elif operator != "Exists":
        sentence = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        yield invalid(f"{path}.operator", operator, sentence)
    if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
        yield invalid(f"{path}.effect", effect, "effect must be 'NoExecute' when `tolerationSeconds` is set")
    if operator in ("", "Equal"):
        if problems := formats.label_value(value):
            yield invalid(f"{path}.operator", value, ";".join(problems))
    elif operator == "Exists":
        if value:
            yield invalid(f"{path}.operator", value, "value must be empty when `operator` is 'Exists'")
    else:
        # Comparisons of numbers are known but switched off, and named all the same.
        known = ("Equal", "Exists", "Lt", "Gt") if operator in ("Lt", "Gt") else ("Equal", "Exists")
        yield not_supported(f"{path}.operator", operator, known)
    if effect:
        yield from fields.one_of(f"{path}.effect", effect, EFFECTS)


def validate_spreading(spec: Tree, path: str, pod: PodContext) -> Errors:
    """How the pods of a workload are spread."""
    constraints = spec.get("topologySpreadConstraints") or ()
    for index, constraint in enumerate(constraints):
        place = f"{path}[{index}]"
        yield from _validate_constraint(constraint, constraints[index + 1 :], place)
        keys, selector = constraint.get("matchLabelKeys") or (), constraint.get("labelSelector")
        if pod.lenient.spread_keys:
            yield from _validate_old_keys(f"{place}.matchLabelKeys", keys, selector)
        else:
            yield from validate_label_keys(place, keys, (), selector)
        if not pod.lenient.spread_selector:
            yield from validate_label_selector(selector, f"{place}.labelSelector")


def _validate_constraint(constraint: Tree, others: Iterable[Tree], path: str) -> Errors:
    yield from fields.positive(f"{path}.maxSkew", constraint.get("maxSkew", 0))
    key, action = constraint.get("topologyKey", ""), constraint.get("whenUnsatisfiable", "")
    if not key:
        yield required(f"{path}.topologyKey", "can not be empty")
    yield from fields.one_of(f"{path}.whenUnsatisfiable", action, ("DoNotSchedule", "ScheduleAnyway"))
    if any((other.get("topologyKey", ""), other.get("whenUnsatisfiable", "")) == (key, action) for other in others):
        yield duplicate(f"{path}.{{topologyKey, whenUnsatisfiable}}", f"{{{key}, {action}}}")
    if (domains := constraint.get("minDomains")) is not None:
        yield from fields.positive(f"{path}.minDomains", domains)
        if action != "DoNotSchedule":
            sentence = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
            yield invalid(f"{path}.minDomains", domains, sentence)
    for policy in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        yield from fields.one_of(f"{path}.{policy}", constraint.get(policy), ("Honor", "Ignore"))


def _validate_old_keys(path: str, keys: Sequence[str], selector: Tree | None) -> Errors:
    """The rule before keys became part of the selector, for objects that were made under it."""
    if keys and selector is None:
        yield forbidden(path, "must not be specified when labelSelector is not set")
    known = set((selector or {}).get("matchLabels") or ())
    known |= {expression.get("key", "") for expression in (selector or {}).get("matchExpressions") or ()}
    for index, key in enumerate(keys):
        yield from validate_label_key(key, f"{path}[{index}]")
        if key in known:
            yield invalid(f"{path}[{index}]", key, "exists in both matchLabelKeys and labelSelector")
