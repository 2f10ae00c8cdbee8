"""Quotas, as they are enforced when something is created."""

from __future__ import annotations

from typing import Any

import pytest

from eachnode.objects.document import Document
from eachnode.objects.quota import Quota, object_usage
from eachnode.objects.resources import (
    CONFIG_MAPS,
    EVENTS,
    NAMESPACES,
    PODS,
    RESOURCE_QUOTAS,
    SERVICES,
    Resource,
)
from eachnode.server.admission.quota_check import Ledger

from .world import World, fresh_world


def pod(cpu: str = "") -> dict[str, Any]:
    container: dict[str, Any] = {"name": "c", "image": "i"}
    if cpu:
        container["resources"] = {"requests": {"cpu": cpu}}
    return {"containers": [container]}


async def limited(hard: dict[str, str], **spec: Any) -> World:
    world = await fresh_world()
    await world.create(RESOURCE_QUOTAS, "ns", metadata={"name": "q"}, spec={"hard": hard, **spec})
    return world


async def fill(world: World, number: int, cpu: str = "") -> None:
    for index in range(number):
        await world.create(PODS, "ns", metadata={"name": f"p{index}"}, spec=pod(cpu))


async def test_one_pod_too_many_is_refused_with_the_numbers() -> None:
    world = await limited({"pods": "2"})
    await fill(world, 2)
    error = await world.refused(PODS, "ns", metadata={"name": "p"}, spec=pod())
    assert (error.code, error.reason) == (403, "Forbidden")
    assert error.message == (
        'pods "p" is forbidden: exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2'
    )


async def test_a_pod_that_goes_makes_room() -> None:
    world = await limited({"pods": "1"})
    await fill(world, 1)
    await world.refused(PODS, "ns", metadata={"name": "p"}, spec=pod())
    await world.delete(PODS, "p0", "ns")
    assert (await world.create(PODS, "ns", metadata={"name": "p"}, spec=pod()))["metadata"]["name"] == "p"


async def test_a_pod_that_ends_makes_room() -> None:
    world = await limited({"pods": "1"})
    await fill(world, 1)
    await world.merge(PODS, "p0", "ns", {"status": {"phase": "Succeeded"}}, "status")
    await world.create(PODS, "ns", metadata={"name": "p"}, spec=pod())


async def test_requests_are_added_up() -> None:
    world = await limited({"requests.cpu": "1"})
    await fill(world, 2, cpu="400m")
    error = await world.refused(PODS, "ns", metadata={"name": "p"}, spec=pod("400m"))
    assert error.message == (
        'pods "p" is forbidden: exceeded quota: q, '
        "requested: requests.cpu=400m, used: requests.cpu=800m, limited: requests.cpu=1"
    )
    await world.create(PODS, "ns", metadata={"name": "p"}, spec=pod("200m"))


async def test_a_pod_that_does_not_say_what_is_limited_is_refused() -> None:
    error = await (await limited({"requests.cpu": "1", "limits.memory": "1Gi"})).refused(PODS, "ns", spec=pod())
    assert error.message == (
        'pods "x" is forbidden: failed quota: q: must specify limits.memory for: c; requests.cpu for: c'
    )


async def test_a_generated_name_is_told_in_full() -> None:
    error = await (await limited({"pods": "0"})).refused(
        PODS, "ns", metadata={"name": "", "generateName": "p-"}, spec=pod()
    )
    assert error.details is not None
    assert len(error.details.name) == len("p-") + 5


async def test_scopes_let_other_pods_pass() -> None:
    world = await limited({"pods": "0"}, scopes=["BestEffort"])
    await world.create(PODS, "ns", spec=pod("1"))
    error = await world.refused(PODS, "ns", metadata={"name": "y"}, spec=pod())
    assert "exceeded quota: q" in error.message


@pytest.mark.parametrize(
    ("resource", "name", "fields"),
    [
        (CONFIG_MAPS, "configmaps", {}),
        (CONFIG_MAPS, "count/configmaps", {}),
        (SERVICES, "services", {"spec": {"ports": [{"port": 80}]}}),
        (SERVICES, "count/services", {"spec": {"ports": [{"port": 80}]}}),
    ],
)
async def test_objects_of_other_kinds_are_counted(resource: Resource, name: str, fields: Any) -> None:
    world = await limited({name: "1"})
    await world.create(resource, "ns", metadata={"name": "a"}, **fields)
    error = await world.refused(resource, "ns", metadata={"name": "b"}, **fields)
    assert error.message == (
        f'{resource.plural} "b" is forbidden: exceeded quota: q, requested: {name}=1, used: {name}=1, limited: {name}=1'
    )


async def test_a_service_is_measured_by_how_much_it_grows() -> None:
    world = await limited({"services.nodeports": "1", "services": "1"})
    await world.create(SERVICES, "ns", spec={"ports": [{"port": 80, "name": "a"}]})
    await world.merge(SERVICES, "x", "ns", {"spec": {"type": "NodePort"}})
    more = {"spec": {"ports": [{"port": 80, "name": "a"}, {"port": 81, "name": "b"}]}}
    with pytest.raises(Exception, match=r"requested: services.nodeports=1, used: services.nodeports=1") as refused:
        await world.merge(SERVICES, "x", "ns", more)
    assert getattr(refused.value, "code", 0) == 403


async def test_the_stricter_of_two_quotas_decides() -> None:
    world = await limited({"pods": "9"})
    await world.create(RESOURCE_QUOTAS, "ns", metadata={"name": "r"}, spec={"hard": {"pods": "1"}})
    await fill(world, 1)
    error = await world.refused(PODS, "ns", metadata={"name": "p"}, spec=pod())
    assert "exceeded quota: r," in error.message


async def test_a_quota_that_is_changed_counts_by_its_new_scopes() -> None:
    world = await limited({"pods": "1"})
    await fill(world, 1)
    await world.refused(PODS, "ns", metadata={"name": "p"}, spec=pod())
    await world.merge(RESOURCE_QUOTAS, "q", "ns", {"spec": {"hard": {"pods": "2"}}})
    await world.create(PODS, "ns", metadata={"name": "p"}, spec=pod())


async def test_quotas_hold_in_their_own_namespace_only() -> None:
    world = await limited({"pods": "0", "count/events": "0"})
    await world.create(NAMESPACES, metadata={"name": "free"})
    await world.create(PODS, "free", spec=pod())


async def test_events_are_never_counted() -> None:
    world = await limited({"count/events": "0"})
    involved = {"kind": "Pod", "name": "p", "namespace": "ns"}
    await world.create(EVENTS, "ns", involvedObject=involved)


async def test_a_quota_that_is_gone_limits_nothing() -> None:
    world = await limited({"pods": "0"})
    await world.refused(PODS, "ns", spec=pod())
    await world.delete(RESOURCE_QUOTAS, "q", "ns")
    await world.create(PODS, "ns", spec=pod())


def test_a_ledger_weighs_each_document_once() -> None:
    weighed: list[Document] = []

    def weigh(document: Document) -> Any:
        weighed.append(document)
        return object_usage("configmaps")

    documents = [Document(b"{}") for _ in range(3)]
    ledger = Ledger(Document(b"{}"), weigh)
    assert str(ledger.bring_up_to_date(documents)["configmaps"]) == "3"
    assert str(ledger.bring_up_to_date([*documents[1:], Document(b"{}")])["configmaps"]) == "3"
    assert str(ledger.bring_up_to_date([])["configmaps"]) == "0"
    assert len(weighed) == 4


def test_quotas_are_read_from_their_documents() -> None:
    raw = b'{"metadata":{"name":"q"},"spec":{"hard":{"pods":"1"}},"status":{"used":{"pods":"1"}}}'
    assert Document(raw).read(Quota).names_for("pods") == ("pods",)
