"""Whatever is of the right shape can be judged: no rule breaks over odd values."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from eachnode.objects.status import ApiError
from eachnode.server.field_errors import refusal
from eachnode.server.kind import Tree
from eachnode.server.kinds.daemonsets import DAEMON_SETS_KIND
from eachnode.server.kinds.pods.go_shapes import GoField, as_go, fields_of
from eachnode.server.kinds.pods.kind import PODS_KIND
from eachnode.server.schema import decode
from tests.server.kinds.judging import CALL

TEXTS = st.sampled_from(
    ["", "a", "A", "a.b", "a/b", "a/b/c", "..", "../x", "/x", "é", "\x00", "Always", "Never", "Exists", "In", "Gt",
     "Localhost", "RuntimeDefault", "metadata.labels['x']", "spec.nodeName", "limits.cpu", "iqn.2001-04.com.example:x",
     "10.0.0.1", "::1", "net.x", "localhost/x", "a:b", "DoNotSchedule", "windows", "linux", "Unmasked", "1", "-1"]
)  # fmt: skip
AMOUNTS = st.sampled_from(["0", "1", "-1", "1m", "100u", "1Gi", "1e3", "1.5", "2Mi"])
NUMBERS = st.sampled_from([-1, 0, 1, 2, 80, 511, 512, 70000, 2**31 - 1])
RESOURCES = st.dictionaries(
    st.sampled_from(["cpu", "memory", "hugepages-2Mi", "hugepages-x", "a.b/c", "pods"]), AMOUNTS
)
LABELS = st.dictionaries(TEXTS, TEXTS, max_size=2)
LISTS_OF_NUMBERS = {"supplementalGroups"}
# What stands behind a shape that the table leaves open.
OPEN: dict[str, st.SearchStrategy[Any]] = {
    "limits": RESOURCES,
    "requests": RESOURCES,
    "overhead": RESOURCES,
    "nodeSelector": LABELS,
    "options": LABELS,
    "volumeAttributes": LABELS,
    "userAnnotations": LABELS,
    "sizeLimit": AMOUNTS,
    "divisor": AMOUNTS,
}
FLAGS = {
    "automountServiceAccountToken", "shareProcessNamespace", "enableServiceLinks", "setHostnameAsFQDN", "hostUsers",
    "optional", "privileged", "runAsNonRoot", "readOnlyRootFilesystem", "allowPrivilegeEscalation", "hostProcess",
}  # fmt: skip
COUNTS = {
    "terminationGracePeriodSeconds", "activeDeadlineSeconds", "priority", "defaultMode", "mode", "lun", "runAsUser",
    "runAsGroup", "fsGroup", "tolerationSeconds", "minDomains", "expirationSeconds", "maxExpirationSeconds",
}  # fmt: skip
LISTS = {
    "command", "args", "portals", "monitors", "targetWWNs", "wwids", "accessModes", "values", "namespaces",
    "matchLabelKeys", "mismatchLabelKeys", "hostnames", "nameservers", "searches", "add", "drop",
}  # fmt: skip
SWITCHED_OFF = {"schedulingGroup", "evictionResponders", "user", "defaultUser", "bindMountOptions", "protocol"}


def value_of(field: GoField, depth: int) -> st.SearchStrategy[Any]:
    """Values of one field."""
    shape = field.shape
    if field.json in OPEN:
        return OPEN[field.json]
    if shape == "p":
        if field.json in FLAGS:
            return st.booleans()
        if field.json in COUNTS:
            return NUMBERS
        if field.json in LISTS:
            return st.lists(TEXTS, max_size=2)
        return st.lists(NUMBERS, max_size=2) if field.json in LISTS_OF_NUMBERS else TEXTS
    plain = {"s": TEXTS, "b": st.booleans(), "i": NUMBERS, "o": st.one_of(TEXTS, NUMBERS), "q": AMOUNTS}
    if shape in plain:
        return plain[shape]
    name = shape.lstrip("*[]")
    if name == "LabelSelector":
        return selectors()
    tree = trees(name, depth - 1)
    return st.lists(tree, max_size=2) if shape.startswith("[]") else tree


def selectors() -> st.SearchStrategy[Tree]:
    expression = st.fixed_dictionaries(
        {"key": TEXTS, "operator": TEXTS}, optional={"values": st.lists(TEXTS, max_size=2)}
    )
    return st.fixed_dictionaries(
        {}, optional={"matchLabels": LABELS, "matchExpressions": st.lists(expression, max_size=2)}
    )


@st.composite
def trees(draw: st.DrawFn, name: str, depth: int = 5) -> Tree:
    """Trees of a type, with few of its fields."""
    fields = [field for field in fields_of(name) if field.go and field.json not in SWITCHED_OFF]
    if depth <= 0:
        fields = [field for field in fields if field.shape in ("s", "b", "i")]
    chosen = draw(st.lists(st.sampled_from(fields), max_size=6, unique=True)) if fields else []
    return {field.json: draw(value_of(field, depth)) for field in chosen}


@st.composite
def specs(draw: st.DrawFn) -> Tree:
    """Pod specs, most of them with containers."""
    spec = draw(trees("PodSpec"))
    spec.setdefault("containers", draw(st.lists(trees("Container"), max_size=2)))
    return spec


ANNOTATIONS = st.dictionaries(
    st.sampled_from(
        [
            "kubernetes.io/config.mirror",
            "scheduler.alpha.kubernetes.io/tolerations",
            "controller.kubernetes.io/pod-deletion-cost",
            "seccomp.security.alpha.kubernetes.io/pod",
            "container.seccomp.security.alpha.kubernetes.io/a",
            "container.apparmor.security.beta.kubernetes.io/a",
        ]
    ),
    st.sampled_from(["", "x", "1", "localhost/x", "unconfined", "runtime/default", "[]", "[{}]", "[1]"]),
    max_size=2,
)


def made(kind: Any, metadata: Tree, spec: Tree) -> Tree | None:
    """The object as it would be stored, or None when the tables refuse it already."""
    body = {"apiVersion": kind.resource.api_version, "kind": kind.resource.kind, "metadata": metadata, "spec": spec}
    try:
        tree = decode(kind, msgspec.json.encode(body), CALL)
        kind.default(tree)
    except ApiError:
        return None
    kind.prepare_create(tree, CALL)
    return tree


@settings(max_examples=150)
@given(specs(), specs(), ANNOTATIONS)
def test_pods_of_any_shape_can_be_judged_changed_and_shown(one: Tree, other: Tree, annotations: dict[str, str]) -> None:
    trees_made = [
        made(PODS_KIND, {"name": "x", "namespace": "ns", "annotations": annotations}, spec) for spec in (one, other)
    ]
    for tree in trees_made:
        if tree is not None:
            refusal(PODS_KIND.resource, "x", PODS_KIND.validate(tree))
            list(PODS_KIND.warn(tree, None))
            assert PODS_KIND.row is not None
            assert len(PODS_KIND.row(tree, 0.0)) == len(PODS_KIND.columns)
            as_go("PodSpec", tree["spec"])
    old, new = trees_made
    if old is not None and new is not None:
        PODS_KIND.prepare_update(new, old, CALL)
        refusal(PODS_KIND.resource, "x", PODS_KIND.validate_update(new, old))
        resize = PODS_KIND.subresources["resize"]
        resize.prepare(new, old, CALL)
        list(resize.validate(new, old))


@settings(max_examples=80)
@given(specs(), specs())
def test_templates_of_any_shape_can_be_judged_and_changed(one: Tree, other: Tree) -> None:
    template = {"metadata": {"labels": {"a": "b"}}}
    selector = {"matchLabels": {"a": "b"}}
    trees_made = [
        made(
            DAEMON_SETS_KIND,
            {"name": "x", "namespace": "ns"},
            {"selector": selector, "template": {**template, "spec": spec}},
        )
        for spec in (one, other)
    ]
    for tree in trees_made:
        if tree is not None:
            refusal(DAEMON_SETS_KIND.resource, "x", DAEMON_SETS_KIND.validate(tree))
            list(DAEMON_SETS_KIND.warn(tree, None))
    old, new = trees_made
    if old is not None and new is not None:
        DAEMON_SETS_KIND.prepare_update(new, old, CALL)
        list(DAEMON_SETS_KIND.validate_update(new, old))


@settings(max_examples=60)
@given(specs())
def test_a_sound_pod_updated_with_itself_is_sound_and_unchanged(spec: Tree) -> None:
    tree = made(PODS_KIND, {"name": "x", "namespace": "ns"}, spec)
    again = made(PODS_KIND, {"name": "x", "namespace": "ns"}, spec)
    if tree is None or again is None or list(PODS_KIND.validate(tree)):
        return
    again["metadata"]["generation"] = 1
    PODS_KIND.prepare_update(again, tree, CALL)
    assert again["metadata"]["generation"] == 1
    assert list(PODS_KIND.validate_update(again, tree)) == []
