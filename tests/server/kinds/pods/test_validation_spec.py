"""What is wrong with the rest of a pod's spec: where it may run, as whom, under which names."""

from __future__ import annotations

from typing import Any

import pytest

from eachnode.server.kind import Tree
from eachnode.server.kinds.pods.kind import PODS_KIND
from tests.sentences import KEY, LABEL, SUBDOMAIN, VALUE
from tests.server.kinds.judging import faults

from .pod_trees import CONTAINER, container_faults, spec_faults, spec_of

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
NO_OPERATOR = "not a valid selector operator"
ID = "must be between 0 and 2147483647, inclusive"


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            {"restartPolicy": "Sometimes"},
            [
                (
                    "restartPolicy",
                    'Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"',
                )
            ],
        ),
        (
            {"dnsPolicy": "Guess"},
            [
                (
                    "dnsPolicy",
                    'Unsupported value: "Guess": supported values: "ClusterFirstWithHostNet", "ClusterFirst", '
                    '"Default", "None"',
                )
            ],
        ),
        ({"dnsPolicy": "None"}, [("dnsConfig", "Required value: must provide `dnsConfig` when `dnsPolicy` is None")]),
        (
            {"dnsPolicy": "None", "dnsConfig": {"searches": ["a"]}},
            [
                (
                    "dnsConfig.nameservers",
                    "Required value: must provide at least one DNS nameserver when `dnsPolicy` is None",
                )
            ],
        ),
        (
            {
                "dnsConfig": {
                    "nameservers": ["1.1.1.1", "::ffff:1.2.3.4", "x", "1.1.1.2"],
                    "searches": ["ok_.com.", ".", "No!"],
                    "options": [{"name": ""}],
                }
            },
            [
                (
                    "dnsConfig.nameservers",
                    'Invalid value: ["1.1.1.1","::ffff:1.2.3.4","x","1.1.1.2"]: must not have more than 3 nameservers',
                ),
                (
                    "dnsConfig.nameservers[1]",
                    'Invalid value: "::ffff:1.2.3.4": must not be an IPv4-mapped IPv6 address',
                ),
                (
                    "dnsConfig.nameservers[2]",
                    'Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
                ),
                (
                    "dnsConfig.searches[0]",
                    'Invalid value: "ok_.com": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric '
                    "characters, '_', '-' or '.', and must start and end with an alphanumeric character "
                    "(e.g. 'example.com', regex used for validation is "
                    "'_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')",
                ),
                (
                    "dnsConfig.searches[2]",
                    'Invalid value: "No!": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric '
                    "characters, '_', '-' or '.', and must start and end with an alphanumeric character "
                    "(e.g. 'example.com', regex used for validation is "
                    "'_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')",
                ),
                ("dnsConfig.options[0]", "Required value: must not be empty"),
            ],
        ),
        (
            {"nodeSelector": {"a b": "c d"}},
            [
                ("nodeSelector", f'Invalid value: "a b": {KEY}'),
                ("nodeSelector", f'Invalid value: "c d": {VALUE}'),
            ],
        ),
        (
            {"hostPID": True, "shareProcessNamespace": True},
            [
                (
                    "shareProcessNamespace",
                    "Invalid value: true: ShareProcessNamespace and HostPID cannot both be enabled",
                )
            ],
        ),
        (
            {"readinessGates": [{"conditionType": "a b"}]},
            [("readinessGates[0].conditionType", f'Invalid value: "a b": {KEY}')],
        ),
        (
            {"schedulingGates": [{"name": "a"}, {"name": "a"}], "nodeName": "n"},
            [
                ("schedulingGates[1]", 'Duplicate value: "a"'),
                ("nodeName", "Forbidden: cannot be set until all schedulingGates have been cleared"),
            ],
        ),
        (
            {"serviceAccountName": "A", "nodeName": "B", "hostname": "c.d", "subdomain": "E"},
            [
                ("serviceAccountName", f'Invalid value: "A": {SUBDOMAIN}'),
                ("nodeName", f'Invalid value: "B": {SUBDOMAIN}'),
                ("hostname", 'Invalid value: "c.d": must not contain dots'),
                ("subdomain", f'Invalid value: "E": {LABEL}'),
            ],
        ),
        (
            {"activeDeadlineSeconds": 0},
            [("activeDeadlineSeconds", "Invalid value: 0: must be between 1 and 2147483647, inclusive")],
        ),
        (
            {"priorityClassName": "A", "runtimeClassName": "", "preemptionPolicy": "Ask"},
            [
                ("priorityClassName", f'Invalid value: "A": {SUBDOMAIN}'),
                ("runtimeClassName", f'Invalid value: "": {SUBDOMAIN}'),
                (
                    "preemptionPolicy",
                    'Unsupported value: "Ask": supported values: "PreemptLowerPriority", "Never"',
                ),
            ],
        ),
        (
            {"overhead": {"cpu": "-1"}},
            [("overhead.limits[cpu]", 'Invalid value: "-1": must be greater than or equal to 0')],
        ),
        (
            {"hostAliases": [{"ip": "x", "hostnames": ["A"]}]},
            [
                (
                    "hostAliases[0].ip",
                    'Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
                ),
                ("hostAliases[0].hostnames[0]", f'Invalid value: "A": {SUBDOMAIN}'),
            ],
        ),
        (
            {"hostNetwork": True, "containers": [{**CONTAINER, "ports": [{"containerPort": 1, "hostPort": 2}]}]},
            [
                (
                    "containers[0].ports[0].hostPort",
                    "Invalid value: 2: must match `containerPort` when `hostNetwork` is true",
                )
            ],
        ),
        (
            {"hostnameOverride": "A", "setHostnameAsFQDN": True, "hostNetwork": True},
            [
                ("hostnameOverride", "Forbidden: may not be specified when setHostnameAsFQDN is true"),
                ("hostnameOverride", "Forbidden: may not be specified when hostNetwork is true"),
                ("hostnameOverride", f'Invalid value: "A": {SUBDOMAIN}'),
            ],
        ),
        (
            {"hostUsers": False, "hostNetwork": True, "hostPID": True, "hostIPC": True},
            [
                ("hostNetwork", "Forbidden: when `hostUsers` is false"),
                ("HostPID", "Forbidden: when `hostUsers` is false"),
                ("HostIPC", "Forbidden: when `hostUsers` is false"),
            ],
        ),
        ({"os": {}}, [("os.name", "Required value")]),
        ({"os": {"name": "beos"}}, [("os", 'Unsupported value: "beos": supported values: "linux", "windows"')]),
        (
            {"os": {"name": "windows"}, "hostPID": True, "securityContext": {"runAsUser": 1}},
            [
                ("securityContext.runAsUser", "Forbidden: cannot be set for a windows pod"),
                ("hostPID", "Forbidden: cannot be set for a windows pod"),
            ],
        ),
        (
            {"os": {"name": "linux"}, "securityContext": {"windowsOptions": {}}},
            [("securityContext.windowsOptions", "Forbidden: windows options cannot be set for a linux pod")],
        ),
        (
            {"resourceClaims": [{"name": "a"}, {"name": "a", "resourceClaimName": "B"}]},
            [
                (
                    "resourceClaims[0]",
                    'Invalid value: {"Name":"a","ResourceClaimName":null,"ResourceClaimTemplateName":null}: '
                    "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`",
                ),
                ("resourceClaims[1].name", 'Duplicate value: "a"'),
                ("resourceClaims[1].resourceClaimName", f'Invalid value: "B": {SUBDOMAIN}'),
            ],
        ),
        (
            {
                "ephemeralContainers": [
                    {"name": "c", "image": "i", "ports": [{"containerPort": 1}], "targetContainerName": "x"}
                ]
            },
            [
                ("ephemeralContainers[0].name", 'Duplicate value: "c"'),
                ("ephemeralContainers[0].targetContainerName", 'Not found: "x"'),
                ("ephemeralContainers[0].ports", "Forbidden: cannot be set for an Ephemeral Container"),
                ("ephemeralContainers", "Forbidden: cannot be set on create"),
            ],
        ),
    ],
)
def test_specs(spec: Tree, expected: Any) -> None:
    assert spec_faults(**spec) == expected


@pytest.mark.parametrize(
    ("toleration", "expected"),
    [
        (
            {},
            [
                (
                    "operator",
                    'Invalid value: "": operator must be Exists when `key` is empty, '
                    'which means "match all values and all keys"',
                )
            ],
        ),
        (
            {"key": "k", "operator": "Exists", "value": "v"},
            [("operator", "Invalid value: \"v\": value must be empty when `operator` is 'Exists'")],
        ),
        ({"key": "k", "value": "a b"}, [("operator", f'Invalid value: "a b": {VALUE}')]),
        (
            {"key": "k", "operator": "Gt", "value": "1"},
            [("operator", 'Unsupported value: "Gt": supported values: "Equal", "Exists", "Lt", "Gt"')],
        ),
        (
            {"key": "k", "operator": "Like"},
            [("operator", 'Unsupported value: "Like": supported values: "Equal", "Exists"')],
        ),
        (
            {"key": "k", "effect": "NoSchedule", "tolerationSeconds": 5},
            [
                (
                    "effect",
                    "Invalid value: \"NoSchedule\": effect must be 'NoExecute' when `tolerationSeconds` is set",
                )
            ],
        ),
        (
            {"key": "k", "effect": "Shoo"},
            [
                (
                    "effect",
                    'Unsupported value: "Shoo": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
                )
            ],
        ),
        ({"key": "a b"}, [("key", f'Invalid value: "a b": {KEY}')]),
    ],
)
def test_tolerations(toleration: Tree, expected: Any) -> None:
    found = spec_faults(tolerations=[toleration])
    assert [(path.removeprefix("tolerations[0]."), message) for path, message in found] == expected


def node_term(*expressions: Tree, **more: Any) -> Tree:
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": list(expressions), **more}]}}}


@pytest.mark.parametrize(
    ("affinity", "expected"),
    [
        (
            {"nodeAffinity": {REQUIRED: {}}},
            [
                (
                    f"nodeAffinity.{REQUIRED}.nodeSelectorTerms",
                    "Required value: must have at least one node selector term",
                )
            ],
        ),
        (
            node_term(
                {"key": "a", "operator": "In"},
                {"key": "a", "operator": "Exists", "values": ["x"]},
                {"key": "a", "operator": "Gt", "values": []},
                {"key": "a", "operator": "Near", "values": ["b c"]},
            ),
            [
                (
                    "matchExpressions[0].values",
                    "Required value: must be specified when `operator` is 'In' or 'NotIn'",
                ),
                (
                    "matchExpressions[1].values",
                    "Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
                ),
                (
                    "matchExpressions[2].values",
                    "Required value: must be specified single value when `operator` is 'Lt' or 'Gt'",
                ),
                ("matchExpressions[3].operator", f'Invalid value: "Near": {NO_OPERATOR}'),
                ("matchExpressions[3].values[0]", f'Invalid value: "b c": {VALUE}'),
            ],
        ),
        (
            node_term(
                matchFields=[
                    {"key": "metadata.name", "operator": "In", "values": ["a", "b"]},
                    {"key": "spec.x", "operator": "Exists"},
                ]
            ),
            [
                (
                    "matchFields[0].values",
                    "Required value: must be only one value when `operator` is 'In' or 'NotIn' for node field selector",
                ),
                ("matchFields[1].operator", f'Invalid value: "Exists": {NO_OPERATOR}'),
                ("matchFields[1].key", 'Invalid value: "spec.x": not a valid field selector key'),
            ],
        ),
        (
            {"nodeAffinity": {PREFERRED: [{"weight": 101, "preference": {}}]}},
            [(f"nodeAffinity.{PREFERRED}[0].weight", "Invalid value: 101: must be in the range 1-100")],
        ),
        (
            {"podAffinity": {REQUIRED: [{"namespaces": ["N"], "matchLabelKeys": ["k"]}]}},
            [
                (f"podAffinity.{REQUIRED}[0].namespace", f'Invalid value: "N": {LABEL}'),
                (
                    f"podAffinity.{REQUIRED}[0].matchLabelKeys",
                    "Forbidden: must not be specified when labelSelector is not set",
                ),
                (f"podAffinity.{REQUIRED}[0].topologyKey", "Required value: can not be empty"),
                (
                    f"podAffinity.{REQUIRED}[0].topologyKey",
                    'Invalid value: "": name part must be non-empty',
                ),
                (f"podAffinity.{REQUIRED}[0].topologyKey", f'Invalid value: "": {KEY}'),
            ],
        ),
        (
            {
                "podAntiAffinity": {
                    PREFERRED: [
                        {
                            "podAffinityTerm": {
                                "topologyKey": "z",
                                "labelSelector": {},
                                "matchLabelKeys": ["k"],
                                "mismatchLabelKeys": ["k"],
                            }
                        }
                    ]
                }
            },
            [
                (f"podAntiAffinity.{PREFERRED}[0].weight", "Invalid value: 0: must be in the range 1-100"),
                (
                    f"podAntiAffinity.{PREFERRED}[0].podAffinityTerm.matchLabelKeys[0]",
                    'Invalid value: "k": exists in both matchLabelKeys and mismatchLabelKeys',
                ),
            ],
        ),
    ],
)
def test_affinities(affinity: Tree, expected: Any) -> None:
    term = f"nodeAffinity.{REQUIRED}.nodeSelectorTerms[0]."
    found = spec_faults(affinity=affinity)
    assert [(path.removeprefix("affinity.").removeprefix(term), message) for path, message in found] == expected


def test_spreading() -> None:
    constraints = [
        {"maxSkew": 0, "whenUnsatisfiable": "Cry", "minDomains": 0, "nodeTaintsPolicy": "Some"},
        {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule", "matchLabelKeys": ["k"]},
        {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"},
    ]
    path = "topologySpreadConstraints"
    assert spec_faults(topologySpreadConstraints=constraints) == [
        (f"{path}[0].maxSkew", "Invalid value: 0: must be greater than zero"),
        (f"{path}[0].topologyKey", "Required value: can not be empty"),
        (
            f"{path}[0].whenUnsatisfiable",
            'Unsupported value: "Cry": supported values: "DoNotSchedule", "ScheduleAnyway"',
        ),
        (f"{path}[0].minDomains", "Invalid value: 0: must be greater than zero"),
        (
            f"{path}[0].minDomains",
            "Invalid value: 0: can only use minDomains if whenUnsatisfiable=DoNotSchedule, not Cry",
        ),
        (f"{path}[0].nodeTaintsPolicy", 'Unsupported value: "Some": supported values: "Honor", "Ignore"'),
        (f"{path}[1].{{topologyKey, whenUnsatisfiable}}", 'Duplicate value: "{z, DoNotSchedule}"'),
        (f"{path}[1].matchLabelKeys", "Forbidden: must not be specified when labelSelector is not set"),
    ]


@pytest.mark.parametrize(
    ("context", "expected"),
    [
        (
            {"runAsUser": -1, "fsGroup": 2**31},
            [("fsGroup", f"Invalid value: 2147483648: {ID}"), ("runAsUser", f"Invalid value: -1: {ID}")],
        ),
        ({"supplementalGroups": [-1]}, [("supplementalGroups[0]", f"Invalid value: -1: {ID}")]),
        (
            {"sysctls": [{"name": "A"}, {"name": "kernel.sem"}, {"name": "kernel.sem"}, {}]},
            [
                (
                    "sysctls[0].name",
                    'Invalid value: "A": must have at most 253 characters and match regex '
                    "^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$",
                ),
                ("sysctls[2].name", 'Duplicate value: "kernel.sem"'),
                ("sysctls[3].name", "Required value"),
            ],
        ),
        (
            {"fsGroupChangePolicy": "Now", "supplementalGroupsPolicy": "All", "seLinuxChangePolicy": "Any"},
            [
                ("fsGroupChangePolicy", 'Unsupported value: "Now": supported values: "Always", "OnRootMismatch"'),
                ("supplementalGroupsPolicy", 'Unsupported value: "All": supported values: "Merge", "Strict"'),
                ("seLinuxChangePolicy", 'Unsupported value: "Any": supported values: "MountOption", "Recursive"'),
            ],
        ),
        (
            {"seccompProfile": {"type": "RuntimeDefault", "localhostProfile": "x"}},
            [
                (
                    "seccompProfile.localhostProfile",
                    'Invalid value: {"Type":"RuntimeDefault","LocalhostProfile":"x"}: '
                    "can only be set when seccomp type is Localhost",
                )
            ],
        ),
        (
            {"appArmorProfile": {"type": "Localhost", "localhostProfile": " x"}},
            [("appArmorProfile.localhostProfile", 'Invalid value: " x": must not be padded with whitespace')],
        ),
    ],
)
def test_pod_security_contexts(context: Tree, expected: Any) -> None:
    found = spec_faults(securityContext=context)
    assert [(path.removeprefix("securityContext."), message) for path, message in found] == expected


def test_sysctls_of_shared_namespaces_are_refused() -> None:
    context = {"sysctls": [{"name": "net/ipv4/x"}, {"name": "kernel.sem"}]}
    assert spec_faults(hostNetwork=True, hostIPC=True, securityContext=context) == [
        (
            "securityContext.sysctls[0].name",
            "Invalid value: \"net/ipv4/x\": may not be specified when 'hostNetwork' is true",
        ),
        (
            "securityContext.sysctls[1].name",
            "Invalid value: \"kernel.sem\": may not be specified when 'hostIPC' is true",
        ),
    ]


SHOWN = (
    '{"Capabilities":null,"Privileged":true,"SELinuxOptions":null,"WindowsOptions":null,"RunAsUser":null,'
    '"RunAsGroup":null,"RunAsNonRoot":null,"ReadOnlyRootFilesystem":null,"AllowPrivilegeEscalation":false,'
    '"ProcMount":null,"SeccompProfile":null,"AppArmorProfile":null}'
)


@pytest.mark.parametrize(
    ("context", "expected"),
    [
        (
            {"allowPrivilegeEscalation": False, "privileged": True},
            [
                (
                    "securityContext",
                    f"Invalid value: {SHOWN}: cannot set `allowPrivilegeEscalation` to false and `privileged` to true",
                )
            ],
        ),
        (
            {"procMount": "Unmasked"},
            [
                (
                    "securityContext.procMount",
                    'Invalid value: "Unmasked": `hostUsers` must be false to use `Unmasked`',
                )
            ],
        ),
        (
            {"windowsOptions": {"runAsUserName": "a\\b\\c", "gmsaCredentialSpec": ""}},
            [
                (
                    "securityContext.windowsOptions.gmsaCredentialSpec",
                    'Invalid value: "": gmsaCredentialSpec cannot be an empty string',
                ),
                (
                    "securityContext.windowsOptions.runAsUserName",
                    'Invalid value: "a\\\\b\\\\c": runAsUserName cannot contain more than one backslash',
                ),
            ],
        ),
        (
            {"windowsOptions": {"runAsUserName": ".bad\\u@"}},
            [
                (
                    "securityContext.windowsOptions.runAsUserName",
                    'Invalid value: ".bad\\\\u@": '
                    "runAsUserName's Domain doesn't match the NetBios nor the DNS format",
                ),
                (
                    "securityContext.windowsOptions.runAsUserName",
                    'Invalid value: ".bad\\\\u@": runAsUserName\'s User cannot contain the following characters: '
                    '"/\\:;|=,+*?<>@[]',
                ),
            ],
        ),
    ],
)
def test_container_security_contexts(context: Tree, expected: Any) -> None:
    assert container_faults(securityContext=context) == expected


def test_processes_of_windows_nodes_are_all_or_nothing() -> None:
    hosted = {"windowsOptions": {"hostProcess": True}}
    containers = [{**CONTAINER, "securityContext": hosted}, {"name": "d", "image": "i"}]
    assert spec_faults(containers=containers) == [
        (
            "",
            'Invalid value: "": If pod contains any hostProcess containers then all containers must be '
            "HostProcess containers",
        ),
        (
            "hostNetwork",
            "Invalid value: false: hostNetwork must be true if pod contains any hostProcess containers",
        ),
    ]


APP_ARMOR = "container.apparmor.security.beta.kubernetes.io"


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        (
            {"kubernetes.io/config.mirror": "x"},
            [
                (
                    "[kubernetes.io/config.mirror]",
                    'Invalid value: "x": must set spec.nodeName if mirror pod annotation is set',
                )
            ],
        ),
        (
            {"controller.kubernetes.io/pod-deletion-cost": "+5"},
            [("[controller.kubernetes.io/pod-deletion-cost]", 'Invalid value: "+5": must be a 32bit integer')],
        ),
        (
            {"seccomp.security.alpha.kubernetes.io/pod": "strange"},
            [
                (
                    ".seccomp.security.alpha.kubernetes.io/pod",
                    'Invalid value: "strange": must be a valid seccomp profile',
                )
            ],
        ),
        (
            {f"{APP_ARMOR}/nobody": "weird"},
            [
                (f"[{APP_ARMOR}/nobody]", 'Invalid value: "nobody": container not found'),
                (f"[{APP_ARMOR}/nobody]", 'Invalid value: "weird": invalid AppArmor profile name: "weird"'),
            ],
        ),
        (
            {"scheduler.alpha.kubernetes.io/tolerations": '[{"operator":"Near","key":"a"}]'},
            [
                (
                    ".scheduler.alpha.kubernetes.io/tolerations[0].operator",
                    'Unsupported value: "Near": supported values: "Equal", "Exists"',
                )
            ],
        ),
    ],
)
def test_annotations_that_mean_something(annotations: dict[str, str], expected: Any) -> None:
    found = faults(PODS_KIND, metadata={"annotations": annotations}, spec=spec_of())
    assert [(path.removeprefix("metadata.annotations"), message) for path, message in found] == expected


def test_profiles_in_annotations_and_fields_must_agree() -> None:
    annotations = {"seccomp.security.alpha.kubernetes.io/pod": "localhost/other"}
    profile = {"type": "Localhost", "localhostProfile": "one"}
    assert faults(
        PODS_KIND, metadata={"annotations": annotations}, spec=spec_of(securityContext={"seccompProfile": profile})
    ) == [
        (
            "spec.securityContext.seccompProfile.localhostProfile",
            "Forbidden: seccomp profile in annotation and field must match",
        )
    ]


def test_the_recorded_faults_come_in_the_recorded_order() -> None:
    found = faults(
        PODS_KIND,
        spec={
            "containers": [
                {"name": "c", "image": ""},
                {"name": "c", "image": "i", "imagePullPolicy": "Often"},
                {"name": "Bad_Name", "image": "i"},
            ],
            "restartPolicy": "Sometimes",
            "tolerations": [{"key": "k", "operator": "Exists", "value": "v"}],
            "volumes": [{"name": "v"}, {"name": "v"}],
        },
    )
    assert [path for path, _ in found] == [
        "spec.volumes[1].name",
        "spec.containers[0].image",
        "spec.containers[1].imagePullPolicy",
        "spec.containers[1].name",
        "spec.containers[2].name",
        "spec.restartPolicy",
        "spec.tolerations[0].operator",
    ]
