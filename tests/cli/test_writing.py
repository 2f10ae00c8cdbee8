"""`apply`, `set image` and `delete` on a world: what they send, what they say, and what they refuse."""

from __future__ import annotations

import asyncio

import pytest

from eachnode.cli.apply import apply_all
from eachnode.cli.delete import Doomed, Manner, delete_all
from eachnode.cli.failures import Failure
from eachnode.cli.manifests import Manifest
from eachnode.cli.set import image_changes, set_images
from eachnode.objects.resources import CONTROLLER_REVISIONS, DAEMON_SETS, PODS
from tests.cli.walks import image_of, walked
from tests.worlds import Tree, daemon_set, world

WEB = Doomed(DAEMON_SETS, "web", "default")


def manifest(tree: Tree) -> Manifest:
    return Manifest({"apiVersion": "apps/v1", "kind": "DaemonSet", **tree}, "web.yaml")


# apply


async def test_apply_says_created_unchanged_and_configured(capsys: pytest.CaptureFixture[str]) -> None:
    async with world(nodes=3) as here:
        for image in ("i:1", "i:1", "i:2"):
            assert await apply_all(here.door, [manifest(daemon_set("web", image))], "default") == 0
            await here.until_available("web", 3)
        said = capsys.readouterr().out.splitlines()
        assert said == [f"daemonset.apps/web {what}" for what in ("created", "unchanged", "configured")]


async def test_apply_goes_on_after_a_refusal_and_counts_it(capsys: pytest.CaptureFixture[str]) -> None:
    async with world() as here:
        bad = daemon_set("bad")
        bad["spec"]["selector"] = {"matchLabels": {"app": "another"}}
        unknown = Manifest({"apiVersion": "v9", "kind": "Nothing", "metadata": {"name": "n"}}, "n.yaml")
        given = [manifest(bad), unknown, manifest(daemon_set("web"))]
        assert await apply_all(here.door, given, "default") == 2
        said = capsys.readouterr()
        assert said.out == "daemonset.apps/web created\n"
        assert 'error: web.yaml: DaemonSet.apps "bad" is invalid' in said.err
        assert "error: n.yaml: the server has no kind 'Nothing' in version 'v9'" in said.err


@pytest.mark.parametrize("dry_run", ["client", "server"])
async def test_apply_as_a_dry_run_changes_nothing(dry_run: str, capsys: pytest.CaptureFixture[str]) -> None:
    async with walked() as here:
        given = [manifest(daemon_set("web", "nginx:9")), manifest(daemon_set("other"))]
        assert await apply_all(here.door, given, "default", dry_run=dry_run) == 0
        assert capsys.readouterr().out.splitlines() == [
            f"daemonset.apps/web configured ({dry_run} dry run)",
            f"daemonset.apps/other created ({dry_run} dry run)",
        ]
        assert await image_of(here) == "nginx:1"
        assert await here.get(DAEMON_SETS, "other") is None


async def test_apply_without_force_tells_who_owns_a_field(capsys: pytest.CaptureFixture[str]) -> None:
    async with world() as here:
        await apply_all(here.door, [manifest(daemon_set("web"))], "default")
        await set_images(here.door, "web", "default", {"c": "i:2"})
        assert await apply_all(here.door, [manifest(daemon_set("web"))], "default", force=False) == 1
        assert 'conflict with "eachnode-set"' in capsys.readouterr().err
        assert await image_of(here) == "i:2"


async def test_apply_refuses_two_namespaces_for_one_object(capsys: pytest.CaptureFixture[str]) -> None:
    async with world() as here:
        tree = daemon_set("web")
        tree["metadata"]["namespace"] = "kube-system"
        assert await apply_all(here.door, [manifest(tree)], "default", given_namespace="default") == 1
        assert "the file says namespace kube-system, and the option -n says default" in capsys.readouterr().err


# set image


async def test_set_image_changes_the_container_and_tells_the_cause() -> None:
    async with walked() as here:
        said = await set_images(here.door, "web", "default", {"c": "nginx:2"}, cause="newer is better")
        assert said == "daemonset.apps/web image updated"
        assert await image_of(here) == "nginx:2"
        await here.until_available("web", 3)
        causes = [tree["metadata"]["annotations"] for tree in await here.all(CONTROLLER_REVISIONS)]
        assert {"kubernetes.io/change-cause": "newer is better"}.items() <= causes[-1].items() | causes[0].items()
        assert await set_images(here.door, "web", "default", {"*": "nginx:2"}) == "daemonset.apps/web image unchanged"


async def test_set_image_as_a_dry_run_changes_nothing() -> None:
    async with walked() as here:
        for dry_run in ("client", "server"):
            said = await set_images(here.door, "web", "default", {"c": "nginx:2"}, dry_run=dry_run)
            assert said == f"daemonset.apps/web image updated ({dry_run} dry run)"
        assert await image_of(here) == "nginx:1"


def test_an_image_patch_names_changed_containers_and_keeps_the_order_of_all() -> None:
    containers = [{"name": "a", "image": "i:1"}, {"name": "b", "image": "i:2"}]
    spec = {"containers": containers, "initContainers": [{"name": "first", "image": "i:1"}]}
    assert image_changes(spec, {"*": "i:2"}, "web") == {
        "$setElementOrder/initContainers": [{"name": "first"}],
        "initContainers": [{"name": "first", "image": "i:2"}],
        "$setElementOrder/containers": [{"name": "a"}, {"name": "b"}],
        "containers": [{"name": "a", "image": "i:2"}],
    }


def test_an_unknown_container_suggests_the_nearest_or_names_all() -> None:
    spec = {"containers": [{"name": "fluentd", "image": "i:1"}]}
    with pytest.raises(Failure, match="there is no container 'fluent' in daemonset web; did you mean 'fluentd'"):
        image_changes(spec, {"fluent": "i:2"}, "web")
    with pytest.raises(Failure, match="there is no container 'x' in daemonset web; there are fluentd"):
        image_changes(spec, {"x": "i:2"}, "web")


# delete


async def test_delete_waits_until_the_object_is_gone_and_its_pods_follow(capsys: pytest.CaptureFixture[str]) -> None:
    async with walked() as here:
        assert await delete_all(here.door, [WEB], Manner()) == 0
        assert await here.get(DAEMON_SETS, "web") is None
        assert capsys.readouterr().out == 'daemonset.apps "web" deleted from default namespace\n'

        async def no_pods() -> bool:
            return not await here.pods()

        await here.until(no_pods)


async def test_delete_in_the_foreground_ends_after_the_pods() -> None:
    async with walked() as here:
        await delete_all(here.door, [WEB], Manner(cascade="foreground"))
        assert await here.get(DAEMON_SETS, "web") is None
        assert await here.pods() == []


async def test_delete_as_orphan_leaves_the_pods() -> None:
    async with walked() as here:
        before = {tree["metadata"]["uid"] for tree in await here.pods()}
        await delete_all(here.door, [WEB], Manner(cascade="orphan"))
        await asyncio.sleep(5)
        pods = await here.pods()
        assert {tree["metadata"]["uid"] for tree in pods} == before
        assert all("ownerReferences" not in tree["metadata"] for tree in pods)


async def test_delete_with_a_timeout_says_what_is_still_there() -> None:
    async with walked() as here:
        await here.patch(DAEMON_SETS, "web", {"metadata": {"finalizers": ["example.com/held"]}})
        with pytest.raises(Failure, match=r"after 2 s these are still there: daemonset\.apps/web"):
            await delete_all(here.door, [WEB], Manner(timeout=2))


async def test_delete_tells_each_that_is_not_there_and_deletes_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    async with walked() as here:
        chosen = [Doomed(DAEMON_SETS, "wob", "default"), WEB]
        assert await delete_all(here.door, chosen, Manner()) == 1
        assert "there is no DaemonSet 'wob' in namespace default; did you mean 'web'" in capsys.readouterr().err
        assert await here.get(DAEMON_SETS, "web") is None
        assert await delete_all(here.door, [WEB], Manner(ignore_not_found=True)) == 0


@pytest.mark.parametrize("dry_run", ["client", "server"])
async def test_delete_as_a_dry_run_deletes_nothing(dry_run: str, capsys: pytest.CaptureFixture[str]) -> None:
    async with walked() as here:
        assert await delete_all(here.door, [WEB], Manner(dry_run=dry_run)) == 0
        assert capsys.readouterr().out.endswith(f"({dry_run} dry run)\n")
        assert len(await here.pods()) == 3


async def test_delete_of_a_pod_with_a_grace_period_ends_when_that_pod_is_gone() -> None:
    async with walked() as here:
        name = (await here.pods())[0]["metadata"]["name"]
        await delete_all(here.door, [Doomed(PODS, name, "default")], Manner(grace=1))
        assert await here.get(PODS, name) is None
