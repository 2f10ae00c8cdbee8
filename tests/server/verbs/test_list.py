"""Lists: order, selectors, pages of one version, and versions that cannot be shown."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any

import pytest

from eachnode.objects.resources import CONFIG_MAPS, EVENTS, EVENTS_V1, NAMESPACES, PODS
from eachnode.objects.status import ApiError, BadRequest, Gone, Unavailable
from eachnode.objects.watching import Page
from eachnode.server.api_server import ApiServer
from eachnode.server.kind import Call, Caller
from eachnode.server.store import HistoryLimits
from tests.server.apis import HOME, add, name_of, names, open_api, pod_body, version_of

SOMEBODY = Call(Caller("somebody"), 0.0)


def listed(page: Page) -> list[str]:
    return [name_of(document) for document in page.documents]


async def page_of(api: ApiServer, namespace: str = HOME, **query: Any) -> Page:
    return await api.list_as(SOMEBODY, CONFIG_MAPS, namespace, **query)


async def test_objects_are_listed_in_the_order_of_their_paths() -> None:
    api = open_api()
    for namespace in ("b", "a-b", "a"):
        await add(api, "y", "x-1", "x", namespace=namespace)
    page = await api.list(CONFIG_MAPS)
    paths = [
        f"{tree['metadata']['namespace']}/{tree['metadata']['name']}"
        for tree in (document.tree() for document in page.documents)
    ]
    assert paths == sorted(paths)
    assert await names(api, namespace="a") == ["x", "x-1", "y"]


async def test_the_version_of_a_list_is_that_of_the_whole_store() -> None:
    api = open_api()
    await add(api, "a")
    other = (await api.create(PODS, pod_body("p"), HOME)).tree()
    assert (await page_of(api)).version == str(version_of(other))


async def test_selectors_choose_by_labels_and_fields_and_namespace() -> None:
    api = open_api()
    await add(api, "a", labels={"tier": "web", "env": "prod"})
    await add(api, "b", labels={"tier": "db"})
    await add(api, "c")
    assert await names(api, labels="tier in (web,db),env!=dev") == ["a", "b"]
    assert await names(api, labels="!tier") == ["c"]
    assert await names(api, fields="metadata.name!=a,metadata.namespace=home") == ["b", "c"]
    assert await names(api, fields="metadata.name=b", labels="env") == []
    assert await names(api, namespace="elsewhere") == []


async def test_pods_are_found_by_their_node() -> None:
    api = open_api()
    for name, node in (("p", "n1"), ("q", "n2"), ("r", "")):
        await api.create(PODS, pod_body(name, node), HOME)
    assert await names(api, PODS, fields="spec.nodeName=n1") == ["p"]
    assert await names(api, PODS, fields="spec.nodeName=") == ["r"]
    assert await names(api, PODS, fields="status.phase!=Pending") == []


@pytest.mark.parametrize(
    ("resource", "message"),
    [
        (CONFIG_MAPS, '"spec.x" is not a known field selector: only "metadata.name", "metadata.namespace"'),
        (PODS, "field label not supported: spec.x"),
    ],
)
async def test_a_field_that_cannot_be_selected_is_named(resource: Any, message: str) -> None:
    with pytest.raises(BadRequest) as refused:
        await open_api().list(resource, fields="spec.x=1")
    assert refused.value.message == message


async def test_pages_follow_one_another_without_gap_or_repetition() -> None:
    api = open_api()
    await add(api, *"abcdefg")
    first = await page_of(api, limit=3)
    second = await page_of(api, limit=3, after=first.continues)
    third = await page_of(api, limit=3, after=second.continues)
    assert (listed(first), listed(second), listed(third)) == (["a", "b", "c"], ["d", "e", "f"], ["g"])
    assert (first.remaining, second.remaining, third.remaining) == (4, 1, None)
    assert third.continues == ""


async def test_later_pages_show_the_version_of_the_first_whatever_happens_meanwhile() -> None:
    api = open_api()
    await add(api, *"acegik")
    first = await page_of(api, limit=2)
    await add(api, "d", "z")
    await api.delete(CONFIG_MAPS, "e", HOME)
    await api.delete(CONFIG_MAPS, "a", HOME)
    await api.patch(CONFIG_MAPS, "g", b'{"data":{"x":"y"}}', "application/merge-patch+json", HOME)
    second = await page_of(api, limit=3, after=first.continues)
    third = await page_of(api, limit=3, after=second.continues)
    assert listed(second) == ["e", "g", "i"]
    assert "data" not in second.documents[1].tree()
    assert listed(third) == ["k"]
    assert first.version == second.version == third.version
    assert listed(await page_of(api)) == ["c", "d", "g", "i", "k", "z"]


async def test_a_page_through_a_selector_does_not_tell_how_many_remain() -> None:
    api = open_api()
    await add(api, "a", "b", labels={"x": "y"})
    await add(api, "c")
    page = await page_of(api, limit=2, labels="x")
    assert listed(page) == ["a", "b"]
    assert page.remaining is None
    assert page.continues, "c may be selected or not: nobody has looked yet"
    assert listed(await page_of(api, limit=2, labels="x", after=page.continues)) == []


async def test_pages_over_all_namespaces_go_on_in_the_middle_of_one() -> None:
    api = open_api()
    for namespace in ("a", "b"):
        await add(api, "x", "y", "z", namespace=namespace)
    seen: list[str] = []
    page = await page_of(api, "", limit=2)
    while True:
        seen += [f"{d.tree()['metadata']['namespace']}/{name_of(d)}" for d in page.documents]
        if not page.continues:
            break
        page = await page_of(api, "", limit=2, after=page.continues)
    assert seen == ["a/x", "a/y", "a/z", "b/x", "b/y", "b/z"]


@pytest.mark.parametrize(
    "token",
    [
        "garbage",
        "&",
        base64.urlsafe_b64encode(b"[1]").decode().rstrip("="),
        base64.urlsafe_b64encode(b'{"v":"other","rv":3,"start":"a"}').decode().rstrip("="),
        base64.urlsafe_b64encode(b'{"v":"meta.k8s.io/v1","rv":0,"start":"a"}').decode().rstrip("="),
        base64.urlsafe_b64encode(b'{"v":"meta.k8s.io/v1","rv":3,"start":""}').decode().rstrip("="),
        base64.urlsafe_b64encode(b'{"v":"meta.k8s.io/v1","rv":3,"start":"../a"}').decode().rstrip("="),
    ],
)
async def test_a_token_of_somebody_elses_making_is_refused(token: str) -> None:
    with pytest.raises(BadRequest, match="invalid continue token: continue key is not valid"):
        await page_of(open_api(), limit=1, after=token)


@pytest.mark.parametrize(
    ("token", "reason"),
    [
        ("ab!c", "illegal base64 data at input byte 2"),
        ("abc", "invalid character 'i' looking for beginning of value"),
    ],
)
async def test_what_is_wrong_with_a_token_is_said_in_gos_words(token: str, reason: str) -> None:
    with pytest.raises(BadRequest) as refused:
        await page_of(open_api(), limit=1, after=token)
    assert refused.value.message == f"invalid continue token: continue key is not valid: {reason}"


async def test_a_token_and_a_version_exclude_one_another() -> None:
    api = open_api()
    await add(api, "a", "b")
    page = await page_of(api, limit=1)
    with pytest.raises(BadRequest, match="specifying resource version is not allowed when using continue"):
        await page_of(api, after=page.continues, version="5")


async def test_a_token_that_is_too_old_expires_and_offers_to_go_on_anyway() -> None:
    api = open_api(limits=HistoryLimits(seconds=0.0, always=2))
    await add(api, *"abc")
    page = await page_of(api, limit=1)
    await add(api, *(f"d{number}" for number in range(30)))
    await asyncio.sleep(1)
    await add(api, "z")
    with pytest.raises(Gone) as expired:
        await page_of(api, limit=1, after=page.continues)
    assert expired.value.reason == "Expired"
    assert expired.value.message.startswith("The provided continue parameter is too old to display a consistent list")
    offered = expired.value.status.tree()["metadata"]["continue"]
    assert listed(await page_of(api, limit=3, after=offered)) == ["b", "c", "d0"]


async def test_an_exact_version_shows_the_past() -> None:
    api = open_api()
    past = await add(api, "a", "b")
    await api.delete(CONFIG_MAPS, "a", HOME)
    then = str(version_of(past))
    assert listed(await page_of(api, version=then, match="Exact")) == ["a", "b"]
    assert (await page_of(api, version=then, match="Exact")).version == then
    assert listed(await page_of(api, version=then, match="NotOlderThan")) == ["b"]
    assert listed(await page_of(api, version=then)) == ["b"]
    assert listed(await page_of(api, version=then, limit=5)) == ["a", "b"]
    assert listed(await page_of(api, version="0", limit=1)) == ["b"]


async def test_any_version_with_a_limit_is_answered_whole() -> None:
    api = open_api()
    await add(api, *"abc")
    assert listed(await page_of(api, version="0", limit=1)) == ["a", "b", "c"]
    page = await page_of(api, limit=1)
    assert listed(await page_of(api, version="0", limit=1, after=page.continues)) == ["b", "c"]


async def test_an_exact_version_that_is_forgotten_is_gone() -> None:
    api = open_api(limits=HistoryLimits(seconds=0.0, always=1))
    await add(api, "a")
    await asyncio.sleep(1)
    await add(api, *(f"b{number}" for number in range(20)))
    with pytest.raises(Gone, match="The resourceVersion for the provided list is too old"):
        await page_of(api, version="1", match="Exact")


async def test_a_version_of_the_future_is_a_timeout() -> None:
    api = open_api()
    await add(api, "a")
    newest = api.store.committed
    for query in ({"version": "999"}, {"version": "999", "match": "Exact"}, {"version": "999", "limit": 1}):
        with pytest.raises(Unavailable) as refused:
            await page_of(api, **query)
        assert refused.value.code == 504
        assert refused.value.reason == "Timeout"
        assert refused.value.message == f"Timeout: Too large resource version: 999, current: {newest}"
        assert refused.value.has_cause("ResourceVersionTooLarge")
        assert refused.value.retry_after == 1


@pytest.mark.parametrize(
    ("version", "reason"),
    [
        ("banana", "invalid syntax"),
        ("-1", "invalid syntax"),
        ("1" * 30, "value out of range"),
        ("1.5", "invalid syntax"),
    ],
)
async def test_a_version_that_is_no_number_is_refused_in_gos_words(version: str, reason: str) -> None:
    with pytest.raises(BadRequest) as refused:
        await page_of(open_api(), version=version)
    assert refused.value.message == (
        f'invalid resource version: resourceVersion: Invalid value: "{version}": '
        f'strconv.ParseUint: parsing "{version}": {reason}'
    )


async def test_events_are_listed_under_both_of_their_groups() -> None:
    api = open_api()
    event = {"involvedObject": {"kind": "Pod", "name": "p", "namespace": HOME}, "reason": "R", "message": "hello"}
    await api.create(EVENTS, json.dumps({**event, "metadata": {"name": "e"}}).encode(), HOME)
    old, new = [(await api.list(resource, HOME)).documents[0].tree() for resource in (EVENTS, EVENTS_V1)]
    assert (old["apiVersion"], old["message"]) == ("v1", "hello")
    assert (new["apiVersion"], new["note"]) == ("events.k8s.io/v1", "hello")
    assert old["metadata"]["uid"] == new["metadata"]["uid"]
    assert await names(api, EVENTS_V1, fields="regarding.name=p") == ["e"]
    assert await names(api, EVENTS_V1, fields="regarding.name=q") == []
    with pytest.raises(BadRequest, match="field label not supported"):
        await api.list(EVENTS_V1, fields="involvedObject.name=p")


async def test_kinds_of_the_whole_cluster_ignore_namespaces() -> None:
    api = open_api()
    await api.create(NAMESPACES, b'{"metadata":{"name":"n"}}')
    assert await names(api, NAMESPACES, namespace="") == ["n"]


async def test_a_selector_that_cannot_be_parsed_is_refused() -> None:
    with pytest.raises(ApiError, match="unable to parse requirement"):
        await open_api().list(CONFIG_MAPS, labels="tier near (web)")
