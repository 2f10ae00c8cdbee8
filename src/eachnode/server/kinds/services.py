"""Services: a name and an address for a set of pods. They are stored and validated; nothing here carries traffic."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from eachnode.objects.formats import dns_label, dns_subdomain, port_name, port_number, qualified_name
from eachnode.objects.resources import SERVICES
from eachnode.server.field_errors import (
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
)
from eachnode.server.kind import ALL_VERBS, Call, Column, Kind, Tree
from eachnode.server.kinds import name_rules
from eachnode.server.kinds.addresses import validate_address, validate_range
from eachnode.server.kinds.endpoints import PROTOCOLS, validate_reachable
from eachnode.server.kinds.labels import validate_labels
from eachnode.server.kinds.rows import AGE, NAME, NONE, age_of, at, name_of
from eachnode.server.kinds.service_updates import drop_unneeded, is_external, needs_health_port
from eachnode.server.kinds.service_warnings import warn

HEADLESS = "None"
TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_AFFINITIES = ("ClientIP", "None")
_INTERNAL = ("Cluster", "Local")
_DISTRIBUTIONS = ("PreferClose", "PreferSameZone", "PreferSameNode")
_FAMILIES = ("IPv4", "IPv6")
_FAMILY_POLICIES = ("PreferDualStack", "RequireDualStack", "SingleStack")
_THREE_HOURS = 10800
_ADDRESS_FIELDS = ("clusterIPs", "ipFamilies", "ipFamilyPolicy")


def is_headless(spec: Tree) -> bool:
    """Whether it has no address of its own on purpose."""
    return bool((spec.get("clusterIPs") or [spec.get("clusterIP")])[0] == HEADLESS)


def _default(tree: Tree) -> None:
    spec = tree.setdefault("spec", {})
    spec["type"] = spec.get("type") or "ClusterIP"
    _default_affinity(spec)
    for port in spec.get("ports") or ():
        port["protocol"] = port.get("protocol") or "TCP"
        port["targetPort"] = port.get("targetPort") or port.get("port", 0)
    if is_external(spec):
        spec["externalTrafficPolicy"] = spec.get("externalTrafficPolicy") or "Cluster"
    if spec["type"] in ("NodePort", "LoadBalancer", "ClusterIP"):
        spec.setdefault("internalTrafficPolicy", "Cluster")
    if spec["type"] == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)
    if spec.get("clusterIP") and not spec.get("clusterIPs"):
        spec["clusterIPs"] = [spec["clusterIP"]]


def _default_affinity(spec: Tree) -> None:
    spec["sessionAffinity"] = spec.get("sessionAffinity") or "None"
    if spec["sessionAffinity"] == "None":
        spec.pop("sessionAffinityConfig", None)
    elif (
        spec["sessionAffinity"] == "ClientIP"
        and at(spec, "sessionAffinityConfig", "clientIP", "timeoutSeconds") is None
    ):
        spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": _THREE_HOURS}}


def _prepare_create(tree: Tree, _call: Call) -> None:
    tree["status"] = {"loadBalancer": {}}
    _drop_traffic_policy(tree["spec"])


def _drop_traffic_policy(spec: Tree) -> None:
    """An external name has no traffic within the cluster; the reference stores the field, and never shows it."""
    if spec["type"] == "ExternalName":
        spec.pop("internalTrafficPolicy", None)


def _prepare_update(new: Tree, old: Tree, _call: Call) -> None:
    spec, was = new["spec"], old.get("spec", {})
    new["status"] = old.get("status", {"loadBalancer": {}})
    drop_unneeded(spec, was)
    _drop_traffic_policy(spec)
    if spec["type"] != "LoadBalancer":
        new["status"] = {**new["status"], "loadBalancer": {}}


def _prepare_status(new: Tree, old: Tree, _call: Call) -> None:
    new["spec"] = old.get("spec", {})


def _validate(tree: Tree) -> Iterator[FieldError]:
    spec = tree["spec"]
    if not spec.get("ports") and not is_headless(spec) and spec["type"] != "ExternalName":
        yield required("spec.ports")
    yield from _validate_type_fields(spec)
    yield from _validate_ports(spec)
    yield from validate_labels(spec.get("selector"), "spec.selector")
    if spec["sessionAffinity"] not in _AFFINITIES:
        yield not_supported("spec.sessionAffinity", spec["sessionAffinity"], _AFFINITIES)
    timeout = at(spec, "sessionAffinityConfig", "clientIP", "timeoutSeconds")
    if timeout is not None and not 0 < timeout <= 86400:
        sentence = "must be greater than 0 and less than 86400"
        yield invalid("spec.sessionAffinityConfig.clientIP.timeoutSeconds", timeout, sentence)
    yield from validate_addresses(spec)
    for index, ip in enumerate(spec.get("externalIPs") or ()):
        errors = tuple(validate_address(ip, f"spec.externalIPs[{index}]"))
        yield from errors or validate_reachable(ip, f"spec.externalIPs[{index}]")
    if spec["type"] not in TYPES:
        yield not_supported("spec.type", spec["type"], TYPES)
    yield from _validate_port_sets(spec)
    yield from _validate_balancer(spec)
    yield from _validate_policies(spec)


def _validate_type_fields(spec: Tree) -> Iterator[FieldError]:
    kind = spec["type"]
    if kind in ("LoadBalancer", "NodePort") and is_headless(spec):
        yield invalid("spec.clusterIPs[0]", HEADLESS, f"may not be set to 'None' for {kind} services")
    if kind != "ExternalName":
        return
    for field in _ADDRESS_FIELDS:
        if spec.get(field):
            yield forbidden(f"spec.{field}", "may not be set for ExternalName services")
    name = spec.get("externalName", "").removesuffix(".")
    if not name:
        yield required("spec.externalName")
    for problem in dns_subdomain(name) if name else ():
        yield invalid("spec.externalName", name, problem)


def _validate_ports(spec: Tree) -> Iterator[FieldError]:
    ports = spec.get("ports") or ()
    names: set[str] = set()
    for index, port in enumerate(ports):
        path, name = f"spec.ports[{index}]", port.get("name", "")
        if not name and len(ports) > 1:
            yield required(f"{path}.name")
        for problem in dns_label(name) if name else ():
            yield invalid(f"{path}.name", name, problem)
        if name and name in names:
            yield duplicate(f"{path}.name", name)
        names.add(name)
        yield from _validate_port(port, path)


def _validate_port(port: Tree, path: str) -> Iterator[FieldError]:
    number, target = port.get("port", 0), port["targetPort"]
    for problem in port_number(number):
        yield invalid(f"{path}.port", number, problem)
    if port["protocol"] not in PROTOCOLS:
        yield not_supported(f"{path}.protocol", port["protocol"], PROTOCOLS)
    for problem in port_number(target) if isinstance(target, int) else port_name(target):
        yield invalid(f"{path}.targetPort", target, problem)
    application = port.get("appProtocol")
    for problem in qualified_name(application) if application is not None else ():
        yield invalid(f"{path}.appProtocol", application, problem)


def validate_addresses(spec: Tree) -> Iterator[FieldError]:
    """Everything wrong with its addresses and their families."""
    if spec["type"] == "ExternalName":
        return
    several = spec.get("clusterIPs") or []
    if spec.get("clusterIP") and several and several[0] != spec["clusterIP"]:
        yield invalid("spec.clusterIPs", several, "first value must match `clusterIP`")
    elif several and not spec.get("clusterIP"):
        yield invalid("spec.clusterIPs", several, "must be empty when `clusterIP` is not specified")
    families = spec.get("ipFamilies") or ()
    for index, family in enumerate(families):
        if family not in _FAMILIES:
            yield not_supported(f"spec.ipFamilies[{index}]", family, _FAMILIES)
        if family in families[:index]:
            yield duplicate(f"spec.ipFamilies[{index}]", family)
    policy = spec.get("ipFamilyPolicy")
    if policy is not None and policy not in _FAMILY_POLICIES:
        yield not_supported("spec.ipFamilyPolicy", policy, _FAMILY_POLICIES)
    wrong = list(_validate_cluster_ips(several))
    yield from wrong
    for index, (ip, family) in enumerate(
        zip(several, families, strict=False) if not wrong and not is_headless(spec) else ()
    ):
        if (":" in ip) != (family == "IPv6"):
            yield invalid(
                f"spec.clusterIPs[{index}]", ip, f"expected an {family} value as indicated by `ipFamilies[{index}]`"
            )


def _validate_cluster_ips(several: list[str]) -> Iterator[FieldError]:
    wrong = False
    for index, ip in enumerate(several):
        if index or ip != HEADLESS:
            errors = tuple(validate_address(ip, f"spec.clusterIPs[{index}]"))
        elif len(several) > 1:
            errors = (invalid("spec.clusterIPs", several, "'None' must be the first and only value"),)
        else:
            errors = ()
        wrong = wrong or bool(errors)
        yield from errors
    if len(several) > 2:
        yield invalid("spec.clusterIPs", several, "may only hold up to 2 values")
    if not wrong and len(several) > 1 and len({":" in ip for ip in several}) != len(several):
        yield invalid("spec.clusterIPs", several, "may specify no more than one IP for each IP family")


def _validate_port_sets(spec: Tree) -> Iterator[FieldError]:
    numbers: set[tuple[str, int]] = set()
    node_ports: set[tuple[str, int]] = set()
    ports = spec.get("ports") or ()
    for index, port in enumerate(ports):
        node_port, path = port.get("nodePort", 0), f"spec.ports[{index}].nodePort"
        if node_port and spec["type"] == "ClusterIP":
            yield forbidden(path, "may not be used when `type` is 'ClusterIP'")
        if node_port and (port["protocol"], node_port) in node_ports:
            yield duplicate(path, node_port)
        node_ports.add((port["protocol"], node_port))
    for index, port in enumerate(ports):
        key = (port["protocol"], port.get("port", 0))
        if key in numbers:
            yield duplicate(f"spec.ports[{index}]", _port_as_internal(*key))
        numbers.add(key)


def _port_as_internal(protocol: str, number: int) -> dict[str, Any]:
    """A port as the reference's internal type prints, when only these two are compared."""
    return {"Name": "", "Protocol": protocol, "AppProtocol": None, "Port": number, "TargetPort": 0, "NodePort": 0}


def _validate_balancer(spec: Tree) -> Iterator[FieldError]:
    """What only a load balancer has."""
    is_balancer, elsewhere = spec["type"] == "LoadBalancer", "may only be used when `type` is 'LoadBalancer'"
    ranges, chosen = spec.get("loadBalancerSourceRanges") or (), spec.get("loadBalancerClass")
    if ranges and not is_balancer:
        yield forbidden("spec.LoadBalancerSourceRanges", elsewhere)
    for index, text in enumerate(ranges):
        yield from validate_range(text.strip(), f"spec.LoadBalancerSourceRanges[{index}]")
    if "allocateLoadBalancerNodePorts" in spec and not is_balancer:
        yield forbidden("spec.allocateLoadBalancerNodePorts", elsewhere)
    if chosen is not None and not is_balancer:
        yield forbidden("spec.loadBalancerClass", elsewhere)
    for problem in qualified_name(chosen) if chosen is not None and is_balancer else ():
        yield invalid("spec.loadBalancerClass", chosen, problem)


def _validate_policies(spec: Tree) -> Iterator[FieldError]:
    external = spec.get("externalTrafficPolicy", "")
    if external and not is_external(spec):
        yield invalid("spec.externalTrafficPolicy", external, "may only be set for externally-accessible services")
    elif external and external not in _INTERNAL:
        yield not_supported("spec.externalTrafficPolicy", external, _INTERNAL)
    health = spec.get("healthCheckNodePort", 0)
    if health and not needs_health_port(spec):
        sentence = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        yield invalid("spec.healthCheckNodePort", health, sentence)
    for problem in port_number(health) if needs_health_port(spec) and health else ():
        yield invalid("spec.healthCheckNodePort", health, problem)
    internal = spec.get("internalTrafficPolicy")
    if internal is not None and internal not in _INTERNAL:
        yield not_supported("spec.internalTrafficPolicy", internal, _INTERNAL)
    spread = spec.get("trafficDistribution")
    if spread is not None and spread not in _DISTRIBUTIONS:
        yield not_supported("spec.trafficDistribution", spread, _DISTRIBUTIONS)


def _validate_update(new: Tree, old: Tree) -> Iterator[FieldError]:
    spec, was = new["spec"], old.get("spec", {})
    if "ExternalName" not in (spec["type"], was.get("type")):
        yield from _validate_kept_addresses(spec, was)
    if spec["type"] == "LoadBalancer" and was.get("type") == "LoadBalancer":
        chosen = spec.get("loadBalancerClass")
        if chosen != was.get("loadBalancerClass"):
            yield invalid("spec.loadBalancerClass", chosen, "may not change once set")
    kept = spec.get("healthCheckNodePort") == was.get("healthCheckNodePort")
    if needs_health_port(spec) and needs_health_port(was) and not kept:
        yield forbidden("spec.healthCheckNodePort", "field is immutable")
    yield from _validate(new)


def _validate_kept_addresses(spec: Tree, was: Tree) -> Iterator[FieldError]:
    before, after = is_headless(was), is_headless(spec)
    ips, old_ips = spec.get("clusterIPs") or [], was.get("clusterIPs") or []
    if not (before and after):
        for index, (ip, old_ip) in enumerate(zip(ips, old_ips, strict=False)):
            if ip != old_ip:
                yield invalid(f"spec.clusterIPs[{index}]", ips, "may not change once set")
    if not before and not after:
        families, old_families = spec.get("ipFamilies") or [], was.get("ipFamilies") or []
        for family, old_family in zip(families, old_families, strict=False):
            if family != old_family:
                yield invalid("spec.ipFamilies[0]", families, "may not change once set")


def _row(tree: Tree, now: float) -> list[Any]:
    spec = tree.get("spec", {})
    selector = ",".join(f"{key}={value}" for key, value in sorted((spec.get("selector") or {}).items()))
    return [
        name_of(tree),
        spec.get("type", ""),
        (spec.get("clusterIPs") or [NONE])[0],
        _external_address(tree),
        ",".join(map(_port_text, spec.get("ports") or ())) or NONE,
        age_of(tree, now),
        selector or NONE,
    ]


def _port_text(port: Tree) -> str:
    number = f"{port.get('port')}:{port['nodePort']}" if port.get("nodePort") else f"{port.get('port')}"
    return f"{number}/{port.get('protocol')}"


def _external_address(tree: Tree) -> str:
    spec = tree.get("spec", {})
    kind, outside = spec.get("type"), spec.get("externalIPs") or []
    if kind == "ExternalName":
        return str(spec.get("externalName", ""))
    if kind in ("ClusterIP", "NodePort"):
        return ",".join(outside) or NONE
    ingress = at(tree, "status", "loadBalancer", "ingress") or ()
    balanced = sorted({point.get("ip") or point.get("hostname", "") for point in ingress} - {""})
    return ",".join([*balanced, *outside]) or "<pending>"


SERVICE = Kind(
    resource=SERVICES,
    singular="service",
    definition="io.k8s.api.core.v1.Service",
    short_names=("svc",),
    categories=("all",),
    verbs=ALL_VERBS,
    has_status=True,
    default=_default,
    prepare_create=_prepare_create,
    prepare_update=_prepare_update,
    prepare_status=_prepare_status,
    validate=_validate,
    validate_update=_validate_update,
    whole_update=True,
    validate_name=name_rules.dns_label,
    returns_deleted=True,
    create_on_update=True,
    columns=(
        NAME,
        Column("Type", description="How it is reached."),
        Column("Cluster-IP", description="Its address within the cluster."),
        Column("External-IP", description="Its addresses for the outside."),
        Column("Port(s)", description="Its ports."),
        AGE,
        Column("Selector", priority=1, description="The labels of the pods behind it."),
    ),
    row=_row,
    warn=warn,
    fields={
        "spec.clusterIP": lambda tree: str(at(tree, "spec", "clusterIP", missing="")),
        "spec.type": lambda tree: str(at(tree, "spec", "type", missing="")),
    },
)
