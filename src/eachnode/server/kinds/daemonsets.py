"""DaemonSets as a kind.

The generation of the template lives in an annotation that the server owns: it counts how often the template changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from eachnode.objects import formats
from eachnode.objects.resources import DAEMON_SETS
from eachnode.objects.selectors import LabelSelector
from eachnode.objects.status import BadRequest
from eachnode.server.field_errors import FieldError, forbidden, invalid, not_supported, required
from eachnode.server.kind import Call, Column, Kind, Tree
from eachnode.server.kinds import name_rules
from eachnode.server.kinds.labels import has_invalid_values, validate_label_selector
from eachnode.server.kinds.pods.defaults import default_template
from eachnode.server.kinds.pods.equality import same
from eachnode.server.kinds.pods.gates import drop_disabled
from eachnode.server.kinds.pods.go_shapes import as_go
from eachnode.server.kinds.pods.leniency import judged
from eachnode.server.kinds.pods.preparation import keep
from eachnode.server.kinds.pods.validation import fields
from eachnode.server.kinds.pods.validation.fields import Leniency
from eachnode.server.kinds.pods.validation.spec import STRICT, validate_template
from eachnode.server.kinds.pods.warnings import warnings_for
from eachnode.server.kinds.rows import AGE, NAME, NONE, age_of, name_of
from eachnode.server.schema.shapes import empty, shape

_STATUS = "io.k8s.api.apps.v1.DaemonSetStatus"

TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"
STRATEGIES = ("RollingUpdate", "OnDelete")
_COUNTERS = (
    "currentNumberScheduled",
    "numberMisscheduled",
    "desiredNumberScheduled",
    "numberReady",
    "observedGeneration",
    "updatedNumberScheduled",
    "numberAvailable",
    "numberUnavailable",
    "collisionCount",
)
_NUMBER = re.compile(r"[+-]?[0-9]+")

Errors = Iterator[FieldError]


def default(tree: Tree) -> None:
    """Fills in a DaemonSet; raises BadRequest when the generation of its template is no number."""
    # Always there, as in the reference: so a writer who leaves it out owns it all the same.
    _set_template_generation(tree, template_generation(tree))
    spec = tree.setdefault("spec", {})
    default_template(spec.setdefault("template", {}))
    strategy = spec.setdefault("updateStrategy", {})
    if not strategy.get("type"):
        strategy["type"] = "RollingUpdate"
    rolling = strategy.get("rollingUpdate")
    if strategy["type"] == "RollingUpdate":
        strategy["rollingUpdate"] = {"maxUnavailable": 1, "maxSurge": 0, **(rolling or {})}
    elif rolling is not None:  # Nobody fills it in then, yet both numbers are always written.
        strategy["rollingUpdate"] = {"maxUnavailable": 0, "maxSurge": 0, **rolling}
    spec.setdefault("revisionHistoryLimit", 10)


def template_generation(tree: Tree) -> int:
    """How often the template changed, as the annotation says; raises BadRequest when it says no number."""
    text = (tree["metadata"].get("annotations") or {}).get(TEMPLATE_GENERATION)
    if text is None:
        return 0
    problem = ""
    if not _NUMBER.fullmatch(text):
        problem = "invalid syntax"
    elif not -(2**63) <= int(text) < 2**63:
        problem = "value out of range"
    if problem:
        head = 'DaemonSet in version "v1" cannot be handled as a DaemonSet'
        raise BadRequest(f'{head}: strconv.ParseInt: parsing "{text}": {problem}')
    return int(text)


def _set_template_generation(tree: Tree, generation: int) -> None:
    metadata = tree["metadata"]
    metadata["annotations"] = {**(metadata.get("annotations") or {}), TEMPLATE_GENERATION: str(generation)}


def _prepare_create(tree: Tree, _call: Call) -> None:
    tree["status"] = empty(shape(_STATUS))
    tree["metadata"]["generation"] = 1
    _set_template_generation(tree, max(1, template_generation(tree)))
    _drop_disabled(tree)


def _prepare_update(new: Tree, old: Tree, _call: Call) -> None:
    _drop_disabled(new)
    keep(new, old, "status")
    generation, counted = template_generation(old), old["metadata"].get("generation", 0)
    spec, before = new["spec"], old["spec"]
    if not same(spec["template"], before["template"]):
        generation, counted = generation + 1, counted + 1
    elif not same(spec, before):
        counted += 1
    _set_template_generation(new, generation)
    if counted:
        new["metadata"]["generation"] = counted


def _prepare_status(new: Tree, old: Tree, _call: Call) -> None:
    keep(new, old, "spec")
    # The annotation stands for a field of the spec.
    _set_template_generation(new, template_generation(old))


def _drop_disabled(tree: Tree) -> None:
    template = tree["spec"]["template"]
    drop_disabled(template["spec"], (template.get("metadata") or {}).get("annotations"))


def _validate(tree: Tree) -> Errors:
    return _validate_spec(tree, STRICT, any_values=False)


def _validate_update(new: Tree, old: Tree) -> Errors:
    spec, before = new["spec"], old["spec"]
    if not same(spec.get("selector"), before.get("selector")):
        yield invalid("spec.selector", _selector(spec), "field is immutable")
    any_values = has_invalid_values(before.get("selector"))
    yield from judged(lambda lenient: _validate_spec(new, lenient, any_values=any_values), before["template"])


def _validate_spec(tree: Tree, lenient: Leniency, *, any_values: bool) -> Errors:
    spec = tree["spec"]
    template = spec["template"]
    yield from _validate_selector(spec, any_values=any_values or lenient.selector_values)
    yield from validate_template(template, "spec.template", lenient)
    policy = template["spec"].get("restartPolicy", "")
    if policy != "Always":
        yield not_supported("spec.template.spec.restartPolicy", policy, ("Always",))
    if template["spec"].get("activeDeadlineSeconds") is not None:
        sentence = "activeDeadlineSeconds in DaemonSet is not Supported"
        yield forbidden("spec.template.spec.activeDeadlineSeconds", sentence)
    yield from fields.not_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    yield from fields.not_negative("spec.templateGeneration", template_generation(tree))
    yield from _validate_strategy(spec.get("updateStrategy") or {}, "spec.updateStrategy")
    yield from fields.not_negative("spec.revisionHistoryLimit", spec.get("revisionHistoryLimit"))


def _validate_selector(spec: Tree, *, any_values: bool) -> Errors:
    selector = spec.get("selector")
    errors = list(validate_label_selector(selector, "spec.selector", any_values=any_values))
    yield from errors
    labels = (spec["template"].get("metadata") or {}).get("labels")
    parsed = None if selector is None else msgspec.convert(selector, LabelSelector)
    # A selector that cannot be understood is refused for that alone; one that is missing selects nothing.
    understood = not errors and not has_invalid_values(selector)
    if parsed is None or (understood and not parsed.matches(labels or {})):
        sentence = "`selector` does not match template `labels`"
        yield invalid("spec.template.metadata.labels", labels, sentence)
    if parsed is not None and parsed.empty:
        yield invalid("spec.selector", {}, "empty selector is invalid for daemonset")


def _selector(spec: Tree) -> Any:
    selector = spec.get("selector")
    return None if selector is None else as_go("LabelSelector", selector)


def _validate_strategy(strategy: Tree, path: str) -> Errors:
    if strategy.get("type") not in STRATEGIES:
        yield not_supported(path, as_go("DaemonSetUpdateStrategy", strategy), STRATEGIES)
    elif strategy["type"] == "RollingUpdate":
        rolling = strategy.get("rollingUpdate")
        if rolling is None:
            yield required(f"{path}.rollingUpdate")
        else:
            yield from _validate_rolling_update(rolling, f"{path}.rollingUpdate")


def _validate_rolling_update(rolling: Tree, path: str) -> Errors:
    amounts = {name: rolling.get(name, 0) for name in ("maxUnavailable", "maxSurge")}
    for name, amount in amounts.items():
        if isinstance(amount, str):
            yield from fields.wrong(f"{path}.{name}", amount, formats.percent(amount))
        else:
            yield from fields.not_negative(f"{path}.{name}", amount)
    for name, amount in amounts.items():
        if isinstance(amount, str) and not formats.percent(amount) and int(amount[:-1]) > 100:
            yield invalid(f"{path}.{name}", amount, "must not be greater than 100%")
    down, up = (_number(amount) for amount in amounts.values())
    if down and up:
        yield invalid(f"{path}.maxSurge", amounts["maxSurge"], "may not be set when maxUnavailable is non-zero")
    elif not down and not up:
        yield required(f"{path}.maxUnavailable", "cannot be 0 when maxSurge is 0")


def _number(amount: int | str) -> int:
    """The number in `3`, `"3"` and `"3%"`; a text that is neither counts as none."""
    if isinstance(amount, int):
        return amount
    text = amount if formats.percent(amount) else amount[:-1]
    return int(text) if _NUMBER.fullmatch(text) else 0


def _validate_status(new: Tree, old: Tree) -> Errors:
    status, before = new.get("status") or {}, old.get("status") or {}
    for name in _COUNTERS:
        yield from fields.not_negative(f"status.{name}", status.get(name))
    count, known = status.get("collisionCount"), before.get("collisionCount")
    if known is not None and (count is None or count < known):
        yield invalid("status.collisionCount", count or 0, "cannot be decremented")


def _warn(new: Tree, old: Tree | None) -> Iterator[str]:
    if old is None or template_generation(new) != template_generation(old):
        yield from warnings_for(new["spec"]["template"], "spec.template")


def _row(tree: Tree, now: float) -> list[Any]:
    spec, status = tree["spec"], tree.get("status") or {}
    pod = spec["template"].get("spec") or {}
    containers = pod.get("containers") or ()
    counters = ("desiredNumberScheduled", "currentNumberScheduled", "numberReady")
    later = ("updatedNumberScheduled", "numberAvailable")
    nodes = ",".join(f"{key}={value}" for key, value in sorted((pod.get("nodeSelector") or {}).items()))
    return [
        name_of(tree),
        *(status.get(name, 0) for name in (*counters, *later)),
        nodes or NONE,
        age_of(tree, now),
        ",".join(container.get("name", "") for container in containers),
        ",".join(container.get("image", "") for container in containers),
        _selector_text(spec.get("selector")),
    ]


def _selector_text(selector: Tree | None) -> str:
    if selector is None:
        return ""
    parsed = msgspec.convert(selector, LabelSelector)
    return "<error>" if parsed.problem else parsed.text or NONE


COLUMNS = (
    NAME,
    Column("Desired", "integer", "Nodes that should run a pod of the set."),
    Column("Current", "integer", "Nodes that should run one and do."),
    Column("Ready", "integer", "Nodes that should run one and have one that is ready."),
    Column("Up-to-date", "integer", "Nodes whose pod is made from the newest template."),
    Column("Available", "integer", "Nodes whose pod has been ready for minReadySeconds."),
    Column("Node Selector", description="Labels that a node must have for the set to run there."),
    AGE,
    Column("Containers", priority=1, description="Names of each container in the template."),
    Column("Images", priority=1, description="Images referenced by each container in the template."),
    Column("Selector", priority=1, description="Which pods belong to the set."),
)
DAEMON_SETS_KIND = Kind(
    resource=DAEMON_SETS,
    singular="daemonset",
    definition="io.k8s.api.apps.v1.DaemonSet",
    short_names=("ds",),
    categories=("all",),
    has_status=True,
    default=default,
    prepare_create=_prepare_create,
    prepare_update=_prepare_update,
    prepare_status=_prepare_status,
    validate=_validate,
    validate_update=_validate_update,
    tells_empty=True,
    field_annotations=(TEMPLATE_GENERATION,),
    whole_update=True,
    validate_status=_validate_status,
    validate_name=name_rules.dns_subdomain,
    warn=_warn,
    columns=COLUMNS,
    row=_row,
)
