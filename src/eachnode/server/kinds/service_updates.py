"""What an update of a service leaves unsaid: values that were allocated stay, and those its new type has no use for go.

A service's type decides which of its fields mean anything. A field that no longer does goes away by itself, but only
where the writer left it as it was; one that the writer changed is for validation to refuse.
"""

from __future__ import annotations

from eachnode.server.kind import Tree

_NODE_TYPES = ("NodePort", "LoadBalancer")


def carry_over(spec: Tree, was: Tree) -> None:
    """Fills in the allocated values that the writer did not repeat, and brings the two address fields together."""
    if "ExternalName" not in (spec["type"], was.get("type")):
        for field in ("clusterIP", "clusterIPs"):
            if not spec.get(field) and was.get(field):
                spec[field] = was[field]
        for field in ("ipFamilies", "ipFamilyPolicy"):
            if not spec.get(field) and was.get(field):
                spec[field] = was[field]
    if uses_node_ports(spec) and uses_node_ports(was):
        _carry_node_ports(spec, was)
    if needs_health_port(spec) and needs_health_port(was) and not spec.get("healthCheckNodePort"):
        spec["healthCheckNodePort"] = was.get("healthCheckNodePort", 0)
    _follow_address(spec, was)


def drop_unneeded(spec: Tree, was: Tree) -> None:
    """Takes away what the new type does not need and the writer did not change."""
    kind, old_kind = spec["type"], was.get("type")
    if kind == "ExternalName" and old_kind != "ExternalName":
        if _same(spec, was, "clusterIP") and _same(spec, was, "clusterIPs"):
            _drop(spec, "clusterIP", "clusterIPs")
        _drop(spec, *(field for field in ("ipFamilies", "ipFamilyPolicy") if _same(spec, was, field)))
    if old_kind in _NODE_TYPES and kind not in _NODE_TYPES and _node_ports(spec) <= _node_ports(was):
        for port in spec.get("ports") or ():
            port.pop("nodePort", None)
    if needs_health_port(was) and not needs_health_port(spec) and _same(spec, was, "healthCheckNodePort"):
        _drop(spec, "healthCheckNodePort")
    if old_kind == "LoadBalancer" and kind != "LoadBalancer":
        fields = ("allocateLoadBalancerNodePorts", "loadBalancerClass")
        _drop(spec, *(field for field in fields if _same(spec, was, field)))
    if is_external(was) and not is_external(spec) and _same(spec, was, "externalTrafficPolicy"):
        _drop(spec, "externalTrafficPolicy")


def is_external(spec: Tree) -> bool:
    """Whether it can be reached from outside the cluster."""
    kind = spec.get("type")
    return kind in _NODE_TYPES or bool(kind == "ClusterIP" and spec.get("externalIPs"))


def uses_node_ports(spec: Tree) -> bool:
    """Whether each of its ports is also a port of every node."""
    if spec.get("type") == "LoadBalancer":
        return spec.get("allocateLoadBalancerNodePorts") is not False
    return spec.get("type") == "NodePort"


def needs_health_port(spec: Tree) -> bool:
    """Whether a balancer asks its nodes on a port of their own whether they have any pods of it."""
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def _carry_node_ports(spec: Tree, was: Tree) -> None:
    """Ports keep their node port by name, unless another port has it now."""
    used = _node_ports(was) & _node_ports(spec)
    by_name = {port.get("name", ""): port.get("nodePort", 0) for port in was.get("ports") or ()}
    for port in spec.get("ports") or ():
        known = by_name.get(port.get("name", ""), 0)
        if not port.get("nodePort") and known and known not in used:
            port["nodePort"] = known


def _follow_address(spec: Tree, was: Tree) -> None:
    """Writers who know one address only change that one, and mean both fields."""
    new, old = spec.get("clusterIP", ""), was.get("clusterIP", "")
    if new == old:
        if not spec.get("clusterIPs") and was.get("clusterIPs"):
            spec["clusterIPs"] = was["clusterIPs"]
    elif _same(spec, was, "clusterIPs"):
        spec["clusterIPs"] = [new] if new else []


def _node_ports(spec: Tree) -> set[int]:
    return {port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort")}


def _same(spec: Tree, was: Tree, field: str) -> bool:
    return bool(spec.get(field) == was.get(field))


def _drop(spec: Tree, *fields: str) -> None:
    for field in fields:
        spec.pop(field, None)
