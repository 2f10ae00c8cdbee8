"""What every house behind the door does alike. Real time, because one of the houses is reached over sockets."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence

import pytest

from eachnode.client.door import Door, PatchKind
from eachnode.objects.deletion import DeleteOptions, Preconditions
from eachnode.objects.meta import Key, MetadataOnly
from eachnode.objects.resources import CONFIG_MAPS, DAEMON_SETS, LEASES, PODS, Resource
from eachnode.objects.status import (
    AlreadyExists,
    BadRequest,
    Conflict,
    Invalid,
    NotFound,
)
from eachnode.objects.watching import WatchEvent
from eachnode.runtime.clock import SystemClock
from eachnode.runtime.informer import Informer
from eachnode.runtime.leader import LeaderElection
from tests.contract.houses import (
    HOUSES,
    OURS,
    House,
    config_map,
    encode,
    make_config_maps,
    metadata,
    room,
    until_it_holds,
)

pytestmark = [pytest.mark.sockets, pytest.mark.parametrize("house", HOUSES.values(), ids=HOUSES)]


async def until(stream: object, count: int) -> list[WatchEvent]:
    """So many events of a watch, bookmarks left out."""
    found: list[WatchEvent] = []
    async with asyncio.timeout(20):
        async for batch in stream:  # type: ignore[attr-defined] # a watch
            found += [event for event in batch if event.type != "BOOKMARK"]
            if len(found) >= count:
                break
    await stream.aclose()  # type: ignore[attr-defined] # of generators
    return found


def told(events: Sequence[WatchEvent]) -> list[tuple[str, str]]:
    return [(event.type, metadata(event.document).name) for event in events]


async def test_what_is_created_can_be_got(house: House) -> None:
    async with room(house) as (door, namespace):
        created = await door.create(CONFIG_MAPS, config_map("a", key="value"), namespace)
        got = await door.get(CONFIG_MAPS, "a", namespace)
        assert got.tree() == created.tree()
        tree = got.tree()
        assert (tree["kind"], tree["apiVersion"], tree["data"]) == ("ConfigMap", "v1", {"key": "value"})
        assert metadata(got).uid
        assert int(metadata(got).resource_version) > 0


async def test_a_generated_name_is_new_each_time(house: House) -> None:
    async with room(house) as (door, namespace):
        body = encode({"metadata": {"generateName": "g-"}})
        names = {metadata(await door.create(CONFIG_MAPS, body, namespace)).name for _ in range(5)}
        assert len(names) == 5
        assert all(name.startswith("g-") for name in names)


async def test_a_dry_run_leaves_nothing_behind(house: House) -> None:
    async with room(house) as (door, namespace):
        assert metadata(await door.create(CONFIG_MAPS, config_map("a"), namespace, dry_run=True)).name == "a"
        with pytest.raises(NotFound):
            await door.get(CONFIG_MAPS, "a", namespace)


async def test_each_refusal_is_its_own_error(house: House) -> None:
    unknown = Resource("example.org", "v1", "widgets", "Widget")
    async with room(house) as (door, namespace):
        await make_config_maps(door, namespace, "a")
        with pytest.raises(AlreadyExists) as there:
            await door.create(CONFIG_MAPS, config_map("a"), namespace)
        assert there.value.message == 'configmaps "a" already exists'
        assert there.value.details is not None
        assert there.value.details.name == "a"
        with pytest.raises(Invalid) as invalid:
            await door.create(CONFIG_MAPS, config_map("A_"), namespace)
        assert invalid.value.details is not None
        assert invalid.value.details.causes[0].field == "metadata.name"
        with pytest.raises(NotFound):
            await door.get(unknown, "a", namespace)
        with pytest.raises(BadRequest):
            await door.create(CONFIG_MAPS, b"{", namespace)
        with pytest.raises(NotFound):
            await door.update(CONFIG_MAPS, "missing", config_map("missing"), namespace)


async def test_an_update_with_an_old_version_is_a_conflict(house: House) -> None:
    async with room(house) as (door, namespace):
        document = await door.create(CONFIG_MAPS, config_map("a"), namespace)
        old = document.tree()
        newer = await door.update(CONFIG_MAPS, "a", config_map("a", x="1"), namespace)
        with pytest.raises(Conflict):
            await door.update(CONFIG_MAPS, "a", encode(old), namespace)
        same = await door.update(
            CONFIG_MAPS, "a", newer.raw if isinstance(newer.raw, bytes) else bytes(newer.raw), namespace
        )
        assert metadata(same).resource_version == metadata(newer).resource_version


async def test_who_wrote_what_is_kept(house: House) -> None:
    async with room(house) as (door, namespace):
        created = await door.create(CONFIG_MAPS, config_map("a", key="value"), namespace, field_manager="me")
        (entry,) = created.tree()["metadata"]["managedFields"]
        assert (entry["manager"], entry["operation"]) == ("me", "Update")
        assert entry["fieldsV1"]["f:data"] == {".": {}, "f:key": {}}


async def test_what_is_applied_belongs_to_its_manager(house: House) -> None:
    async with room(house) as (door, namespace):

        async def apply(manager: str, *, force: bool = False, **data: str) -> object:
            body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data}
            raw = encode(body)
            document = await door.patch(
                CONFIG_MAPS, "a", raw, PatchKind.APPLY, namespace, field_manager=manager, force=force
            )
            return document.tree()["data"]

        assert await apply("one", x="1", y="2") == {"x": "1", "y": "2"}
        assert await apply("two", z="3") == {"x": "1", "y": "2", "z": "3"}
        with pytest.raises(Conflict):
            await apply("two", x="9")
        assert await apply("two", force=True, x="9") == {"x": "9", "y": "2"}
        assert await apply("one", y="2") == {"x": "9", "y": "2"}


async def test_the_ways_to_patch(house: House) -> None:
    async with room(house) as (door, namespace):
        await door.create(CONFIG_MAPS, config_map("a", x="1", y="2"), namespace)

        async def patch(kind: PatchKind, body: bytes) -> object:
            return (await door.patch(CONFIG_MAPS, "a", body, kind, namespace)).tree()["data"]

        assert await patch(PatchKind.MERGE, b'{"data":{"x":null}}') == {"y": "2"}
        assert await patch(PatchKind.STRATEGIC, b'{"data":{"x":"3"}}') == {"x": "3", "y": "2"}
        assert await patch(PatchKind.JSON, b'[{"op":"remove","path":"/data/y"}]') == {"x": "3"}


async def test_a_patch_with_an_old_version_is_a_conflict(house: House) -> None:
    async with room(house) as (door, namespace):
        await make_config_maps(door, namespace, "a")
        body = b'{"metadata":{"resourceVersion":"1"},"data":{"x":"1"}}'
        with pytest.raises(Conflict):
            await door.patch(CONFIG_MAPS, "a", body, PatchKind.MERGE, namespace)


async def test_deletion_minds_its_preconditions(house: House) -> None:
    async with room(house) as (door, namespace):
        (made,) = await make_config_maps(door, namespace, "a")
        wrong = DeleteOptions(preconditions=Preconditions(uid="00000000-0000-0000-0000-000000000000"))
        with pytest.raises(Conflict):
            await door.delete(CONFIG_MAPS, "a", namespace, options=wrong)
        await door.delete(CONFIG_MAPS, "a", namespace, options=DeleteOptions(preconditions=Preconditions(uid=made.uid)))
        with pytest.raises(NotFound):
            await door.delete(CONFIG_MAPS, "a", namespace)


async def test_a_finalizer_keeps_the_object_until_it_is_taken_off(house: House) -> None:
    async with room(house) as (door, namespace):
        body = encode({"metadata": {"name": "a", "finalizers": ["example.org/wait"]}})
        await door.create(CONFIG_MAPS, body, namespace)
        answer = await door.delete(CONFIG_MAPS, "a", namespace)
        assert metadata(answer).deletion_timestamp
        await door.patch(CONFIG_MAPS, "a", b'{"metadata":{"finalizers":null}}', PatchKind.MERGE, namespace)
        with pytest.raises(NotFound):
            await door.get(CONFIG_MAPS, "a", namespace)


async def test_lists_are_paged_selected_and_consistent(house: House) -> None:
    async with room(house) as (door, namespace):
        for number in range(5):
            labels = {"parity": "even" if number % 2 == 0 else "odd"}
            await door.create(CONFIG_MAPS, config_map(f"m{number}", labels), namespace)
        mine = [f"m{number}" for number in range(5)]
        names: list[str] = []
        after, versions = "", set()
        while True:
            page = await door.list(CONFIG_MAPS, namespace, labels="parity", limit=2, after=after)
            names += [metadata(document).name for document in page.documents]
            versions.add(page.version)
            if not after:
                await door.create(CONFIG_MAPS, config_map("m9", {"parity": "odd"}), namespace)
            after = page.continues
            if not after:
                break
        assert names == mine
        assert len(versions) == 1
        odd = await door.list(CONFIG_MAPS, namespace, labels="parity=odd")
        assert [metadata(document).name for document in odd.documents] == ["m1", "m3", "m9"]
        one = await door.list(CONFIG_MAPS, namespace, fields="metadata.name=m2")
        assert [metadata(document).name for document in one.documents] == ["m2"]
        with pytest.raises(BadRequest):
            await door.list(CONFIG_MAPS, namespace, labels="a==b==c")


async def test_a_collection_is_deleted_as_selected(house: House) -> None:
    async with room(house) as (door, namespace):
        for name, side in (("a", "left"), ("b", "right"), ("c", "left")):
            await door.create(CONFIG_MAPS, config_map(name, {"side": side}), namespace)
        await door.delete_collection(CONFIG_MAPS, namespace, labels="side=left")
        page = await door.list(CONFIG_MAPS, namespace, labels="side")
        assert [metadata(document).name for document in page.documents] == ["b"]


async def test_a_watch_tells_what_happened_since_a_version(house: House) -> None:
    async with room(house) as (door, namespace):
        (made,) = await make_config_maps(door, namespace, "a")
        await door.update(CONFIG_MAPS, "a", config_map("a", {"side": "left"}), namespace)
        await door.create(CONFIG_MAPS, config_map("b"), namespace)
        await door.delete(CONFIG_MAPS, "a", namespace)
        stream = door.watch(CONFIG_MAPS, namespace, fields=OURS, version=made.resource_version, timeout=30)
        events = await until(stream, 3)
        assert told(events) == [("MODIFIED", "a"), ("ADDED", "b"), ("DELETED", "a")]
        versions = [int(metadata(event.document).resource_version) for event in events]
        assert versions == sorted(set(versions))
        selected = door.watch(CONFIG_MAPS, namespace, labels="side=left", version=made.resource_version, timeout=30)
        assert told(await until(selected, 2)) == [("ADDED", "a"), ("DELETED", "a")]


async def test_initial_objects_are_ended_by_a_bookmark(house: House) -> None:
    async with room(house) as (door, namespace):
        await make_config_maps(door, namespace, "a", "b")
        stream = door.watch(CONFIG_MAPS, namespace, fields=OURS, initial=True, timeout=30)
        events: list[WatchEvent] = []
        async with asyncio.timeout(20):
            async for batch in stream:
                events += batch
                if any(event.initial_end for event in batch):
                    break
        present = {name for kind, name in told(events) if kind == "ADDED"}
        assert {"a", "b"} <= present
        assert events[-1].type == "BOOKMARK"
        assert int(metadata(events[-1].document).resource_version) > 0
        await door.create(CONFIG_MAPS, config_map("c"), namespace)
        assert told(await until(stream, 1))[0] == ("ADDED", "c")


async def test_a_watch_ends_when_its_time_is_up(house: House) -> None:
    async with room(house) as (door, namespace):
        page = await door.list(CONFIG_MAPS, namespace)
        async with asyncio.timeout(20):
            stream = door.watch(CONFIG_MAPS, namespace, fields=OURS, version=page.version, timeout=1)
            batches = [batch async for batch in stream]
        assert told([event for batch in batches for event in batch if event.type != "BOOKMARK"]) == []


async def test_what_is_served_includes_what_we_live_from(house: House) -> None:
    async with house() as door:
        assert {PODS, DAEMON_SETS, LEASES, CONFIG_MAPS} <= set(await door.served())


async def test_an_informer_follows_a_house(house: House) -> None:
    async with room(house) as (door, namespace):
        await make_config_maps(door, namespace, "a")
        maps = Informer(
            door,
            CONFIG_MAPS,
            MetadataOnly,
            clock=SystemClock(),
            chance=random.Random(1),
            namespace=namespace,
            fields=OURS,
        )
        task = asyncio.create_task(maps.run())
        async with asyncio.timeout(20):
            await maps.synced.wait()
            assert set(maps.items) == {Key(namespace, "a")}
            await make_config_maps(door, namespace, "b")
            await door.delete(CONFIG_MAPS, "a", namespace)
            await until_it_holds(maps, Key(namespace, "b"))
        task.cancel()
        await asyncio.wait({task})


async def test_one_instance_of_two_leads_and_the_other_follows_its_farewell(house: House) -> None:
    async with room(house) as (door, namespace):
        leads: asyncio.Queue[str] = asyncio.Queue()

        def start(identity: str, door: Door) -> asyncio.Task[None]:
            election = LeaderElection(
                door,
                clock=SystemClock(),
                chance=random.Random(1),
                identity=identity,
                name="contract",
                namespace=namespace,
            )

            async def lead() -> None:
                await leads.put(identity)
                await asyncio.Event().wait()

            return asyncio.create_task(election.run(lead))

        async with asyncio.timeout(20):
            one = start("one", door)
            assert await leads.get() == "one"
            two = start("two", door)
            await asyncio.sleep(0)
            one.cancel()
            assert await leads.get() == "two"
        two.cancel()
        await asyncio.wait({one, two})
