"""One good object of each kind, as full as people write them: what fuzzing starts from."""

from __future__ import annotations

from typing import Any

Tree = dict[str, Any]
HOME = "home"

_META: Tree = {
    "name": "one",
    "labels": {"app": "one", "example.com/team": "blue"},
    "annotations": {"note": "this"},
    "finalizers": ["example.com/hold"],
    "ownerReferences": [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": "o",
            "uid": "8b7c",
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ],
}

CONTAINER: Tree = {
    "name": "main",
    "image": "app:1",
    "command": ["run"],
    "args": ["--fast"],
    "workingDir": "/tmp",
    "ports": [{"containerPort": 80, "hostPort": 8080, "protocol": "TCP", "name": "web"}],
    "env": [
        {"name": "A", "value": "1"},
        {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        {"name": "C", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1m"}}},
        {"name": "D", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k", "optional": True}}},
    ],
    "envFrom": [{"prefix": "X_", "configMapRef": {"name": "c"}}],
    "resources": {"limits": {"cpu": "0.5", "memory": "64Mi"}, "requests": {"cpu": "100m", "memory": "32Mi"}},
    "volumeMounts": [{"name": "data", "mountPath": "/data", "subPath": "x", "readOnly": True}],
    "livenessProbe": {"httpGet": {"path": "/", "port": "web", "httpHeaders": [{"name": "A", "value": "b"}]}},
    "readinessProbe": {"tcpSocket": {"port": 80}, "initialDelaySeconds": 1, "periodSeconds": 2},
    "startupProbe": {"exec": {"command": ["true"]}, "failureThreshold": 3},
    "lifecycle": {"preStop": {"sleep": {"seconds": 3}}, "postStart": {"exec": {"command": ["true"]}}},
    "securityContext": {
        "runAsUser": 1,
        "capabilities": {"add": ["NET_ADMIN"]},
        "seccompProfile": {"type": "RuntimeDefault"},
    },
}

POD_SPEC: Tree = {
    "containers": [CONTAINER, {"name": "side", "image": "side:1"}],
    "initContainers": [{"name": "first", "image": "first:1", "restartPolicy": "Always"}],
    "volumes": [
        {"name": "data", "emptyDir": {"sizeLimit": "1Gi", "medium": "Memory"}},
        {"name": "host", "hostPath": {"path": "/var/log", "type": "Directory"}},
        {"name": "config", "configMap": {"name": "c", "items": [{"key": "k", "path": "p", "mode": 256}]}},
        {
            "name": "all",
            "projected": {
                "sources": [{"downwardAPI": {"items": [{"path": "p", "fieldRef": {"fieldPath": "metadata.labels"}}]}}]
            },
        },
    ],
    "nodeSelector": {"disk": "fast"},
    "tolerations": [{"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}],
    "affinity": {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {
                        "matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1"]}],
                        "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}],
                    }
                ]
            },
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 1, "preference": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}}
            ],
        },
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {
                    "topologyKey": "zone",
                    "labelSelector": {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]},
                }
            ]
        },
    },
    "topologySpreadConstraints": [
        {
            "maxSkew": 1,
            "topologyKey": "zone",
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"a": "b"}},
        }
    ],
    "securityContext": {"runAsUser": 1, "fsGroup": 2, "sysctls": [{"name": "kernel.shm_rmid_forced", "value": "0"}]},
    "hostAliases": [{"ip": "10.0.0.1", "hostnames": ["a"]}],
    "dnsConfig": {"nameservers": ["10.0.0.1"], "options": [{"name": "a", "value": "b"}]},
    "imagePullSecrets": [{"name": "s"}],
    "terminationGracePeriodSeconds": 5,
    "readinessGates": [{"conditionType": "example.com/ready"}],
    "schedulingGates": [{"name": "example.com/gate"}],
}

_TEMPLATE: Tree = {"metadata": {"labels": {"app": "one"}}, "spec": POD_SPEC | {"schedulingGates": []}}
_SET: Tree = {
    "selector": {"matchLabels": {"app": "one"}},
    "template": _TEMPLATE,
    "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "10%", "maxSurge": 0}},
    "minReadySeconds": 1,
    "revisionHistoryLimit": 2,
}
_CONDITION: Tree = {
    "type": "Ready",
    "status": "True",
    "reason": "R",
    "message": "m",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
}
_SUBJECT: Tree = {"kind": "User", "name": "bob", "apiGroup": "rbac.authorization.k8s.io"}
_RULES: list[Tree] = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"], "resourceNames": ["a"]}]
_SCHEMA: Tree = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "required": ["size"],
            "properties": {
                "size": {"type": "integer", "minimum": 1, "default": 3},
                "kind": {"type": "string", "enum": ["a", "b"], "pattern": "^[a-z]+$"},
                "list": {
                    "type": "array",
                    "maxItems": 5,
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                    "items": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}},
                },
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "port": {"x-kubernetes-int-or-string": True},
            },
        },
        "status": {"type": "object", "additionalProperties": {"type": "string"}},
    },
}


def _of(api_version: str, kind: str, **content: Any) -> Tree:
    return {"apiVersion": api_version, "kind": kind, "metadata": {**_META}, **content}


# Path of the collection -> an object.
OBJECTS: dict[str, Tree] = {
    f"/api/v1/namespaces/{HOME}/configmaps": _of("v1", "ConfigMap", data={"a": "b"}, binaryData={"c": "aGk="}),
    f"/api/v1/namespaces/{HOME}/secrets": _of("v1", "Secret", data={"a": "aGk="}, stringData={"b": "c"}, type="Opaque"),
    f"/api/v1/namespaces/{HOME}/serviceaccounts": _of("v1", "ServiceAccount", imagePullSecrets=[{"name": "s"}]),
    f"/api/v1/namespaces/{HOME}/services": _of(
        "v1",
        "Service",
        spec={"ports": [{"port": 80, "targetPort": "web", "name": "web"}], "selector": {"a": "b"}, "type": "ClusterIP"},
    ),
    f"/api/v1/namespaces/{HOME}/endpoints": _of(
        "v1", "Endpoints", subsets=[{"addresses": [{"ip": "10.0.0.1"}], "ports": [{"port": 80, "name": "web"}]}]
    ),
    f"/api/v1/namespaces/{HOME}/events": _of(
        "v1",
        "Event",
        involvedObject={"kind": "Pod", "name": "p", "namespace": HOME},
        reason="R",
        message="m",
        type="Normal",
        count=2,
        firstTimestamp="2026-01-01T00:00:00Z",
        source={"component": "c"},
    ),
    f"/api/v1/namespaces/{HOME}/limitranges": _of(
        "v1", "LimitRange", spec={"limits": [{"type": "Container", "max": {"cpu": "9"}, "default": {"cpu": "1"}}]}
    ),
    f"/api/v1/namespaces/{HOME}/resourcequotas": _of(
        "v1", "ResourceQuota", spec={"hard": {"pods": "500", "requests.cpu": "1k"}}, status={"used": {"pods": "0"}}
    ),
    f"/api/v1/namespaces/{HOME}/pods": _of(
        "v1", "Pod", spec=POD_SPEC, status={"phase": "Pending", "conditions": [_CONDITION], "podIP": "10.0.0.1"}
    ),
    "/api/v1/namespaces": _of("v1", "Namespace", spec={"finalizers": ["kubernetes"]}),
    "/api/v1/nodes": _of(
        "v1",
        "Node",
        spec={
            "taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}],
            "unschedulable": False,
            "podCIDR": "10.1.0.0/24",
        },
        status={
            "capacity": {"cpu": "4", "memory": "8Gi", "pods": "110"},
            "allocatable": {"cpu": "4"},
            "conditions": [_CONDITION],
            "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
            "images": [{"names": ["i:1"], "sizeBytes": 5}],
            "nodeInfo": {"kubeletVersion": "v1"},
        },
    ),
    f"/apis/apps/v1/namespaces/{HOME}/daemonsets": _of(
        "apps/v1", "DaemonSet", spec=_SET, status={"numberReady": 1, "conditions": [_CONDITION]}
    ),
    f"/apis/apps/v1/namespaces/{HOME}/controllerrevisions": _of(
        "apps/v1", "ControllerRevision", data={"spec": {"template": {"$patch": "replace", "x": 1.50}}}, revision=3
    ),
    f"/apis/coordination.k8s.io/v1/namespaces/{HOME}/leases": _of(
        "coordination.k8s.io/v1",
        "Lease",
        spec={
            "holderIdentity": "h",
            "leaseDurationSeconds": 5,
            "renewTime": "2026-01-01T00:00:00.000000Z",
            "leaseTransitions": 1,
        },
    ),
    f"/apis/events.k8s.io/v1/namespaces/{HOME}/events": _of(
        "events.k8s.io/v1",
        "Event",
        regarding={"kind": "Pod", "name": "p", "namespace": HOME},
        reason="R",
        note="n",
        type="Normal",
        action="A",
        eventTime="2026-01-01T00:00:00.000000Z",
        reportingController="example.com/c",
        reportingInstance="i",
        series={"count": 2, "lastObservedTime": "2026-01-01T00:00:00.000000Z"},
    ),
    f"/apis/policy/v1/namespaces/{HOME}/poddisruptionbudgets": _of(
        "policy/v1",
        "PodDisruptionBudget",
        spec={
            "minAvailable": "50%",
            "selector": {"matchLabels": {"a": "b"}},
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
        },
        status={"disruptedPods": {"p": "2026-01-01T00:00:00Z"}, "currentHealthy": 1, "conditions": [_CONDITION]},
    ),
    f"/apis/rbac.authorization.k8s.io/v1/namespaces/{HOME}/roles": _of(
        "rbac.authorization.k8s.io/v1", "Role", rules=_RULES
    ),
    f"/apis/rbac.authorization.k8s.io/v1/namespaces/{HOME}/rolebindings": _of(
        "rbac.authorization.k8s.io/v1",
        "RoleBinding",
        subjects=[_SUBJECT],
        roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "one"},
    ),
    "/apis/rbac.authorization.k8s.io/v1/clusterroles": _of(
        "rbac.authorization.k8s.io/v1",
        "ClusterRole",
        rules=[*_RULES, {"nonResourceURLs": ["/x"], "verbs": ["get"]}],
        aggregationRule={"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]},
    ),
    "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings": _of(
        "rbac.authorization.k8s.io/v1",
        "ClusterRoleBinding",
        subjects=[_SUBJECT],
        roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "one"},
    ),
    "/apis/scheduling.k8s.io/v1/priorityclasses": _of(
        "scheduling.k8s.io/v1", "PriorityClass", value=5, description="d", preemptionPolicy="Never", globalDefault=False
    ),
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions": {
        **_of(
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            spec={
                "group": "example.com",
                "scope": "Namespaced",
                "names": {
                    "plural": "widgets",
                    "singular": "widget",
                    "kind": "Widget",
                    "shortNames": ["wd"],
                    "categories": ["all"],
                },
                "versions": [
                    {
                        "name": "v1",
                        "served": True,
                        "storage": True,
                        "subresources": {"status": {}},
                        "additionalPrinterColumns": [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}],
                        "schema": {"openAPIV3Schema": _SCHEMA},
                    }
                ],
            },
        ),
        "metadata": {"name": "widgets.example.com"},
    },
    f"/apis/example.com/v1/namespaces/{HOME}/widgets": _of(
        "example.com/v1",
        "Widget",
        spec={"size": 2, "kind": "a", "list": [{"name": "x"}], "free": {"any": [1]}, "port": "http"},
        status={"state": "good"},
    ),
}

# What is posted and not kept.
ACTIONS: dict[str, Tree] = {
    f"/api/v1/namespaces/{HOME}/pods/one/binding": {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "one"},
        "target": {"kind": "Node", "name": "one"},
    },
    f"/api/v1/namespaces/{HOME}/pods/one/eviction": {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": "one"},
        "deleteOptions": {"gracePeriodSeconds": 1, "propagationPolicy": "Background", "preconditions": {"uid": "u"}},
    },
    f"/api/v1/namespaces/{HOME}/serviceaccounts/one/token": {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"audiences": ["a"], "expirationSeconds": 900},
    },
    "/apis/authentication.k8s.io/v1/tokenreviews": {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenReview",
        "spec": {"token": "t", "audiences": ["a"]},
    },
    "/apis/authorization.k8s.io/v1/subjectaccessreviews": {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "user": "bob",
            "groups": ["g"],
            "resourceAttributes": {"verb": "get", "resource": "pods", "namespace": HOME},
        },
    },
    "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews": {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"nonResourceAttributes": {"path": "/x", "verb": "get"}},
    },
    "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews": {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectRulesReview",
        "spec": {"namespace": HOME},
    },
    f"/apis/authorization.k8s.io/v1/namespaces/{HOME}/localsubjectaccessreviews": {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "LocalSubjectAccessReview",
        "metadata": {"namespace": HOME},
        "spec": {"user": "bob", "resourceAttributes": {"verb": "get", "resource": "pods", "namespace": HOME}},
    },
}
