"""Each mistake is found, what is right is left alone, and what is said to be refused is refused by the server."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eachnode.decisions.eligibility import Placement, judge
from eachnode.decisions.lint import RULES, Severity, lint
from eachnode.objects.daemonset import DaemonSet
from eachnode.objects.resources import DAEMON_SETS
from eachnode.objects.status import ApiError
from tests.decisions.world import node
from tests.worlds import World, world

Tree = dict[str, Any]
Change = Callable[[Tree], None]

GOOD: Tree = {
    "apiVersion": "apps/v1",
    "kind": "DaemonSet",
    "metadata": {"name": "agent"},
    "spec": {
        "selector": {"matchLabels": {"app": "agent"}},
        "template": {
            "metadata": {"labels": {"app": "agent"}},
            "spec": {
                "priorityClassName": "system-node-critical",
                "containers": [
                    {"name": "c", "image": "i:1", "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}}},
                ],
            },
        },
    },
}


def pod(**fields: Any) -> Change:
    return lambda tree: tree["spec"]["template"]["spec"].update(fields)


def container(**fields: Any) -> Change:
    return lambda tree: tree["spec"]["template"]["spec"]["containers"][0].update(fields)


def spec(**fields: Any) -> Change:
    return lambda tree: tree["spec"].update(fields)


def rolling(**fields: Any) -> Change:
    return spec(updateStrategy={"type": "RollingUpdate", "rollingUpdate": fields})


def named(name: str, *changes: Change) -> Change:
    return both(lambda tree: tree["metadata"].update(name=name), *changes)


def both(*changes: Change) -> Change:
    def change(tree: Tree) -> None:
        for each in changes:
            each(tree)

    return change


def required(**term: Any) -> Change:
    terms = {"nodeSelectorTerms": [term]}
    return pod(affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}})


def volume(path: str, read_only: bool | None = None, kind: str | None = None) -> Change:
    mount: Tree = {"name": "v", "mountPath": "/v"} | ({} if read_only is None else {"readOnly": read_only})
    host_path = {"path": path} | ({} if kind is None else {"type": kind})
    return both(pod(volumes=[{"name": "v", "hostPath": host_path}]), container(volumeMounts=[mount]))


BY_NAME = {"key": "metadata.name", "operator": "In", "values": ["n1"]}
PORTS = [{"containerPort": 80, "hostPort": 80}]
REFUSED: dict[str, Change] = {
    "selector-missing": spec(selector=None),
    "selector-missing ": spec(selector={}),
    "selector-broken": spec(selector={"matchExpressions": [{"key": "app", "operator": "In", "values": []}]}),
    "selector-mismatch": spec(selector={"matchLabels": {"app": "other"}}),
    "surge-with-unavailable": rolling(maxSurge=1),
    "surge-with-unavailable ": rolling(maxSurge="10%", maxUnavailable=1),
    "budget-zero": rolling(maxUnavailable=0),
    "no-containers": pod(containers=[]),
    "no-image": container(image=""),
    "restart-policy": pod(restartPolicy="OnFailure"),
    "deadline": pod(activeDeadlineSeconds=60),
    "unreadable": spec(selector={"matchLabels": {"app": 1}}),
}
MISTAKEN: dict[str, Change] = {
    "surge-with-host-port": both(rolling(maxSurge=1, maxUnavailable=0), container(ports=PORTS)),
    "surge-with-host-port ": both(
        rolling(maxSurge=1, maxUnavailable=0), pod(hostNetwork=True), container(ports=[{"containerPort": 80}])
    ),
    "affinity-on-node-name": required(matchExpressions=[BY_NAME]),
    "affinity-matches-nothing": required(matchExpressions=[]),
    "api-version": lambda tree: tree.update(apiVersion="extensions/v1beta1"),
    "replicas": spec(replicas=3),
}
WARNED: dict[str, Change] = {
    "all-at-once": rolling(maxUnavailable="100%"),
    "node-name": pod(nodeName="n1"),
    "no-priority-class": pod(priorityClassName=None),
    "no-requests": container(resources={"requests": {"cpu": "1"}}),
    "moving-tag": container(image="registry.example:5000/i"),
    "moving-tag ": container(image="i:latest"),
    "writable-host-path": volume("/var/log"),
    "host-network-dns": pod(hostNetwork=True),
    "tolerations": named("calico-node", pod(tolerations=[{"key": "a", "operator": "Exists"}])),
    "tolerations ": named("node-exporter"),
    "tolerations  ": named("nvidia-device-plugin"),
    "tolerations   ": named("ebs-csi-node"),
}
FINE: dict[str, Change] = {
    "as it is": lambda _: None,
    "surge": rolling(maxSurge=1, maxUnavailable=0),
    "a node by matchFields": required(matchFields=[BY_NAME]),
    "a digest": container(image="i@sha256:" + "0" * 64),
    "a port and a tag": container(image="registry.example:5000/i:1"),
    "limits only": container(resources={"limits": {"cpu": "1", "memory": "1Gi"}}),
    "read-only": volume("/var/log", read_only=True),
    "a socket": volume("/run/containerd/containerd.sock"),
    "made to be written": volume("/var/lib/agent", kind="DirectoryOrCreate"),
    "on the host's network with names": pod(hostNetwork=True, dnsPolicy="ClusterFirstWithHostNet"),
    "nulls": both(
        pod(tolerations=[{"key": "a", "operator": "Exists", "value": None}], volumes=None), spec(replicas=None)
    ),
    "tolerates all": named("calico-node", pod(tolerations=[{"operator": "Exists"}])),
    "tolerates the control plane": named(
        "fluentd", pod(tolerations=[{"key": "node-role.kubernetes.io/control-plane", "operator": "Exists"}])
    ),
}


def changed(change: Change) -> Tree:
    tree = copy.deepcopy(GOOD)
    change(tree)
    return tree


@pytest.mark.parametrize("rule", [*REFUSED, *MISTAKEN])
def test_what_does_not_work_is_an_error(rule: str) -> None:
    found = lint(changed((REFUSED | MISTAKEN)[rule]))
    assert [(each.rule, each.severity) for each in found if each.severity is Severity.ERROR] == [
        (rule.strip(), Severity.ERROR)
    ]


@pytest.mark.parametrize("rule", WARNED)
def test_what_works_until_it_hurts_is_a_warning(rule: str) -> None:
    found = lint(changed(WARNED[rule]))
    assert [(each.rule, each.severity) for each in found] == [(rule.strip(), Severity.WARNING)]


@pytest.mark.parametrize("case", FINE)
def test_what_is_right_is_left_alone(case: str) -> None:
    assert lint(changed(FINE[case])) == []


def test_every_rule_is_shown() -> None:
    silent = [
        rule.__name__
        for rule in RULES
        if not any(list(rule(_written(change))) for change in (REFUSED | MISTAKEN | WARNED).values())
    ]
    assert silent == []


def _written(change: Change) -> Any:
    from eachnode.decisions.lint_view import Written

    try:
        return msgspec.convert(changed(change), Written)
    except msgspec.ValidationError:
        return Written(api_version="apps/v1")


async def test_the_server_refuses_what_is_said_to_be_refused_and_takes_the_rest() -> None:
    async with world(without=("controller", "scheduler", "kubelet", "node-lifecycle")) as it:
        for case, change in (REFUSED | MISTAKEN | WARNED | FINE).items():
            tree = changed(change)
            if case in ("api-version", "replicas"):
                continue  # Another kind, and a field that the server drops with a warning.
            assert (case in REFUSED) == await _is_refused(it, tree), case


async def _is_refused(it: World, tree: Tree) -> bool:
    try:
        await it.door.create(DAEMON_SETS, msgspec.json.encode(tree), "default", dry_run=True)
    except ApiError:
        return True
    return False


def test_an_affinity_on_a_label_called_metadata_name_really_matches_nothing() -> None:
    tree = changed(MISTAKEN["affinity-on-node-name"])
    daemonset = msgspec.json.decode(msgspec.json.encode(tree), type=DaemonSet)
    assert not judge(Placement.of(daemonset.template), node("n1")).should_run


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
places = st.sampled_from(
    [
        ("spec",),
        ("spec", "selector"),
        ("spec", "updateStrategy"),
        ("spec", "template"),
        ("spec", "template", "spec"),
        ("spec", "template", "spec", "containers"),
        ("spec", "template", "spec", "affinity"),
        ("spec", "template", "spec", "tolerations"),
        ("spec", "template", "spec", "volumes"),
        ("metadata",),
    ]
)


@settings(max_examples=300)
@given(places, anything)
def test_nonsense_gets_a_finding_and_no_traceback(place: tuple[str, ...], value: Any) -> None:
    tree = copy.deepcopy(GOOD)
    inner = tree
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    for finding in lint(tree):
        assert finding.because
        assert finding.fix
        assert finding.path
