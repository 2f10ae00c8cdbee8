"""What the server warns of."""

from __future__ import annotations

from typing import Any

import pytest

from eachnode.server.kind import Tree
from eachnode.server.kinds.pods.warnings import warnings_for

from .pod_trees import CONTAINER


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            {"nodeSelector": {"node-role.kubernetes.io/master": ""}},
            ['spec.nodeSelector[node-role.kubernetes.io/master]: use "node-role.kubernetes.io/control-plane" instead'],
        ),
        (
            {"topologySpreadConstraints": [{"topologyKey": "failure-domain.beta.kubernetes.io/zone"}]},
            [
                "spec.topologySpreadConstraints[0].topologyKey: failure-domain.beta.kubernetes.io/zone is "
                'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
                "spec.topologySpreadConstraints[0].labelSelector: a null labelSelector results in matching no pod",
            ],
        ),
        (
            {"volumes": [{"name": "v", "gitRepo": {}}, {"name": "w", "storageos": {}}]},
            [
                "spec.volumes[0].gitRepo: deprecated in v1.11, and disabled by default in v1.33+",
                "spec.volumes[1].storageOS: deprecated in v1.22, non-functional in v1.25+",
            ],
        ),
        (
            {"volumes": [{"name": "v", "configMap": {"name": "m", "items": [{"path": "a/"}, {"path": "a/b"}]}}]},
            ['volume "v" (ConfigMap "m"): overlapping paths: "a/b" with "a"'],
        ),
        (
            {
                "volumes": [
                    {
                        "name": "v",
                        "projected": {
                            "sources": [
                                {},
                                {"serviceAccountToken": {"path": "t"}},
                                {"secret": {"name": "s", "items": [{"path": "t"}]}},
                            ]
                        },
                    }
                ]
            },
            [
                'volume "v" (Projected) has no sources provided',
                'volume "v" (Projected): overlapping paths: "t" (Secret "s") with "t" (ServiceAccountToken)',
            ],
        ),
        (
            {"imagePullSecrets": [{"name": "a"}, {"name": "a"}, {}]},
            [
                'spec.imagePullSecrets[1].name: duplicate name "a"',
                'spec.imagePullSecrets[2].name: invalid empty name ""',
            ],
        ),
        (
            {"containers": [{**CONTAINER, "resources": {"requests": {"memory": "100m"}}}]},
            [
                'spec.containers[0].resources.requests[memory]: fractional byte value "100m" is invalid, '
                "must be an integer"
            ],
        ),
        (
            {"containers": [{**CONTAINER, "env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]}]},
            ['spec.containers[0].env[1]: hides previous definition of "A", which may be dropped when using apply'],
        ),
        (
            {"containers": [{**CONTAINER, "env": [{"name": "A", "value": "1"}, {"name": "A", "value": "$(A)2"}]}]},
            [],
        ),
        (
            {
                "containers": [
                    {**CONTAINER, "ports": [{"name": "web", "containerPort": 80, "protocol": "TCP"}]},
                    {
                        "name": "d",
                        "ports": [
                            {"name": "web", "containerPort": 80, "protocol": "TCP"},
                            {"containerPort": 80, "protocol": "TCP", "hostPort": 80},
                            {"containerPort": 80, "protocol": "TCP", "hostPort": 80, "hostIP": "10.0.0.1"},
                        ],
                    },
                ]
            },
            [
                "spec.containers[1].ports[0]: duplicate port definition with spec.containers[0].ports[0]",
                "spec.containers[1].ports[1]: overlapping port definition with spec.containers[0].ports[0]",
                "spec.containers[1].ports[1]: overlapping port definition with spec.containers[1].ports[0]",
                "spec.containers[1].ports[2]: overlapping port definition with spec.containers[0].ports[0]",
                "spec.containers[1].ports[2]: overlapping port definition with spec.containers[1].ports[0]",
                "spec.containers[1].ports[2]: dangerously ambiguous port definition with spec.containers[1].ports[1]",
                'spec.containers[1].ports[0]: duplicate port name "web" with spec.containers[0].ports[0], services and '
                "probes that select ports by name will use spec.containers[0].ports[0]",
            ],
        ),
        (
            {"terminationGracePeriodSeconds": -1},
            ["spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1"],
        ),
        (
            {"hostAliases": [{"ip": "FE80::0"}, {"ip": "FE80::0"}]},
            [
                'spec.hostAliases[1].ip: duplicate ip "FE80::0"',
                'spec.hostAliases[0].ip: IPv6 address "FE80::0" should be in RFC 5952 canonical format ("fe80::")',
                'spec.hostAliases[1].ip: IPv6 address "FE80::0" should be in RFC 5952 canonical format ("fe80::")',
            ],
        ),
    ],
)
def test_what_is_taken_with_a_warning(spec: Tree, expected: Any) -> None:
    assert list(warnings_for({"spec": spec}, "")) == expected


def test_the_paths_of_a_template_begin_where_it_lies() -> None:
    key = "container.apparmor.security.beta.kubernetes.io/c"
    template = {"metadata": {"annotations": {key: "unconfined"}}, "spec": {"containers": [CONTAINER]}}
    assert list(warnings_for(template, "spec.template")) == [
        f'spec.template.metadata.annotations[{key}]: deprecated since v1.30; use the "appArmorProfile" field instead'
    ]
