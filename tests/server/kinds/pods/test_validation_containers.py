"""What is wrong with containers, in the reference's words and at its paths."""

from __future__ import annotations

from typing import Any

import pytest

from eachnode.server.kind import Tree
from tests.sentences import LABEL, SUBDOMAIN

from .pod_trees import CONTAINER, container_faults, spec_faults

PULLS = 'supported values: "Always", "IfNotPresent", "Never"'


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"name": ""}, [("name", "Required value")]),
        ({"name": "Bad_Name"}, [("name", f'Invalid value: "Bad_Name": {LABEL}')]),
        ({"name": "a.b"}, [("name", 'Invalid value: "a.b": must not contain dots')]),
        ({"image": ""}, [("image", "Required value")]),
        ({"image": " app"}, [("image", 'Invalid value: " app": must not have leading or trailing whitespace')]),
        ({"imagePullPolicy": "Often"}, [("imagePullPolicy", f'Unsupported value: "Often": {PULLS}')]),
        (
            {"terminationMessagePolicy": "Shout"},
            [
                (
                    "terminationMessagePolicy",
                    'Unsupported value: "Shout": supported values: "File", "FallbackToLogsOnError"',
                )
            ],
        ),
        (
            {"ports": [{"name": "a"}, {"containerPort": 70000, "hostPort": -1, "protocol": "ICMP"}]},
            [
                ("ports[0].containerPort", "Required value"),
                ("ports[1].containerPort", "Invalid value: 70000: must be between 1 and 65535, inclusive"),
                ("ports[1].hostPort", "Invalid value: -1: must be between 1 and 65535, inclusive"),
                ("ports[1].protocol", 'Unsupported value: "ICMP": supported values: "SCTP", "TCP", "UDP"'),
            ],
        ),
        (
            {"ports": [{"name": "web", "containerPort": 1}, {"name": "web", "containerPort": 2}]},
            [("ports[1].name", 'Duplicate value: "web"')],
        ),
        (
            {"ports": [{"name": "Web--", "containerPort": 1}]},
            [
                (
                    "ports[0].name",
                    'Invalid value: "Web--": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)',
                ),
                ("ports[0].name", 'Invalid value: "Web--": must not contain consecutive hyphens'),
                ("ports[0].name", 'Invalid value: "Web--": must not begin or end with a hyphen'),
            ],
        ),
        (
            {"ports": [{"containerPort": 1, "hostPort": 80}, {"containerPort": 2, "hostPort": 80}]},
            [("ports[1].hostPort", 'Duplicate value: "TCP//80"')],
        ),
        (
            {"env": [{"name": ""}, {"name": "a=b"}, {"name": "A", "valueFrom": {}}]},
            [
                ("env[0].name", "Required value"),
                (
                    "env[1].name",
                    'Invalid value: "a=b": a valid environment variable name must consist only of printable ASCII '
                    "characters other than '='",
                ),
                (
                    "env[2].valueFrom",
                    'Invalid value: "": must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, '
                    "`secretKeyRef` or `fileKeyRef`",
                ),
            ],
        ),
        (
            {"env": [{"name": "A", "value": "x", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]},
            [("env[0].valueFrom", 'Invalid value: "": may not be specified when `value` is not empty')],
        ),
        (
            {"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "spec.hostPID"}}}]},
            [
                (
                    "env[0].valueFrom.fieldRef.fieldPath",
                    'Invalid value: "spec.hostPID": error converting fieldPath: '
                    "field label not supported: spec.hostPID",
                )
            ],
        ),
        (
            {"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "status.phase"}}}]},
            [
                (
                    "env[0].valueFrom.fieldRef.fieldPath",
                    'Unsupported value: "status.phase": supported values: "metadata.name", "metadata.namespace", '
                    '"metadata.uid", "spec.nodeName", "spec.serviceAccountName", "status.hostIP", "status.hostIPs", '
                    '"status.podIP", "status.podIPs"',
                )
            ],
        ),
        ({"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['a/b']"}}}]}, []),
        (
            {"env": [{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "3"}}}]},
            [
                (
                    "env[0].valueFrom.resourceFieldRef.divisor",
                    'Invalid value: "limits.cpu": only divisor\'s values 1m and 1 are supported with the cpu resource',
                )
            ],
        ),
        (
            {"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "No_", "key": "a/b"}}}]},
            [
                ("env[0].valueFrom.secretKeyRef.name", f'Invalid value: "No_": {SUBDOMAIN}'),
                (
                    "env[0].valueFrom.secretKeyRef.key",
                    "Invalid value: \"a/b\": a valid config key must consist of alphanumeric characters, '-', '_' or "
                    "'.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is "
                    "'[-._a-zA-Z0-9]+')",
                ),
            ],
        ),
        (
            {"envFrom": [{}, {"configMapRef": {}}, {"configMapRef": {"name": "a"}, "secretRef": {"name": "b"}}]},
            [
                ("envFrom", 'Invalid value: "": must specify one of: `configMapRef` or `secretRef`'),
                ("envFrom[1].configMapRef.name", "Required value"),
                ("envFrom", 'Invalid value: "": may not have more than one field specified at a time'),
            ],
        ),
        (
            {"volumeMounts": [{"name": "gone", "mountPath": "/x"}]},
            [("volumeMounts[0].name", 'Not found: "gone"')],
        ),
        (
            {"livenessProbe": {"successThreshold": 2, "exec": {}, "periodSeconds": -1}},
            [
                ("livenessProbe.exec.command", "Required value"),
                ("livenessProbe.periodSeconds", "Invalid value: -1: must be greater than or equal to 0"),
                ("livenessProbe.successThreshold", "Invalid value: 2: must be 1"),
            ],
        ),
        (
            {"readinessProbe": {"terminationGracePeriodSeconds": 5}},
            [
                ("readinessProbe", "Required value: must specify a handler type"),
                (
                    "readinessProbe.terminationGracePeriodSeconds",
                    "Invalid value: 5: must not be set for readinessProbes",
                ),
            ],
        ),
        (
            {"startupProbe": {"exec": {"command": ["a"]}, "httpGet": {"port": 1}}},
            [("startupProbe.httpGet", "Forbidden: may not specify more than 1 handler type")],
        ),
        (
            {"livenessProbe": {"httpGet": {"port": "no!", "scheme": "FTP", "httpHeaders": [{"name": "a b"}]}}},
            [
                (
                    "livenessProbe.httpGet.port",
                    'Invalid value: "no!": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)',
                ),
                ("livenessProbe.httpGet.scheme", 'Unsupported value: "FTP": supported values: "HTTP", "HTTPS"'),
                (
                    "livenessProbe.httpGet.httpHeaders",
                    "Invalid value: \"a b\": a valid HTTP header must consist of alphanumeric characters or '-' "
                    "(e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')",
                ),
            ],
        ),
        (
            {"lifecycle": {"preStop": {"sleep": {"seconds": 31}}, "postStart": {}}},
            [
                ("lifecycle.postStart", "Required value: must specify a handler type"),
                (
                    "lifecycle.preStop.sleep",
                    "Invalid value: 31: must be non-negative and less than terminationGracePeriodSeconds (30)",
                ),
            ],
        ),
        (
            {"restartPolicyRules": [{"action": "Dance"}]},
            [
                ("restartPolicy", "Required value: must specify restartPolicy when restart rules are used"),
                (
                    "restartPolicyRules[0].action",
                    'Unsupported value: "Dance": supported values: "Restart", "RestartAllContainers"',
                ),
                ("restartPolicyRules[0].exitCodes", "Required value: must be specified"),
            ],
        ),
        (
            {"resizePolicy": [{"resourceName": "gpu", "restartPolicy": "Maybe"}]},
            [
                ("resizePolicy", 'Unsupported value: "gpu": supported values: "cpu", "memory"'),
                (
                    "resizePolicy",
                    'Unsupported value: "Maybe": supported values: "NotRequired", "RestartContainer"',
                ),
            ],
        ),
    ],
)
def test_containers(fields: Tree, expected: Any) -> None:
    assert container_faults(**fields) == expected


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        (
            {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}},
            [("requests", 'Invalid value: "2": must be less than or equal to cpu limit of 1')],
        ),
        (
            {"requests": {"cpu": "-1"}},
            [("requests[cpu]", 'Invalid value: "-1": must be greater than or equal to 0')],
        ),
        (
            {"requests": {"pods": "1"}},
            [("requests[pods]", 'Invalid value: "pods": must be a standard resource for containers')],
        ),
        (
            {"requests": {"bananas": "1"}},
            [
                ("requests[bananas]", 'Invalid value: "bananas": must be a standard resource type or fully qualified'),
                ("requests[bananas]", 'Invalid value: "bananas": must be a standard resource for containers'),
            ],
        ),
        (
            {"requests": {"example.com/gpu": "1"}},
            [("limits", "Required value: Limit must be set for non overcommitable resources")],
        ),
        (
            {"requests": {"example.com/gpu": "1"}, "limits": {"example.com/gpu": "2"}},
            [("requests", 'Invalid value: "1": must be equal to example.com/gpu limit of 2')],
        ),
        (
            {"limits": {"example.com/gpu": "500m"}},
            [
                ("limits[example.com/gpu]", 'Invalid value: "500m": must be an integer'),
                ("requests[example.com/gpu]", 'Invalid value: "500m": must be an integer'),
            ],
        ),
        (
            {"limits": {"hugepages-2Mi": "3Mi"}},
            [
                (
                    "limits[hugepages-2Mi]",
                    'Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi',
                ),
                (
                    "requests[hugepages-2Mi]",
                    'Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi',
                ),
                ("", "Forbidden: HugePages require cpu or memory"),
            ],
        ),
        (
            {"claims": [{"name": "gpu"}, {"name": "gpu"}]},
            [
                (
                    "claims[0]",
                    'Not found: "gpu": must be one of the names in pod.spec.resourceClaims which is empty',
                ),
                ("claims[1]", 'Duplicate value: "gpu"'),
                (
                    "claims[1]",
                    'Not found: "gpu": must be one of the names in pod.spec.resourceClaims which is empty',
                ),
            ],
        ),
    ],
)
def test_resources(resources: Tree, expected: Any) -> None:
    found = container_faults(resources=resources)
    assert [(path.removeprefix("resources").removeprefix("."), message) for path, message in found] == expected


def test_containers_are_told_apart_by_name() -> None:
    twice = [dict(CONTAINER), dict(CONTAINER)]
    assert spec_faults(containers=twice) == [("containers[1].name", 'Duplicate value: "c"')]
    assert spec_faults(initContainers=[CONTAINER]) == [("initContainers[0].name", 'Duplicate value: "c"')]
    assert spec_faults(containers=[]) == [("containers", "Required value")]


def test_an_init_container_has_no_probes_unless_it_stays() -> None:
    init = {"name": "i", "image": "x", "readinessProbe": {"exec": {"command": ["a"]}}, "lifecycle": {}}
    sentence = "Forbidden: may not be set for init containers without restartPolicy=Always"
    assert spec_faults(initContainers=[init]) == [
        ("initContainers[0].lifecycle", sentence),
        ("initContainers[0].readinessProbe", sentence),
    ]
    assert spec_faults(initContainers=[{**init, "restartPolicy": "Always"}]) == []


def test_init_containers_run_one_by_one_and_may_use_the_same_port() -> None:
    inits = [{"name": name, "image": "x", "ports": [{"containerPort": 1, "hostPort": 1}]} for name in ("a", "b")]
    assert spec_faults(initContainers=inits) == []


def test_mounts_and_devices_keep_out_of_each_others_way() -> None:
    volumes = [
        {"name": "claim", "persistentVolumeClaim": {"claimName": "x"}},
        {"name": "dir", "emptyDir": {}},
    ]
    container = {
        **CONTAINER,
        "volumeMounts": [
            {"name": "claim", "mountPath": "/a"},
            {"name": "dir", "mountPath": "/a", "subPath": "../up", "subPathExpr": "/abs"},
            {"name": "dir", "mountPath": "/b", "mountPropagation": "Bidirectional", "recursiveReadOnly": "Enabled"},
        ],
        "volumeDevices": [
            {"name": "claim", "devicePath": "/dev/x"},
            {"name": "dir", "devicePath": "/dev/../y"},
            {"name": "gone", "devicePath": "/dev/z"},
        ],
    }
    mounts, devices = "containers[0].volumeMounts", "containers[0].volumeDevices"
    assert spec_faults(volumes=volumes, containers=[container]) == [
        (f"{mounts}[0].name", 'Invalid value: "claim": must not already exist in volumeDevices'),
        (f"{mounts}[1].mountPath", 'Invalid value: "/a": must be unique'),
        (f"{mounts}[1].name", 'Invalid value: "dir": must not already exist in volumeDevices'),
        (f"{mounts}.subPath", "Invalid value: \"../up\": must not contain '..'"),
        (f"{mounts}[1].subPathExpr", 'Invalid value: "/abs": subPathExpr and subPath are mutually exclusive'),
        (f"{mounts}.subPathExpr", 'Invalid value: "/abs": must be a relative path'),
        (f"{mounts}[2].name", 'Invalid value: "dir": must not already exist in volumeDevices'),
        (
            f"{mounts}.mountPropagation",
            "Forbidden: Bidirectional mount propagation is available only to privileged containers",
        ),
        (f"{mounts}.recursiveReadOnly", "Forbidden: may only be specified when readOnly is true"),
        (
            f"{mounts}.recursiveReadOnly",
            "Forbidden: may only be specified when mountPropagation is None or not specified",
        ),
        (f"{devices}[0].name", 'Invalid value: "claim": must not already exist in volumeMounts'),
        (
            f"{devices}[1].name",
            'Invalid value: "dir": can only use volume source type of PersistentVolumeClaim or Ephemeral '
            "for block mode",
        ),
        (f"{devices}[1].devicePath", "Invalid value: \"/dev/../y\": can not contain backsteps ('..')"),
        (f"{devices}[1].name", 'Invalid value: "dir": must not already exist in volumeMounts'),
        (f"{devices}[2].name", 'Not found: "gone"'),
    ]


def test_pod_resources_must_hold_what_containers_ask_for() -> None:
    containers = [
        {"name": name, "image": "i", "resources": {"requests": {"cpu": "600m"}, "limits": {"cpu": "2"}}}
        for name in ("a", "b")
    ]
    resources = {"requests": {"cpu": "1"}, "limits": {"cpu": "1", "example.com/gpu": "1"}}
    unsupported = 'Unsupported value: "example.com/gpu": supported values: "cpu", "hugepages-", "memory"'
    assert spec_faults(containers=containers, resources=resources) == [
        ("resources.limits[example.com/gpu]", unsupported),
        (
            "resources.requests[cpu]",
            'Invalid value: "1": must be greater than or equal to aggregate container requests of 1200m',
        ),
        (
            "resources.containers[0][cpu].limits",
            'Invalid value: "2": must be less than or equal to pod limits of 1',
        ),
        (
            "resources.containers[1][cpu].limits",
            'Invalid value: "2": must be less than or equal to pod limits of 1',
        ),
    ]


def test_variables_from_files_need_an_empty_directory() -> None:
    source = {"fileKeyRef": {"volumeName": "v", "path": "p", "key": "K"}}
    containers = [{**CONTAINER, "env": [{"name": "A", "valueFrom": source}]}]
    path = "containers[0].env[0].valueFrom.fileKeyRef.volumeName"
    assert spec_faults(containers=containers) == [(path, 'Not found: "v"')]
    assert spec_faults(containers=containers, volumes=[{"name": "v", "emptyDir": {}}]) == []
    assert spec_faults(containers=containers, volumes=[{"name": "v", "hostPath": {"path": "/x"}}]) == [
        (path, 'Invalid value: "v": referenced volume must be of type emptyDir')
    ]
