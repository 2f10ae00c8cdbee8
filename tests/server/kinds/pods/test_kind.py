"""Pods as a kind: what the server fills in, what it makes of a new pod, what may change."""

from __future__ import annotations

from typing import Any

import pytest

from eachnode.server.kind import Tree
from eachnode.server.kinds.pods.kind import PODS_KIND, SoundPods, grace
from tests.sentences import LABEL
from tests.server.kinds.judging import CALL, created, faults, listed, read, status_faults, update_faults, updated

from .pod_trees import CONTAINER, spec_of


def pod(**spec: Any) -> Tree:
    return created(PODS_KIND, spec=spec_of(**spec))


def bound(**spec: Any) -> Tree:
    return pod(nodeName="node-1", **spec)


def test_a_new_pod_is_pending_and_of_the_first_generation() -> None:
    tree = created(PODS_KIND, spec=spec_of(), status={"phase": "Running", "podIP": "10.0.0.1"})
    assert tree["status"] == {"phase": "Pending", "qosClass": "BestEffort"}
    assert tree["metadata"]["generation"] == 1


def test_a_pod_gets_every_default() -> None:
    tree = read(
        PODS_KIND,
        spec={
            "containers": [
                {
                    "name": "c",
                    "image": "app",
                    "ports": [{"containerPort": 80}],
                    "resources": {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "0.5"}},
                    "readinessProbe": {"grpc": {"port": 1}},
                    "livenessProbe": {"httpGet": {"port": 1}},
                    "env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
                }
            ],
            "hostNetwork": True,
            "serviceAccount": "old",
            "volumes": [
                {"name": "a"},
                {"name": "b", "hostPath": {"path": "/x"}},
                {"name": "c", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}},
            ],
        },
    )
    spec, container = tree["spec"], tree["spec"]["containers"][0]
    assert spec["serviceAccountName"] == spec["serviceAccount"] == "old"
    assert (spec["dnsPolicy"], spec["restartPolicy"], spec["schedulerName"]) == (
        "ClusterFirst",
        "Always",
        "default-scheduler",
    )
    assert (spec["terminationGracePeriodSeconds"], spec["securityContext"], spec["enableServiceLinks"]) == (
        30,
        {},
        True,
    )
    assert container["imagePullPolicy"] == "Always"
    assert (container["terminationMessagePath"], container["terminationMessagePolicy"]) == (
        "/dev/termination-log",
        "File",
    )
    assert container["ports"] == [{"containerPort": 80, "protocol": "TCP", "hostPort": 80}]
    assert container["resources"]["requests"] == {"cpu": "500m", "memory": "1Gi"}
    probe = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
    assert container["readinessProbe"] == {"grpc": {"port": 1, "service": ""}, **probe}
    assert container["livenessProbe"] == {"httpGet": {"port": 1, "path": "/", "scheme": "HTTP"}, **probe}
    assert container["env"][0]["valueFrom"]["fieldRef"]["apiVersion"] == "v1"
    assert spec["volumes"][0] == {"name": "a", "emptyDir": {}}
    assert spec["volumes"][1]["hostPath"] == {"path": "/x", "type": ""}
    assert spec["volumes"][2]["projected"] == {
        "sources": [{"serviceAccountToken": {"path": "t", "expirationSeconds": 3600}}],
        "defaultMode": 420,
    }


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("nginx", "Always"),
        ("nginx:latest", "Always"),
        ("nginx:1.2", "IfNotPresent"),
        ("localhost:5000/nginx", "Always"),
        ("localhost:5000/nginx:v1", "IfNotPresent"),
        ("registry.example.com/team/app@sha256:" + "a" * 64, "IfNotPresent"),
        ("registry.example.com/team/app:latest@sha256:" + "a" * 64, "Always"),
        ("app@sha256:abc", "IfNotPresent"),  # No image name at all: its tag is unknown.
        ("Nginx", "IfNotPresent"),
        ("Registry/nginx", "Always"),
        ("a" * 64, "IfNotPresent"),
        ("", "IfNotPresent"),
    ],
)
def test_images_that_may_change_are_pulled_each_time(image: str, policy: str) -> None:
    tree = read(PODS_KIND, spec=spec_of(containers=[{"name": "c", "image": image}]))
    assert tree["spec"]["containers"][0]["imagePullPolicy"] == policy


@pytest.mark.parametrize(
    ("resources", "quality"),
    [
        ([{}], "BestEffort"),
        ([{"requests": {"example.com/gpu": "1"}, "limits": {"example.com/gpu": "1"}}], "BestEffort"),
        ([{"requests": {"cpu": "1"}}], "Burstable"),
        ([{"limits": {"cpu": "1"}}], "Burstable"),
        ([{"limits": {"cpu": "1", "memory": "1Gi"}}], "Guaranteed"),
        ([{"limits": {"cpu": "1000m", "memory": "1024Mi"}, "requests": {"cpu": "1", "memory": "1Gi"}}], "Guaranteed"),
        ([{"limits": {"cpu": "1", "memory": "1Gi"}}, {}], "Burstable"),
    ],
)
def test_the_class_of_service_follows_from_requests_and_limits(resources: list[Tree], quality: str) -> None:
    containers = [{"name": f"c{n}", "image": "i", "resources": item} for n, item in enumerate(resources)]
    assert pod(containers=containers)["status"]["qosClass"] == quality


def test_what_a_pod_asks_for_as_a_whole_is_completed_from_its_containers() -> None:
    limited = {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "200m", "memory": "512Mi"}}
    containers = [{"name": name, "image": "i", "resources": limited} for name in ("a", "b")]
    tree = pod(containers=containers, resources={"limits": {"memory": "4Gi"}})
    assert tree["spec"]["resources"] == {
        "limits": {"memory": "4Gi", "cpu": "2"},
        "requests": {"cpu": "400m", "memory": "1Gi"},
    }


def test_fields_that_are_switched_off_are_dropped() -> None:
    tree = pod(
        containers=[
            {**CONTAINER, "lifecycle": {"stopSignal": "SIGTERM"}},
            {"name": "d", "image": "i", "lifecycle": {"stopSignal": "SIGTERM", "preStop": {"sleep": {"seconds": 1}}}},
        ]
    )
    assert "lifecycle" not in tree["spec"]["containers"][0]
    assert tree["spec"]["containers"][1]["lifecycle"] == {"preStop": {"sleep": {"seconds": 1}}}


def test_a_pod_with_gates_says_why_it_is_not_scheduled() -> None:
    condition = pod(schedulingGates=[{"name": "example.com/wait"}])["status"]["conditions"][0]
    assert (condition["type"], condition["status"], condition["reason"]) == ("PodScheduled", "False", "SchedulingGated")
    assert condition["message"] == "Scheduling is blocked due to non-empty scheduling gates"


def test_label_keys_become_part_of_their_selectors() -> None:
    spread = {
        "maxSkew": 1,
        "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "x"}},
        "matchLabelKeys": ["version", "absent"],
    }
    tree = created(PODS_KIND, metadata={"labels": {"version": "7"}}, spec=spec_of(topologySpreadConstraints=[spread]))
    selector = tree["spec"]["topologySpreadConstraints"][0]["labelSelector"]
    assert selector["matchExpressions"] == [{"key": "version", "operator": "In", "values": ["7"]}]


def test_an_old_annotation_becomes_the_profile_field() -> None:
    key = "container.apparmor.security.beta.kubernetes.io/c"
    call = type(CALL)(CALL.caller, CALL.now)
    tree = read(PODS_KIND, metadata={"annotations": {key: "localhost/strict"}}, spec=spec_of())
    PODS_KIND.prepare_create(tree, call)
    profile = tree["spec"]["containers"][0]["securityContext"]["appArmorProfile"]
    assert profile == {"type": "Localhost", "localhostProfile": "strict"}
    assert call.warnings == [
        f'metadata.annotations[{key}]: deprecated since v1.30; use the "appArmorProfile" field instead'
    ]


@pytest.mark.parametrize(
    ("spec", "status", "asked", "seconds"),
    [
        ({"nodeName": "n", "terminationGracePeriodSeconds": 30}, {"phase": "Running"}, None, 30),
        ({"nodeName": "n", "terminationGracePeriodSeconds": 30}, {"phase": "Running"}, 5, 5),
        ({"nodeName": "n", "terminationGracePeriodSeconds": 30}, {"phase": "Running"}, -1, 1),
        ({"terminationGracePeriodSeconds": 30}, {"phase": "Pending"}, None, 0),
        ({"nodeName": "n", "terminationGracePeriodSeconds": 30}, {"phase": "Failed"}, 20, 0),
        ({"nodeName": "n", "terminationGracePeriodSeconds": 30}, {"phase": "Succeeded"}, None, 0),
    ],
)
def test_only_a_pod_that_may_run_gets_time_to_end(spec: Tree, status: Tree, asked: int | None, seconds: int) -> None:
    assert grace({"metadata": {}, "spec": spec, "status": status}, asked) == seconds


# Updates --------------------------------------------------------------------------------------------------------------

SENTENCE = (
    "Forbidden: pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n"
)


def changed(old: Tree, **spec: Any) -> list[tuple[str, str]]:
    return update_faults(PODS_KIND, old, spec={**old["spec"], **spec})


def test_the_refusal_of_a_change_shows_it_in_the_words_of_the_internal_object() -> None:
    tolerations = [
        {"key": f"node.kubernetes.io/{name}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
        for name in ("not-ready", "unreachable")
    ]
    old = created(
        PODS_KIND,
        spec={
            "containers": [{"image": "nginx:2", "name": "c"}],
            "nodeSelector": {"oracle": "nowhere"},
            "nodeName": "node-1",
            "tolerations": tolerations,
            "priority": 0,
        },
    )
    assert changed(old, nodeName="elsewhere") == [
        (
            "spec",
            SENTENCE + '@@ -45,7 +45,7 @@\n  "ServiceAccountName": "",\n  "DeprecatedServiceAccount": "",\n'
            '  "AutomountServiceAccountToken": null,\n- "NodeName": "node-1",\n+ "NodeName": "elsewhere",\n'
            '  "HostNetwork": false,\n  "HostPID": false,\n  "HostIPC": false,\n',
        )
    ]


def test_the_diff_shows_nested_changes_with_their_surroundings() -> None:
    old = bound(volumes=[{"name": "v", "hostPath": {"path": "/a"}}])
    (fault,) = changed(old, volumes=[{"name": "v", "hostPath": {"path": "/b"}}])
    assert fault == (
        "spec",
        SENTENCE + '@@ -3,7 +3,7 @@\n   {\n    "Name": "v",\n    "HostPath": {\n-    "Path": "/a",\n'
        '+    "Path": "/b",\n     "Type": ""\n    },\n    "EmptyDir": null,\n',
    )


@pytest.mark.parametrize(
    "spec",
    [
        {"containers": [{**CONTAINER, "image": "app:2"}]},
        {"activeDeadlineSeconds": 5},
        {"tolerations": [{"operator": "Exists"}]},
    ],
)
def test_images_deadlines_and_tolerations_may_change_and_count(spec: Tree) -> None:
    old = bound()
    assert update_faults(PODS_KIND, old, spec={**old["spec"], **spec}) == []
    assert updated(PODS_KIND, old, spec={**old["spec"], **spec})["metadata"]["generation"] == 2


def test_an_amount_in_other_words_is_no_change() -> None:
    old = bound(containers=[{**CONTAINER, "resources": {"requests": {"memory": "1Gi"}}}])
    same = [{**old["spec"]["containers"][0], "resources": {"requests": {"memory": "1073741824"}}}]
    assert changed(old, containers=same) == []
    new = updated(PODS_KIND, old, metadata={"generation": 1}, spec={**old["spec"], "containers": same})
    assert new["metadata"]["generation"] == 1


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (
            {},
            {"containers": [CONTAINER, {"name": "d", "image": "i"}]},
            [("spec.containers", "Forbidden: pod updates may not add or remove containers")],
        ),
        (
            {"activeDeadlineSeconds": 5},
            {"activeDeadlineSeconds": 9},
            [("spec.activeDeadlineSeconds", "Invalid value: 9: must be less than or equal to previous value")],
        ),
        (
            {"activeDeadlineSeconds": 5},
            {"activeDeadlineSeconds": None},
            [
                (
                    "spec.activeDeadlineSeconds",
                    "Invalid value: null: must not update from a positive integer to nil value",
                )
            ],
        ),
        (
            {"tolerations": [{"key": "a", "operator": "Exists"}]},
            {"tolerations": [{"key": "b", "operator": "Exists"}]},
            [
                (
                    "spec.tolerations",
                    "Forbidden: existing toleration can not be modified except its tolerationSeconds",
                )
            ],
        ),
    ],
)
def test_what_an_update_of_a_pod_may_not_do(before: Tree, after: Tree, expected: list[tuple[str, str]]) -> None:
    assert changed(bound(**before), **after)[: len(expected)] == expected


def test_a_toleration_may_last_longer() -> None:
    old = bound(tolerations=[{"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}])
    assert changed(old, tolerations=[{**old["spec"]["tolerations"][0], "tolerationSeconds": 9}]) == []


def test_gates_go_and_never_come() -> None:
    old = pod(schedulingGates=[{"name": "a"}, {"name": "b"}])
    assert changed(old, schedulingGates=[{"name": "b"}]) == []
    assert changed(old, schedulingGates=[{"name": "c"}]) == [
        (
            "spec.schedulingGates[0].name",
            "Forbidden: only deletion is allowed, but found new scheduling gate 'c'",
        )
    ]


def test_a_gated_pod_may_be_narrowed_down_and_not_widened() -> None:
    expression = {"key": "a", "operator": "In", "values": ["1"]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    old = pod(schedulingGates=[{"name": "a"}], nodeSelector={"x": "y"}, affinity=affinity)
    more = {"nodeSelectorTerms": [{"matchExpressions": [expression, {"key": "b", "operator": "Exists"}]}]}
    narrower = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": more}}
    assert changed(old, nodeSelector={"x": "y", "z": "1"}, affinity=narrower) == []
    assert changed(old, nodeSelector={"x": "other"}) == [
        (
            "spec.nodeSelector",
            'Invalid value: {"x":"other"}: only additions to spec.nodeSelector are allowed (no mutations or deletions)',
        )
    ]
    other = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "c", "operator": "Exists"}]}]}
    widened = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": other}}
    path = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]"
    assert changed(old, affinity=widened) == [
        (
            path,
            'Invalid value: {"MatchExpressions":[{"Key":"c","Operator":"Exists","Values":null}],"MatchFields":null}: '
            "only additions are allowed (no mutations or deletions)",
        )
    ]


def test_an_update_may_keep_a_fault_that_was_there() -> None:
    expression = {"key": "a", "operator": "In", "values": ["bad value"]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    old = bound(affinity=affinity)
    assert faults(PODS_KIND, spec=spec_of(affinity=affinity))
    assert changed(old, containers=[{**CONTAINER, "image": "app:2"}]) == []


def test_mirror_annotations_stay() -> None:
    old = bound()
    old["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x"}
    assert update_faults(PODS_KIND, old, spec=old["spec"]) == [
        (
            "metadata.annotations[kubernetes.io/config.mirror]",
            "Forbidden: may not remove or update mirror pod annotation",
        )
    ]


# Status ---------------------------------------------------------------------------------------------------------------


def test_a_status_update_keeps_spec_owners_and_quality() -> None:
    old = bound()
    old["metadata"]["ownerReferences"] = [{"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u"}]
    new = read(PODS_KIND, spec={"containers": []}, status={"phase": "Running"})
    PODS_KIND.prepare_status(new, old, CALL)
    assert new["spec"] == old["spec"]
    assert new["metadata"]["ownerReferences"] == old["metadata"]["ownerReferences"]
    assert new["status"] == {"phase": "Running", "qosClass": "BestEffort"}


def test_a_generation_that_was_observed_is_not_forgotten() -> None:
    old = bound()
    old["status"] |= {
        "observedGeneration": 3,
        "conditions": [{"type": "Ready", "status": "False", "observedGeneration": 2}],
    }
    new = read(PODS_KIND, status={"conditions": [{"type": "Ready", "status": "True"}]})
    PODS_KIND.prepare_status(new, old, CALL)
    assert new["status"]["observedGeneration"] == 3
    assert new["status"]["conditions"][0]["observedGeneration"] == 2


def test_one_address_and_the_list_agree() -> None:
    tree = read(PODS_KIND, status={"podIP": "10.0.0.1"})
    assert tree["status"]["podIPs"] == [{"ip": "10.0.0.1"}]
    tree = read(PODS_KIND, status={"podIPs": [{"ip": "10.0.0.2"}]})
    assert tree["status"]["podIP"] == "10.0.0.2"
    tree = read(PODS_KIND, status={"podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.2"}]})
    assert tree["status"]["podIPs"] == [{"ip": "10.0.0.1"}]


def ended(code: int) -> Tree:
    return {"containerStatuses": [{"name": "c", "state": {"terminated": {"exitCode": code}}}]}


RUNS = {"containerStatuses": [{"name": "c", "state": {"running": {}}}]}
NO_RETURN = [("status.containerStatuses[0].state", "Forbidden: may not be transitioned to non-terminated state")]


@pytest.mark.parametrize(
    ("spec", "code", "expected"),
    [
        ({"restartPolicy": "Always"}, 0, []),
        ({"restartPolicy": "Never"}, 1, NO_RETURN),
        ({"restartPolicy": "OnFailure"}, 1, []),
        ({"restartPolicy": "OnFailure"}, 0, NO_RETURN),
        ({"restartPolicy": "Never", "containers": [{**CONTAINER, "restartPolicy": "Always"}]}, 0, []),
        (
            {
                "restartPolicy": "Never",
                "containers": [
                    {
                        **CONTAINER,
                        "restartPolicy": "Never",
                        "restartPolicyRules": [{"action": "Restart", "exitCodes": {"operator": "In", "values": [42]}}],
                    }
                ],
            },
            42,
            [],
        ),
    ],
)
def test_a_container_that_ended_for_good_does_not_come_back(spec: Tree, code: int, expected: Any) -> None:
    old = bound(**spec)
    old["status"] |= ended(code)
    assert status_faults(PODS_KIND, old, status=RUNS) == expected


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (
            {"podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}]},
            [
                (
                    "status.podIPs",
                    'Invalid value: [{"IP":"10.0.0.1"},{"IP":"10.0.0.2"}]: '
                    "may specify no more than one IP for each IP family",
                )
            ],
        ),
        ({"podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}]}, []),
        (
            {"podIP": "010.0.0.1"},
            [("status.podIPs[0]", 'Invalid value: "010.0.0.1": must not have leading 0s')],
        ),
        (
            {"podIP": "here"},
            [
                (
                    "status.podIPs[0]",
                    'Invalid value: "here": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
                )
            ],
        ),
        (
            {"hostIP": "10.0.0.1", "hostIPs": [{"ip": "10.0.0.2"}]},
            [("status.hostIPs[0].ip", 'Invalid value: "10.0.0.2": must be equal to `hostIP`')],
        ),
        ({"qosClass": "Guaranteed"}, [("status.qosClass", 'Invalid value: "Guaranteed": field is immutable')]),
        (
            {"nominatedNodeName": "other"},
            [
                (
                    "status.nominatedNodeName",
                    "Forbidden: may not be set on pods that are already bound to a node",
                )
            ],
        ),
        (
            {"conditions": [{"type": "Ready", "status": "True"}, {"type": "a/b/c", "status": "True"}]},
            [
                (
                    "status.conditions[1].Type",
                    "Invalid value: \"a/b/c\": a valid label key must consist of alphanumeric characters, '-', '_' or "
                    "'.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or "
                    "'123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an "
                    "optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
                )
            ],
        ),
    ],
)
def test_what_a_status_may_not_say(status: Tree, expected: Any) -> None:
    assert status_faults(PODS_KIND, bound(), status=status) == expected


# What was judged once -------------------------------------------------------------------------------------------------


def daemon_pod(node: str, **spec: Any) -> Tree:
    fields = [{"key": "metadata.name", "operator": "In", "values": [node]}]
    terms = {"nodeSelectorTerms": [{"matchFields": fields}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "u", "controller": True}
    return created(PODS_KIND, metadata={"ownerReferences": [owner]}, spec=spec_of(affinity=affinity, **spec))


def test_pods_of_one_owner_are_judged_by_their_differences_and_nothing_slips_through() -> None:
    sound = SoundPods()
    assert listed(sound.validate(daemon_pod("node-1"))) == []
    assert listed(sound.validate(daemon_pod("node-2"))) == []
    (wrong_node,) = listed(sound.validate(daemon_pod("Bad_Node")))
    assert wrong_node[0].endswith("nodeSelectorTerms[0].matchFields[0].values[0]")
    assert listed(sound.validate(daemon_pod("node-3", nodeName="No_Node")))[0][0] == "spec.nodeName"
    # Another spec of the same owner is judged whole.
    assert listed(sound.validate(daemon_pod("node-4", hostname="A.B"))) == [
        ("spec.hostname", f'Invalid value: "A.B": {LABEL}')
    ]
    assert listed(sound.validate(daemon_pod("node-4", hostname="A.B"))) != []


def test_only_so_many_owners_are_remembered() -> None:
    sound = SoundPods(most=2)
    for number in range(5):
        tree = daemon_pod("node-1")
        tree["metadata"]["ownerReferences"][0]["uid"] = f"u{number}"
        assert listed(sound.validate(tree)) == []
    assert len(sound._known) == 2


def test_warnings_are_for_people_who_make_pods() -> None:
    tree = created(PODS_KIND, metadata={"name": "a.b"}, spec=spec_of(nodeSelector={"beta.kubernetes.io/os": "linux"}))
    assert list(PODS_KIND.warn(tree, None)) == [
        "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is "
        "recommended: [must not contain dots]",
        'spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead',
    ]
    assert list(PODS_KIND.warn(tree, tree)) == []


@pytest.mark.parametrize(
    ("field", "tree", "value"),
    [
        ("spec.nodeName", {"spec": {"nodeName": "n"}}, "n"),
        ("spec.nodeName", {}, ""),
        ("spec.hostNetwork", {"spec": {"hostNetwork": True}}, "true"),
        ("spec.hostNetwork", {"spec": {}}, "false"),
        ("status.phase", {"status": {"phase": "Running"}}, "Running"),
        ("status.podIP", {"status": {"podIPs": [{"ip": "10.0.0.1"}]}}, "10.0.0.1"),
        ("spec.serviceAccountName", {"spec": {"serviceAccountName": "s"}}, "s"),
    ],
)
def test_pods_can_be_selected_by_what_they_are(field: str, tree: Tree, value: str) -> None:
    assert PODS_KIND.fields[field]({"metadata": {}, **tree}) == value
