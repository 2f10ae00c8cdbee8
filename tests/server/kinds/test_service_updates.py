"""What becomes of a service's allocated values when it changes, above all its type."""

from __future__ import annotations

import pytest

from eachnode.objects.resources import SERVICES
from eachnode.objects.status import ApiError
from tests.server.admission.world import fresh_world

PORTS = [{"port": 80}]


async def test_a_new_type_gives_back_what_only_the_old_one_needed() -> None:
    world = await fresh_world()
    await world.create(SERVICES, "ns", spec={"type": "NodePort", "ports": PORTS})
    spec = (await world.merge(SERVICES, "x", "ns", {"spec": {"type": "ClusterIP"}}))["spec"]
    assert "externalTrafficPolicy" not in spec
    assert "nodePort" not in spec["ports"][0]
    balanced = {"type": "LoadBalancer", "externalTrafficPolicy": "Local"}
    spec = (await world.merge(SERVICES, "x", "ns", {"spec": balanced}))["spec"]
    assert spec["healthCheckNodePort"] >= 30000
    spec = (await world.merge(SERVICES, "x", "ns", {"spec": {"type": "ExternalName", "externalName": "a.b"}}))["spec"]
    assert set(spec) == {"type", "ports", "selector", "sessionAffinity", "externalName"} - {"selector"}


async def test_an_address_stays_and_the_single_field_stands_for_both() -> None:
    world = await fresh_world()
    made = await world.create(SERVICES, "ns", spec={"ports": PORTS})
    with pytest.raises(
        ApiError, match=r'spec.clusterIPs\[0\]: Invalid value: \["10.96.5.5"\]: may not change once set'
    ):
        await world.merge(SERVICES, "x", "ns", {"spec": {"clusterIP": "10.96.5.5"}})
    kept = await world.merge(SERVICES, "x", "ns", {"spec": {"clusterIP": None, "clusterIPs": None}})
    assert kept["spec"]["clusterIPs"] == made["spec"]["clusterIPs"]


async def test_node_ports_stay_with_the_name_of_their_port() -> None:
    world = await fresh_world()
    made = await world.create(SERVICES, "ns", spec={"type": "NodePort", "ports": [{"name": "a", "port": 80}]})
    ports = [{"name": "a", "port": 8080}, {"name": "b", "port": 81}]
    changed = await world.merge(SERVICES, "x", "ns", {"spec": {"ports": ports}})
    first, second = changed["spec"]["ports"]
    assert first["nodePort"] == made["spec"]["ports"][0]["nodePort"] != second["nodePort"]


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"ipFamilies": ["IPv6"]}, 'spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster'),
        (
            {"ipFamilyPolicy": "RequireDualStack"},
            'spec.ipFamilyPolicy: Invalid value: "RequireDualStack": '
            "this cluster is not configured for dual-stack services",
        ),
        (
            {"ipFamilyPolicy": "Both"},
            'spec.ipFamilyPolicy: Unsupported value: "Both": '
            'supported values: "PreferDualStack", "RequireDualStack", "SingleStack"',
        ),
    ],
)
async def test_families_that_this_cluster_has_not(spec: dict[str, object], said: str) -> None:
    world = await fresh_world()
    refused = await world.refused(SERVICES, "ns", spec={"ports": PORTS, **spec})
    assert said in refused.message
