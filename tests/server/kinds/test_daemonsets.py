"""DaemonSets as a kind."""

from __future__ import annotations

from typing import Any

import pytest

from eachnode.objects.status import BadRequest
from eachnode.server.kind import Tree
from eachnode.server.kinds.daemonsets import DAEMON_SETS_KIND, TEMPLATE_GENERATION
from tests.sentences import VALUE

from .judging import CALL, NOW, cells, created, faults, read, status_faults, update_faults, updated

TEMPLATE: Tree = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
SELECTOR: Tree = {"matchLabels": {"a": "b"}}


def spec(**fields: Any) -> Tree:
    return {"selector": SELECTOR, "template": TEMPLATE, **fields}


def stored(**fields: Any) -> Tree:
    return created(DAEMON_SETS_KIND, spec=spec(**fields))


def generations(tree: Tree) -> tuple[int, str]:
    """(generation, generation of the template)."""
    metadata = tree["metadata"]
    return metadata.get("generation", 0), metadata["annotations"][TEMPLATE_GENERATION]


def test_a_new_daemonset_is_filled_in() -> None:
    tree = created(DAEMON_SETS_KIND, spec=spec(), status={"numberReady": 5})
    assert set(tree["status"].values()) == {0}
    assert generations(tree) == (1, "1")
    assert tree["spec"]["updateStrategy"] == {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0},
    }
    assert tree["spec"]["revisionHistoryLimit"] == 10
    pod = tree["spec"]["template"]["spec"]
    assert pod["containers"][0]["imagePullPolicy"] == "Always"
    assert (pod["dnsPolicy"], pod["restartPolicy"], pod["securityContext"]) == ("ClusterFirst", "Always", {})
    assert "enableServiceLinks" not in pod


def test_templates_are_not_filled_in_like_pods() -> None:
    container = {
        "name": "c",
        "image": "i",
        "ports": [{"containerPort": 80}],
        "resources": {"limits": {"cpu": "1"}},
    }
    template = {**TEMPLATE, "spec": {"containers": [container], "hostNetwork": True}}
    pod = created(DAEMON_SETS_KIND, spec=spec(template=template))["spec"]["template"]["spec"]
    assert pod["containers"][0]["ports"] == [{"containerPort": 80, "protocol": "TCP"}]
    assert pod["containers"][0]["resources"] == {"limits": {"cpu": "1"}}
    assert faults(DAEMON_SETS_KIND, spec=spec(template=template)) == []


def test_on_delete_needs_no_numbers() -> None:
    tree = stored(updateStrategy={"type": "OnDelete"})
    assert tree["spec"]["updateStrategy"] == {"type": "OnDelete"}
    tree = stored(updateStrategy={"type": "OnDelete", "rollingUpdate": {"maxSurge": 3}})
    assert tree["spec"]["updateStrategy"]["rollingUpdate"] == {"maxUnavailable": 0, "maxSurge": 3}


@pytest.mark.parametrize(("given", "kept"), [("7", "7"), ("0", "1"), ("-3", "1")])
def test_the_generation_of_the_template_may_be_given_at_birth(given: str, kept: str) -> None:
    tree = created(DAEMON_SETS_KIND, metadata={"annotations": {TEMPLATE_GENERATION: given}}, spec=spec())
    assert generations(tree) == (1, kept)


@pytest.mark.parametrize(("text", "problem"), [("x", "invalid syntax"), ("9" * 19, "value out of range")])
def test_a_generation_that_is_no_number_makes_the_object_unreadable(text: str, problem: str) -> None:
    with pytest.raises(BadRequest) as refused:
        read(DAEMON_SETS_KIND, metadata={"annotations": {TEMPLATE_GENERATION: text}}, spec=spec())
    assert refused.value.message == (
        f'DaemonSet in version "v1" cannot be handled as a DaemonSet: strconv.ParseInt: parsing "{text}": {problem}'
    )


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, (4, "3")),
        ({"minReadySeconds": 5}, (5, "3")),
        ({"template": {**TEMPLATE, "spec": {"containers": [{"name": "c", "image": "other"}]}}}, (5, "4")),
        ({"template": {**TEMPLATE, "metadata": {"labels": {"a": "b", "c": "d"}}}}, (5, "4")),
        ({"template": {**TEMPLATE, "spec": {**TEMPLATE["spec"], "tolerations": [], "nodeSelector": {}}}}, (4, "3")),
        ({"template": {**TEMPLATE, "spec": {**TEMPLATE["spec"], "affinity": {}}}}, (5, "4")),
        ({"template": {**TEMPLATE, "spec": {**TEMPLATE["spec"], "priority": 0}}}, (5, "4")),
    ],
)
def test_generations_count_what_changes(fields: Tree, expected: tuple[int, str]) -> None:
    old = stored()
    old["metadata"] |= {"generation": 4, "annotations": {TEMPLATE_GENERATION: "3"}}
    new = read(DAEMON_SETS_KIND, metadata={"annotations": {TEMPLATE_GENERATION: "99"}}, spec=spec(**fields))
    new["metadata"]["generation"] = 4  # As the verb leaves it.
    DAEMON_SETS_KIND.prepare_update(new, old, CALL)
    assert generations(new) == expected


def test_an_update_keeps_the_status_and_a_status_update_the_spec() -> None:
    old = stored()
    old["status"] = {"numberReady": 1}
    assert updated(DAEMON_SETS_KIND, old, spec=spec(), status={"numberReady": 9})["status"] == {"numberReady": 1}
    new = read(DAEMON_SETS_KIND, spec={"template": {"spec": {"containers": None}}}, status={"numberReady": 2})
    DAEMON_SETS_KIND.prepare_status(new, old, CALL)
    assert new["spec"] == old["spec"]
    assert new["status"]["numberReady"] == 2


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (
            {"selector": None},
            [
                (
                    "spec.template.metadata.labels",
                    'Invalid value: {"a":"b"}: `selector` does not match template `labels`',
                )
            ],
        ),
        ({"selector": {}}, [("spec.selector", "Invalid value: {}: empty selector is invalid for daemonset")]),
        (
            {"selector": {"matchExpressions": [{"key": "a", "operator": "Near", "values": ["b"]}]}},
            [("spec.selector.matchExpressions[0].operator", 'Invalid value: "Near": not a valid selector operator')],
        ),
        (
            {"selector": {"matchLabels": {"a": "no value"}}},
            [("spec.selector.matchLabels", f'Invalid value: "no value": {VALUE}')],
        ),
        (
            {
                "selector": {"matchLabels": {"a": "c"}},
                "template": {
                    **TEMPLATE,
                    "spec": {"containers": [], "restartPolicy": "OnFailure", "activeDeadlineSeconds": 5},
                },
                "minReadySeconds": -1,
                "revisionHistoryLimit": -2,
                "updateStrategy": {"type": "Never"},
            },
            [
                (
                    "spec.template.metadata.labels",
                    'Invalid value: {"a":"b"}: `selector` does not match template `labels`',
                ),
                ("spec.template.spec.containers", "Required value"),
                ("spec.template.spec.restartPolicy", 'Unsupported value: "OnFailure": supported values: "Always"'),
                (
                    "spec.template.spec.activeDeadlineSeconds",
                    "Forbidden: activeDeadlineSeconds in DaemonSet is not Supported",
                ),
                ("spec.minReadySeconds", "Invalid value: -1: must be greater than or equal to 0"),
                (
                    "spec.updateStrategy",
                    'Unsupported value: {"Type":"Never","RollingUpdate":null}: '
                    'supported values: "RollingUpdate", "OnDelete"',
                ),
                ("spec.revisionHistoryLimit", "Invalid value: -2: must be greater than or equal to 0"),
            ],
        ),
        (
            {"template": {"metadata": {"labels": {"a": "b", "c d": ""}}, "spec": TEMPLATE["spec"]}},
            [
                (
                    "spec.template.labels",
                    "Invalid value: \"c d\": name part must consist of alphanumeric characters, '-', '_' or '.', and "
                    "must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', "
                    "regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
                )
            ],
        ),
        (
            {
                "template": {
                    **TEMPLATE,
                    "spec": {**TEMPLATE["spec"], "ephemeralContainers": [{"name": "e", "image": "i"}]},
                }
            },
            [
                (
                    "spec.template.spec.ephemeralContainers",
                    "Forbidden: ephemeral containers not allowed in pod template",
                )
            ],
        ),
    ],
)
def test_what_is_wrong_with_a_daemonset(fields: Tree, expected: Any) -> None:
    assert faults(DAEMON_SETS_KIND, spec=spec(**fields)) == expected


PERCENT = (
    "a valid percent string must be a numeric string followed by an ending '%' "
    "(e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
)
BOTH = "may not be set when maxUnavailable is non-zero"
NEITHER = [("maxUnavailable", "Required value: cannot be 0 when maxSurge is 0")]


@pytest.mark.parametrize(
    ("rolling", "expected"),
    [
        ({"maxSurge": 1}, [("maxSurge", f"Invalid value: 1: {BOTH}")]),
        ({"maxSurge": "10%"}, [("maxSurge", f'Invalid value: "10%": {BOTH}')]),
        ({"maxSurge": 1, "maxUnavailable": 0}, []),
        ({"maxUnavailable": 0}, NEITHER),
        ({"maxUnavailable": "0%"}, NEITHER),
        ({"maxUnavailable": 5000}, []),
        ({"maxUnavailable": "101%"}, [("maxUnavailable", 'Invalid value: "101%": must not be greater than 100%')]),
        (
            {"maxUnavailable": "ten%", "maxSurge": -1},
            [
                ("maxUnavailable", f'Invalid value: "ten%": {PERCENT}'),
                ("maxSurge", "Invalid value: -1: must be greater than or equal to 0"),
            ],
        ),
        ({"maxUnavailable": "3"}, [("maxUnavailable", f'Invalid value: "3": {PERCENT}')]),
    ],
)
def test_a_rolling_update_takes_down_or_adds_pods_but_not_both(rolling: Tree, expected: Any) -> None:
    found = faults(DAEMON_SETS_KIND, spec=spec(updateStrategy={"rollingUpdate": rolling}))
    assert [(path.removeprefix("spec.updateStrategy.rollingUpdate."), message) for path, message in found] == expected


def test_the_selector_stays() -> None:
    assert update_faults(DAEMON_SETS_KIND, stored(), spec=spec(selector={"matchLabels": {"a": "other"}})) == [
        ("spec.selector", 'Invalid value: {"matchLabels":{"a":"other"}}: field is immutable'),
        (
            "spec.template.metadata.labels",
            'Invalid value: {"a":"b"}: `selector` does not match template `labels`',
        ),
    ]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({}, {"numberReady": -1}, [("status.numberReady", "Invalid value: -1: must be greater than or equal to 0")]),
        ({}, {"collisionCount": 0}, []),
        (
            {"collisionCount": 2},
            {"collisionCount": 1},
            [("status.collisionCount", "Invalid value: 1: cannot be decremented")],
        ),
        ({"collisionCount": 0}, {}, [("status.collisionCount", "Invalid value: 0: cannot be decremented")]),
    ],
)
def test_what_is_wrong_with_a_status(before: Tree, after: Tree, expected: Any) -> None:
    old = stored()
    old["status"] = before
    assert status_faults(DAEMON_SETS_KIND, old, spec=spec(), status=after) == expected


def test_a_template_is_warned_of_when_it_is_new() -> None:
    template = {**TEMPLATE, "spec": {**TEMPLATE["spec"], "nodeSelector": {"beta.kubernetes.io/os": "linux"}}}
    old = stored(template=template)
    warning = 'spec.template.spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" '
    assert list(DAEMON_SETS_KIND.warn(old, None)) == [f"{warning}instead"]
    assert list(DAEMON_SETS_KIND.warn(updated(DAEMON_SETS_KIND, old, spec=old["spec"]), old)) == []


def test_a_daemonset_in_a_table() -> None:
    tree = stored(template={**TEMPLATE, "spec": {**TEMPLATE["spec"], "nodeSelector": {"x": "y", "b": "c"}}})
    tree["metadata"]["creationTimestamp"] = "2023-11-14T22:08:20Z"
    tree["status"] = {"desiredNumberScheduled": 3, "currentNumberScheduled": 2, "numberReady": 1}
    assert cells(DAEMON_SETS_KIND, tree, now=NOW) == {
        "Name": "x",
        "Desired": 3,
        "Current": 2,
        "Ready": 1,
        "Up-to-date": 0,
        "Available": 0,
        "Node Selector": "b=c,x=y",
        "Age": "5m",
        "Containers": "c",
        "Images": "i",
        "Selector": "a=b",
    }
    assert cells(DAEMON_SETS_KIND, stored(), now=NOW)["Node Selector"] == "<none>"
