"""Which faults a stored pod or template has that an update may keep: rules grew stricter, objects stayed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain

from eachnode.objects.formats import label_value
from eachnode.server.field_errors import FieldError
from eachnode.server.kind import Tree
from eachnode.server.kinds.labels import validate_label_selector
from eachnode.server.kinds.pods.parts import containers_of, inner, is_sidecar
from eachnode.server.kinds.pods.validation import fields
from eachnode.server.kinds.pods.validation.annotations import has_sound_cost
from eachnode.server.kinds.pods.validation.fields import Leniency
from eachnode.server.kinds.pods.validation.placement import validate_label_keys, validate_term_selectors
from eachnode.server.kinds.pods.validation.resources import HUGE_PAGES, divides
from eachnode.server.kinds.pods.validation.security import shared_by_host
from eachnode.server.kinds.pods.validation.spec import STRICT

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def judged(validate: Callable[[Leniency], Iterable[FieldError]], old: Tree) -> list[FieldError]:
    """The errors of an update of a pod or template: strictly, and if there are some, sparing what the old one had."""
    errors = list(validate(STRICT))
    return list(validate(leniency_for(old))) if errors else errors


def leniency_for(old: Tree) -> Leniency:
    """The faults of a stored pod or template (`metadata` and `spec`)."""
    spec = old.get("spec") or {}
    spreading = spec.get("topologySpreadConstraints") or ()
    own_users = spec.get("hostUsers") is False
    return Leniency(
        selector_values=any(_any(validate_term_selectors(term, "", any_values=False)) for term in _pod_terms(spec)),
        node_values=any(label_value(value) for value in _required_values(spec)),
        spread_selector=any(_any(validate_label_selector(item.get("labelSelector"), "")) for item in spreading),
        spread_keys=any(
            _any(validate_label_keys("", item.get("matchLabelKeys") or (), (), item.get("labelSelector")))
            for item in spreading
        ),
        huge_pages=any(not divides(name, amount) for name, amount in _huge_pages(spec)),
        token_paths=any(_any(fields.local_path("", path)) for path in _token_paths(spec)),
        host_sysctls=any(shared_by_host(item.get("name", ""), spec) for item in _sysctls(spec)),
        deletion_cost=not has_sound_cost((old.get("metadata") or {}).get("annotations") or {}),
        restarting_init_resize=any(_restarts_on_resize(item) for item in spec.get("initContainers") or ()),
        devices_in_user_namespace=own_users and any(item.get("volumeDevices") for item in containers_of(spec)),
        host_network_in_user_namespace=own_users and bool(spec.get("hostNetwork")),
        empty_image_reference=any(_has_no_reference(volume) for volume in spec.get("volumes") or ()),
        admin_without_escalation=any(_is_admin(item) for item in containers_of(spec)),
    )


def _any(errors: Iterable[FieldError]) -> bool:
    return any(True for _ in errors)


def _pod_terms(spec: Tree) -> Iterator[Tree]:
    for kind in ("podAffinity", "podAntiAffinity"):
        pods = inner(spec, "affinity", kind) or {}
        yield from pods.get(_REQUIRED) or ()
        yield from (item.get("podAffinityTerm") or {} for item in pods.get(_PREFERRED) or ())


def _required_values(spec: Tree) -> Iterator[str]:
    for term in inner(spec, "affinity", "nodeAffinity", _REQUIRED, "nodeSelectorTerms") or ():
        for expression in term.get("matchExpressions") or ():
            yield from expression.get("values") or ()


def _huge_pages(spec: Tree) -> Iterator[tuple[str, str]]:
    for container in containers_of(spec):
        resources: Mapping[str, Mapping[str, str]] = container.get("resources") or {}
        amounts = chain((resources.get("limits") or {}).items(), (resources.get("requests") or {}).items())
        yield from ((name, amount) for name, amount in amounts if name.startswith(HUGE_PAGES))


def _token_paths(spec: Tree) -> Iterator[str]:
    for volume in spec.get("volumes") or ():
        for source in inner(volume, "projected", "sources") or ():
            if (token := source.get("serviceAccountToken")) is not None:
                yield token.get("path", "")


def _sysctls(spec: Tree) -> Iterable[Tree]:
    return inner(spec, "securityContext", "sysctls") or ()


def _restarts_on_resize(container: Tree) -> bool:
    policies = container.get("resizePolicy") or ()
    return not is_sidecar(container) and any(item.get("restartPolicy") == "RestartContainer" for item in policies)


def _has_no_reference(volume: Tree) -> bool:
    image = volume.get("image")
    return image is not None and not image.get("reference")


def _is_admin(container: Tree) -> bool:
    context = container.get("securityContext") or {}
    added = inner(context, "capabilities", "add") or ()
    return not context.get("allowPrivilegeEscalation") and "CAP_SYS_ADMIN" in added
