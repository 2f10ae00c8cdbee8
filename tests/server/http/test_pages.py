"""Discovery, health, version and metrics."""

from __future__ import annotations

import asyncio

import pytest

from eachnode.objects.api_versions import version_rank
from eachnode.objects.resources import CUSTOM_RESOURCE_DEFINITIONS, EVENTS, EVENTS_V1, PODS
from eachnode.server.http.discovery import storage_version_hash
from tests.server.http.sites import config_map, running, serve_widgets

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
EIGHT = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]


def test_versions_are_preferred_as_the_reference_does() -> None:
    mixed = ["v1alpha1", "v1", "foo", "v2beta1", "v10", "v2", "v11beta2", "v11beta10", "bar"]
    best_first = ["v10", "v2", "v1", "v11beta10", "v11beta2", "v2beta1", "v1alpha1", "bar", "foo"]
    assert sorted(mixed, key=version_rank) == best_first


def test_the_storage_version_hash_is_the_references() -> None:
    assert storage_version_hash(PODS) == "xPOwRZ+Yhw8="
    assert storage_version_hash(EVENTS) == "r2yiGXH7wu8="
    assert storage_version_hash(CUSTOM_RESOURCE_DEFINITIONS) == "jfWCUB31mvA="
    assert storage_version_hash(EVENTS_V1) != "r2yiGXH7wu8="


@pytest.mark.sockets
async def test_plain_discovery_tells_what_there_is() -> None:
    async with running() as site:
        assert (await site.call("GET /api")).body["versions"] == ["v1"]
        groups = (await site.call("GET /apis")).body["groups"]
        assert groups[0] == {
            "name": "apps",
            "versions": [{"groupVersion": "apps/v1", "version": "v1"}],
            "preferredVersion": {"groupVersion": "apps/v1", "version": "v1"},
        }
        assert (await site.call("GET /apis/apps")).body == {"kind": "APIGroup", "apiVersion": "v1", **groups[0]}
        entries = (await site.call("GET /apis/apps/v1")).body["resources"]
        assert [entry["name"] for entry in entries] == ["controllerrevisions", "daemonsets", "daemonsets/status"]
        assert entries[1] == {
            "name": "daemonsets",
            "singularName": "daemonset",
            "namespaced": True,
            "kind": "DaemonSet",
            "verbs": EIGHT,
            "shortNames": ["ds"],
            "categories": ["all"],
            "storageVersionHash": "dd7pWHUlMKQ=",
        }
        core = {entry["name"]: entry for entry in (await site.call("GET /api/v1")).body["resources"]}
        assert core["pods/eviction"] == {
            "name": "pods/eviction",
            "singularName": "",
            "namespaced": True,
            "group": "policy",
            "version": "v1",
            "kind": "Eviction",
            "verbs": ["create"],
        }


@pytest.mark.sockets
async def test_aggregated_discovery_tells_the_same_at_once() -> None:
    async with running() as site:
        for path, first in (("/api", {}), ("/apis", {"name": "apps"})):
            page = await site.call(f"GET {path}", Accept=AGGREGATED)
            assert page.headers["Content-Type"].endswith(";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
            assert (page.body["kind"], page.body["apiVersion"]) == ("APIGroupDiscoveryList", "apidiscovery.k8s.io/v2")
            assert page.body["items"][0]["metadata"] == first
            for group in page.body["items"]:
                name = group["metadata"].get("name")
                for version in group["versions"]:
                    plain = await site.call(f"GET {f'/apis/{name}' if name else '/api'}/{version['version']}")
                    mains = [entry["name"] for entry in plain.body["resources"] if "/" not in entry["name"]]
                    assert [entry["resource"] for entry in version["resources"]] == mains
                    parts = {
                        f"{entry['resource']}/{sub['subresource']}"
                        for entry in version["resources"]
                        for sub in entry.get("subresources", ())
                    }
                    assert parts == {entry["name"] for entry in plain.body["resources"]} - set(mains)


@pytest.mark.sockets
async def test_what_has_not_changed_is_not_sent_again() -> None:
    async with running() as site:
        first = await site.call("GET /apis", Accept=AGGREGATED)
        again = await site.call("GET /apis", Accept=AGGREGATED, If_None_Match=first.headers["ETag"])
        assert (again.status, again.body) == (304, "")
        assert again.headers["Content-Type"] == first.headers["Content-Type"]


@pytest.mark.sockets
async def test_health_is_told_in_a_word_or_check_by_check() -> None:
    async with running() as site:
        for page in ("healthz", "livez", "readyz"):
            assert (await site.call(f"GET /{page}", token=None)).body == "ok"
            assert (await site.call(f"GET /{page}/ping")).body == "ok"
            verbose = (await site.call(f"GET /{page}?verbose", token=None)).body
            assert verbose == f"[+]ping ok\n[+]storage ok\n{page} check passed\n"
            assert (await site.call(f"GET /{page}/nosuch")).status == 404


@pytest.mark.sockets
async def test_a_store_that_cannot_write_is_not_healthy() -> None:
    async with running() as site:
        site.front.api.store.trouble = "the disk is full"
        sick = await site.call("GET /readyz", token=None)
        assert sick.status == 500
        assert "[-]storage failed: the disk is full\n" in sick.body
        assert (await site.call("GET /readyz?exclude=storage", token=None)).status == 200
        assert (await site.call("GET /readyz/storage")).status == 500


@pytest.mark.sockets
async def test_the_version_is_the_references() -> None:
    async with running() as site:
        version = (await site.call("GET /version", token=None)).body
        assert (version["major"], version["minor"]) == ("1", "37")
        assert version["gitVersion"].startswith("v1.37.")


@pytest.mark.sockets
async def test_metrics_count_requests_objects_and_watchers() -> None:
    async with running() as site:
        for name in ("a", "a"):
            await site.call("POST /api/v1/namespaces/home/configmaps", config_map(name))
        async with site.lines("/api/v1/configmaps?watch=true") as lines:
            await anext(lines)
            text = (await site.call("GET /metrics")).body
        for line in (
            'apiserver_request_total{verb="CREATE",resource="configmaps",code="201"} 1',
            'apiserver_request_total{verb="CREATE",resource="configmaps",code="409"} 1',
            'apiserver_request_duration_seconds_count{verb="CREATE"} 2',
            'apiserver_request_duration_seconds_bucket{verb="CREATE",le="+Inf"} 2',
            'apiserver_longrunning_requests{verb="WATCH"} 1',
            'apiserver_storage_objects{resource="configmaps"} 1',
        ):
            assert line in text.splitlines()


@pytest.mark.sockets
async def test_the_index_names_all_pages() -> None:
    async with running() as site:
        paths = (await site.call("GET /")).body["paths"]
        assert {"/api/v1", "/apis/apps/v1", "/metrics", "/readyz/storage", "/version"} <= set(paths)
        for path in paths:
            assert (await site.call(f"GET {path}")).status == 200, path


@pytest.mark.sockets
async def test_a_custom_kind_is_discovered_from_its_definition_on_until_it_goes() -> None:
    async with running() as site:
        assert (await site.call("GET /apis/example.com")).body == "404 page not found\n"
        await serve_widgets(site)
        assert (await site.call("GET /apis")).body["groups"][-1]["name"] == "example.com"
        entries = (await site.call("GET /apis/example.com/v1")).body["resources"]
        assert [entry["name"] for entry in entries] == ["widgets", "widgets/status"]
        assert entries[0]["shortNames"] == ["wd"]
        for path in ("/apis/example.com/v9", "/apis/example.com/v1/gadgets"):
            assert (await site.call(f"GET {path}")).body == "404 page not found\n"
        await site.call("DELETE /apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com")
        async with asyncio.timeout(10):
            while (await site.call("GET /apis/example.com/v1/widgets")).status != 404:
                await asyncio.sleep(0)
        assert (await site.call("GET /apis/example.com")).status == 404


@pytest.mark.sockets
async def test_a_custom_object_is_not_merged_strategically() -> None:
    async with running() as site:
        await serve_widgets(site)
        step = "/apis/example.com/v1/namespaces/home/widgets"
        made = await site.call(
            f"POST {step}",
            {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 1}},
        )
        assert made.status == 201
        refused = await site.call(f"PATCH {step}/w", {}, Content_Type="application/strategic-merge-patch+json")
        assert refused.status == 415
        assert refused.message == (
            "the body of the request was in an unknown format - accepted media types include: "
            "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
        )
