"""Services and endpoints as kinds, and the addresses in them."""

from __future__ import annotations

from typing import Any

import pytest

from eachnode.objects.formats import qualified_name
from eachnode.server.kind import Tree
from eachnode.server.kinds.addresses import validate_address, validate_range
from eachnode.server.kinds.endpoints import ENDPOINTS
from eachnode.server.kinds.service_updates import carry_over
from eachnode.server.kinds.services import SERVICE

from .judging import cells, created, faults, listed, update_faults, updated

WEB = {"ports": [{"port": 80}]}
NO_ADDRESS = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"


def test_a_service_is_completed() -> None:
    assert created(SERVICE, spec=WEB)["spec"] == {
        "ports": [{"port": 80, "targetPort": 80, "protocol": "TCP"}],
        "type": "ClusterIP",
        "sessionAffinity": "None",
        "internalTrafficPolicy": "Cluster",
    }
    assert created(SERVICE, spec=WEB)["status"] == {"loadBalancer": {}}


def test_services_for_the_outside_get_more_defaults() -> None:
    spec = created(SERVICE, spec={**WEB, "type": "LoadBalancer", "sessionAffinity": "ClientIP"})["spec"]
    assert spec["externalTrafficPolicy"] == "Cluster"
    assert spec["allocateLoadBalancerNodePorts"] is True
    assert spec["sessionAffinityConfig"] == {"clientIP": {"timeoutSeconds": 10800}}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (WEB, []),
        ({"clusterIP": "None"}, []),
        ({}, [("spec.ports", "Required value")]),
        ({"type": "ExternalName", "externalName": "example.com."}, []),
        ({"type": "ExternalName"}, [("spec.externalName", "Required value")]),
        (
            {"type": "ExternalName", "externalName": "a", "clusterIP": "10.96.0.9"},
            [("spec.clusterIPs", "Forbidden: may not be set for ExternalName services")],
        ),
        (
            {"ports": [{"port": 80}, {"port": 81, "name": "a"}]},
            [("spec.ports[0].name", "Required value")],
        ),
        (
            {"ports": [{"port": 80, "name": "a"}, {"port": 81, "name": "a"}]},
            [("spec.ports[1].name", 'Duplicate value: "a"')],
        ),
        (
            {"ports": [{"port": 0, "targetPort": "a_b"}]},
            [
                ("spec.ports[0].port", "Invalid value: 0: must be between 1 and 65535, inclusive"),
                (
                    "spec.ports[0].targetPort",
                    'Invalid value: "a_b": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)',
                ),
            ],
        ),
        (
            {"ports": [{"port": 80, "protocol": "HTTP"}]},
            [("spec.ports[0].protocol", 'Unsupported value: "HTTP": supported values: "SCTP", "TCP", "UDP"')],
        ),
        (
            {"ports": [{"port": 80, "name": "a"}, {"port": 80, "name": "b"}]},
            [
                (
                    "spec.ports[1]",
                    'Duplicate value: {"Name":"","Protocol":"TCP","AppProtocol":null,"Port":80,"TargetPort":0,'
                    '"NodePort":0}',
                )
            ],
        ),
        (
            {"ports": [{"port": 80, "nodePort": 30001}]},
            [("spec.ports[0].nodePort", "Forbidden: may not be used when `type` is 'ClusterIP'")],
        ),
        (
            {**WEB, "sessionAffinity": "Love"},
            [("spec.sessionAffinity", 'Unsupported value: "Love": supported values: "ClientIP", "None"')],
        ),
        ({**WEB, "clusterIP": "ten"}, [("spec.clusterIPs[0]", f'Invalid value: "ten": {NO_ADDRESS}')]),
        (
            {**WEB, "externalIPs": ["127.0.0.1"]},
            [
                (
                    "spec.externalIPs[0]",
                    'Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)',
                )
            ],
        ),
        (
            {**WEB, "type": "Cloud"},
            [
                (
                    "spec.type",
                    'Unsupported value: "Cloud": supported values: "ClusterIP", "ExternalName", "LoadBalancer", '
                    '"NodePort"',
                )
            ],
        ),
        (
            {**WEB, "externalTrafficPolicy": "Local"},
            [
                (
                    "spec.externalTrafficPolicy",
                    'Invalid value: "Local": may only be set for externally-accessible services',
                )
            ],
        ),
    ],
)
def test_what_is_wrong_with_a_service(spec: Tree, expected: Any) -> None:
    assert faults(SERVICE, spec=spec) == expected


def given_an_address(spec: Tree) -> Tree:
    tree = created(SERVICE, spec=spec)
    tree["spec"] |= {"clusterIP": "10.96.1.1", "clusterIPs": ["10.96.1.1"], "ipFamilies": ["IPv4"]}
    return tree


def test_what_was_allocated_stays_when_it_is_left_out() -> None:
    old = given_an_address({"type": "NodePort", "ports": [{"port": 80, "nodePort": 30001}]})
    new = created(SERVICE, spec={"type": "NodePort", **WEB})
    carry_over(new["spec"], old["spec"])
    assert new["spec"]["clusterIPs"] == ["10.96.1.1"]
    assert new["spec"]["ports"][0]["nodePort"] == 30001


def test_a_service_that_leaves_the_nodes_gives_their_ports_back() -> None:
    old = given_an_address({"type": "NodePort", "ports": [{"port": 80, "nodePort": 30001}]})
    new = updated(SERVICE, old, spec={"type": "ClusterIP", "ports": [{"port": 80, "nodePort": 30001}]})
    assert "nodePort" not in new["spec"]["ports"][0]


def test_an_address_stays() -> None:
    found = update_faults(SERVICE, given_an_address(WEB), spec={**WEB, "clusterIP": "10.96.1.2"})
    assert found == [("spec.clusterIPs[0]", 'Invalid value: ["10.96.1.2"]: may not change once set')]


def test_a_service_that_becomes_a_name_gives_its_address_back() -> None:
    old = given_an_address(WEB)
    new = updated(SERVICE, old, spec={"type": "ExternalName", "externalName": "a", "clusterIP": "10.96.1.1"})
    assert "clusterIP" not in new["spec"]
    assert "clusterIPs" not in new["spec"]


@pytest.mark.parametrize(
    ("spec", "status", "external", "ports"),
    [
        (WEB, {}, "<none>", "80/TCP"),
        ({**WEB, "externalIPs": ["1.2.3.4"]}, {}, "1.2.3.4", "80/TCP"),
        ({**WEB, "type": "LoadBalancer"}, {}, "<pending>", "80/TCP"),
        (
            {"type": "LoadBalancer", "ports": [{"port": 80, "nodePort": 30001}]},
            {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}, {"hostname": "h"}]}},
            "1.2.3.4,h",
            "80:30001/TCP",
        ),
        ({"type": "ExternalName", "externalName": "e.com"}, {}, "e.com", "<none>"),
    ],
)
def test_a_row_tells_how_a_service_is_reached(spec: Tree, status: Tree, external: str, ports: str) -> None:
    row = cells(SERVICE, {**created(SERVICE, spec=spec), "status": status})
    assert (row["External-IP"], row["Port(s)"]) == (external, ports)
    assert row["Cluster-IP"] == "<none>"
    assert row["Selector"] == "<none>"


def test_endpoints_are_validated_and_summed_up() -> None:
    subset = {"addresses": [{"ip": f"10.0.0.{n}"} for n in range(1, 5)], "ports": [{"port": 80}]}
    tree = created(ENDPOINTS, subsets=[subset])
    assert tree["subsets"][0]["ports"] == [{"port": 80, "protocol": "TCP"}]
    assert cells(ENDPOINTS, tree)["Endpoints"] == "10.0.0.1:80,10.0.0.2:80,10.0.0.3:80 + 1 more..."
    assert cells(ENDPOINTS, created(ENDPOINTS))["Endpoints"] == "<none>"


@pytest.mark.parametrize(
    ("subset", "expected"),
    [
        ({}, [("subsets[0]", "Required value: must specify `addresses` or `notReadyAddresses`")]),
        (
            {"addresses": [{"ip": "169.254.1.1"}]},
            [
                (
                    "subsets[0].addresses[0].ip",
                    'Invalid value: "169.254.1.1": may not be in the link-local range (169.254.0.0/16, fe80::/10)',
                )
            ],
        ),
        (
            {"notReadyAddresses": [{"ip": "1.1.1.1"}], "ports": [{"port": 1}, {"port": 70000, "name": "b"}]},
            [
                ("subsets[0].ports[0].name", "Required value"),
                ("subsets[0].ports[1].port", "Invalid value: 70000: must be between 1 and 65535, inclusive"),
            ],
        ),
    ],
)
def test_what_is_wrong_with_endpoints(subset: Tree, expected: Any) -> None:
    assert faults(ENDPOINTS, subsets=[subset]) == expected


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("10.1.2.3", None),
        ("fd00::1", None),
        ("10.1.2", NO_ADDRESS),
        ("10.01.2.3", "must not have leading 0s"),
        ("::ffff:10.1.2.3", "must not be an IPv4-mapped IPv6 address"),
    ],
)
def test_addresses(text: str, problem: str | None) -> None:
    expected = [("p", f'Invalid value: "{text}": {problem}')] if problem else []
    assert listed(validate_address(text, "p")) == expected


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("10.1.2.0/24", None),
        ("fd00::/64", None),
        ("10.1.2.0/33", "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"),
        ("10.01.2.0/24", "must not have leading 0s in IP or prefix length"),
        ("10.1.2.0/024", "must not have leading 0s in IP or prefix length"),
        ("::ffff:10.1.2.0/120", "must not have an IPv4-mapped IPv6 address"),
        ("10.1.2.3/24", "must not have bits set beyond the prefix length"),
    ],
)
def test_ranges(text: str, problem: str | None) -> None:
    expected = [("p", f'Invalid value: "{text}": {problem}')] if problem else []
    assert listed(validate_range(text, "p")) == expected


def warned(**spec: Any) -> list[str]:
    return list(SERVICE.warn(created(SERVICE, spec={**WEB, **spec}), None))


@pytest.mark.parametrize(
    ("spec", "warnings"),
    [
        ({}, []),
        (
            {"externalIPs": ["1.2.3.4"]},
            ["spec.externalIPs is deprecated and may no longer be implemented in some clusters"],
        ),
        (
            {"trafficDistribution": "PreferClose"},
            ['spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"'],
        ),
        (
            {
                "clusterIP": "None",
                "sessionAffinity": "ClientIP",
                "externalIPs": ["1.2.3.4"],
                "loadBalancerIP": "1.1.1.1",
            },
            [
                "spec.loadBalancerIP is ignored for headless services",
                "spec.externalIPs is ignored for headless services",
                "spec.SessionAffinity is ignored for headless services",
            ],
        ),
        ({"externalName": "a.b"}, ['spec.externalName is ignored when spec.type is not "ExternalName"']),
        (
            {"type": "ExternalName", "externalName": "a.b", "externalIPs": ["1.2.3.4"]},
            ['spec.externalIPs is ignored when spec.type is "ExternalName"'],
        ),
        (
            {"type": "LoadBalancer", "loadBalancerIP": "010.1.1.1", "loadBalancerSourceRanges": ["2001:DB8::/32"]},
            [
                'spec.loadBalancerIP: non-standard IP address "010.1.1.1" is invalid: use "10.1.1.1"',
                'spec.loadBalancerSourceRanges[0]: IPv6 CIDR value "2001:DB8::/32" should be in RFC 5952 canonical '
                'format ("2001:db8::/32")',
            ],
        ),
    ],
)
def test_fields_that_mean_nothing_are_warned_of(spec: Tree, warnings: list[str]) -> None:
    assert warned(**spec) == warnings


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"loadBalancerSourceRanges": [" 10.0.0.0/8 "]}, []),
        ({"loadBalancerSourceRanges": ["10.0.0.1"]},
         [("spec.LoadBalancerSourceRanges[0]",
           'Invalid value: "10.0.0.1": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)')]),
        ({"loadBalancerClass": "a/b/c"},
         [("spec.loadBalancerClass", f'Invalid value: "a/b/c": {qualified_name("a/b/c")[0]}')]),
        ({"externalTrafficPolicy": "Local", "healthCheckNodePort": 70000},
         [("spec.healthCheckNodePort", "Invalid value: 70000: must be between 1 and 65535, inclusive")]),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_load_balancer(fields: Tree, expected: Any) -> None:
    assert faults(SERVICE, spec={**WEB, "type": "LoadBalancer", **fields}) == expected


def test_an_address_is_of_the_family_that_is_named_for_it() -> None:
    spec = {**WEB, "clusterIP": "::1", "ipFamilies": ["IPv4"]}
    sentence = 'Invalid value: "::1": expected an IPv4 value as indicated by `ipFamilies[0]`'
    assert faults(SERVICE, spec=spec) == [("spec.clusterIPs[0]", sentence)]
