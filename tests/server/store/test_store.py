"""What the store promises of its objects, versions and commits."""

from __future__ import annotations

import asyncio
import json
import random
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from eachnode.objects.resources import CONFIG_MAPS, EVENTS, PODS
from eachnode.objects.status import NotFound, Unavailable
from eachnode.runtime.virtual_time import LoopClock
from eachnode.server.api_server import ApiServer
from eachnode.server.kinds import BUILT_IN
from eachnode.server.store import Store, StoreError
from eachnode.server.store.database import CommitFailed, NotKept, Row, SqliteFile
from tests.server.apis import HOME, add, body, collect, name_of, names, open_api, pod_body, told, version_of


class CountingDatabase(NotKept):
    """Keeps nothing, counts its commits, and fails when told to."""

    def __init__(self) -> None:
        super().__init__()
        self.commits = 0
        self.failure = ""

    def commit(self, rows: Sequence[Row], removed: Iterable[int], version: int) -> None:
        if self.failure:
            raise CommitFailed(self.failure)
        self.commits += 1


def api_over(database: CountingDatabase) -> ApiServer:
    clock = LoopClock()
    return ApiServer(Store(database, clock=clock), BUILT_IN, clock=clock, chance=random.Random(3))


async def test_versions_grow_with_every_write_and_never_repeat_after_a_delete() -> None:
    api = open_api()
    first = await add(api, "a")
    await api.delete(CONFIG_MAPS, "a", HOME)
    second = await add(api, "a")
    assert version_of(second) >= version_of(first) + 2
    assert second["metadata"]["uid"] != first["metadata"]["uid"]


async def test_an_empty_list_has_a_version_above_zero() -> None:
    page = await open_api().list(CONFIG_MAPS, HOME)
    assert page.documents == ()
    assert int(page.version) > 0


async def test_a_thousand_creations_that_wait_together_share_few_commits() -> None:
    database = CountingDatabase()
    api = api_over(database)
    await asyncio.gather(*(api.create(CONFIG_MAPS, body(f"c{number}"), HOME) for number in range(1000)))
    assert len(await names(api)) == 1000
    assert database.commits <= 3


async def test_readers_and_watchers_see_a_write_only_when_it_is_committed() -> None:
    api = open_api()
    await add(api, "old")
    events = asyncio.create_task(collect(api.watch(CONFIG_MAPS, HOME, version=str(api.store.committed)), 2))
    await asyncio.sleep(0)
    created = asyncio.create_task(api.create(CONFIG_MAPS, body("new"), HOME))
    deleted = asyncio.create_task(api.delete(CONFIG_MAPS, "old", HOME))
    seen = []
    while not created.done():
        written = api.registry.served(CONFIG_MAPS).shelf.get(HOME, "new") is not None
        seen.append((written, await names(api), events.done()))
        await asyncio.sleep(0)
    await deleted
    assert (True, ["old"], False) in seen  # It stood there, waiting for its commit, and nobody saw it.
    assert await names(api) == ["new"]
    assert told(await events) == [("ADDED", "new"), ("DELETED", "old")]


async def test_a_failed_commit_undoes_the_batch_and_tells_every_writer() -> None:
    database = CountingDatabase()
    api = api_over(database)
    kept = await add(api, "kept")
    database.failure = "database or disk is full"
    writes = [
        api.create(CONFIG_MAPS, body("lost"), HOME),
        api.update(CONFIG_MAPS, "kept", body("kept", data={"a": "b"}), HOME),
        api.delete(CONFIG_MAPS, "kept", HOME),
    ]
    outcomes = await asyncio.gather(*writes, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [Unavailable] * 3
    assert "disk is full" in str(outcomes[0])
    assert api.store.trouble == "database or disk is full"
    assert await names(api) == ["kept"]
    assert (await api.get(CONFIG_MAPS, "kept", HOME)).tree() == kept

    database.failure = ""
    after = await add(api, "lost")
    assert api.store.trouble is None
    assert version_of(after) > version_of(kept) + 2, "the versions of the failed writes are not used again"


async def test_watchers_hear_nothing_of_a_write_that_failed() -> None:
    database = CountingDatabase()
    api = api_over(database)
    stream = asyncio.create_task(collect(api.watch(CONFIG_MAPS, version="1"), 1))
    await asyncio.sleep(0)
    database.failure = "no"
    with pytest.raises(Unavailable):
        await add(api, "lost")
    database.failure = ""
    await add(api, "found")
    assert told(await stream) == [("ADDED", "found")]


async def test_a_refusal_is_not_told_before_what_it_rests_on_is_committed() -> None:
    database = CountingDatabase()
    api = api_over(database)
    database.failure = "no"
    outcomes = await asyncio.gather(add(api, "a"), add(api, "a"), return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [Unavailable, Unavailable]


async def test_a_cancelled_writer_does_not_disturb_those_who_share_its_commit() -> None:
    api = open_api()
    first, second = (asyncio.create_task(add(api, name)) for name in "ab")
    await asyncio.sleep(0)
    first.cancel()
    assert (await second)["metadata"]["name"] == "b"
    assert await names(api) == ["a", "b"]


async def test_a_restart_brings_everything_back_and_counts_on(tmp_path: Path) -> None:
    api = open_api(tmp_path / "db")
    await add(api, "gone", "a", "b", data={"k": "<&>"}, labels={"x": "y"})
    await api.create(PODS, pod_body("p", "n1"), HOME)
    await api.delete(CONFIG_MAPS, "gone", HOME)
    raw = {name_of(each): bytes(each.raw) for each in (await api.list(CONFIG_MAPS, HOME)).documents}
    last = api.store.committed
    api.store.close()

    api = open_api(tmp_path / "db")
    assert {name_of(each): bytes(each.raw) for each in (await api.list(CONFIG_MAPS, HOME)).documents} == raw
    assert await names(api, labels="x=y") == ["a", "b"]
    assert await names(api, PODS, fields="spec.nodeName=n1") == ["p"]
    assert version_of(await add(api, "c")) == last + 1
    api.store.close()


async def test_a_watch_goes_on_over_a_restart_when_it_missed_nothing(tmp_path: Path) -> None:
    api = open_api(tmp_path / "db")
    await add(api, "a")
    version = str(api.store.committed)
    api.store.close()
    api = open_api(tmp_path / "db")
    await add(api, "b")
    assert told(await collect(api.watch(CONFIG_MAPS, version=version), 1)) == [("ADDED", "b")]
    api.store.close()


async def test_the_file_holds_what_was_acknowledged_without_being_closed(tmp_path: Path) -> None:
    api = open_api(tmp_path / "db")
    await add(api, "a")
    with sqlite3.connect(f"file:{tmp_path / 'db'}?mode=ro", uri=True) as reader:
        bodies = [json.loads(raw) for (raw,) in reader.execute("SELECT body FROM objects")]
    reader.close()
    assert [tree["metadata"]["name"] for tree in bodies] == ["a"]
    api.store.close()


async def test_a_second_server_on_the_same_data_is_told_who_has_it(tmp_path: Path) -> None:
    api = open_api(tmp_path / "db")
    with pytest.raises(StoreError, match=r"is in use: process [0-9]+ already serves from it"):
        open_api(tmp_path / "db")
    api.store.close()
    open_api(tmp_path / "db").store.close()


async def test_a_database_that_others_lock_refuses_writes_and_recovers(tmp_path: Path) -> None:
    api = open_api(tmp_path / "db")
    await add(api, "a")
    other = sqlite3.connect(tmp_path / "db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(Unavailable, match="database is locked"):
        await add(api, "b")
    assert await names(api) == ["a"]
    other.execute("ROLLBACK")
    other.close()
    await add(api, "b")
    assert await names(api) == ["a", "b"]
    api.store.close()


async def test_a_full_disk_refuses_writes_until_there_is_room_again(tmp_path: Path) -> None:
    database = SqliteFile(tmp_path / "db")
    clock = LoopClock()
    api = ApiServer(Store(database, clock=clock), BUILT_IN, clock=clock, chance=random.Random(3))
    await add(api, "a")
    pages = sqlite_of(database).execute("PRAGMA page_count").fetchone()[0]
    sqlite_of(database).execute(f"PRAGMA max_page_count = {pages + 2}")
    with pytest.raises(Unavailable, match="disk is full"):
        await add(api, "b", data={"k": "v" * 100_000})
    assert await names(api) == ["a"]
    sqlite_of(database).execute("PRAGMA max_page_count = 100000")
    await add(api, "b", data={"k": "v" * 100_000})
    api.store.close()
    api = open_api(tmp_path / "db")
    assert await names(api) == ["a", "b"]
    api.store.close()


def sqlite_of(database: SqliteFile) -> sqlite3.Connection:
    """The connection, for a test that wants to do it harm."""
    connection: sqlite3.Connection = vars(database)["_connection"]
    return connection


@pytest.mark.parametrize("damage", [b"not a database, but quite long: " * 200, b""])
async def test_a_file_that_is_no_database_of_ours_is_refused_or_begun(tmp_path: Path, damage: bytes) -> None:
    (tmp_path / "db").write_bytes(damage)
    if damage:
        with pytest.raises(StoreError, match="cannot be used: file is not a database"):
            open_api(tmp_path / "db")
    else:
        open_api(tmp_path / "db").store.close()


async def test_a_database_of_another_program_is_left_alone(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "db") as foreign:
        foreign.execute("CREATE TABLE theirs (x)")
    foreign.close()
    with pytest.raises(StoreError, match="belongs to another program"):
        open_api(tmp_path / "db")


async def test_damaged_pages_are_noticed_when_the_store_opens(tmp_path: Path) -> None:
    api = open_api(tmp_path / "db")
    await add(api, *(f"c{number:03}" for number in range(200)), data={"k": "v" * 500})
    api.store.close()
    content = bytearray((tmp_path / "db").read_bytes())
    content[8192 : 8192 + 4096] = b"\xff" * 4096
    (tmp_path / "db").write_bytes(content)
    with pytest.raises(
        StoreError, match=r"db is damaged: [^\n]*; put a copy of it in its place, or begin with an empty directory"
    ):
        open_api(tmp_path / "db")


async def test_an_object_that_is_no_json_is_named(tmp_path: Path) -> None:
    api = open_api(tmp_path / "db")
    await add(api, "a")
    api.store.close()
    with sqlite3.connect(tmp_path / "db") as vandal:
        vandal.execute("UPDATE objects SET body = 'x'")
    vandal.close()
    with pytest.raises(StoreError, match=r"damaged: object [0-9]+ of configmaps"):
        open_api(tmp_path / "db")


async def test_events_go_an_hour_after_their_last_write_and_others_stay() -> None:
    api = open_api()
    event = {"involvedObject": {"kind": "Pod", "name": "p", "namespace": HOME}, "reason": "Because", "message": "m"}
    for name in ("early", "renewed"):
        await api.create(EVENTS, json.dumps({**event, "metadata": {"name": name}}).encode(), HOME)
    await add(api, "stays")
    await asyncio.sleep(1800)
    await api.patch(EVENTS, "renewed", b'{"count":2}', "application/merge-patch+json", HOME)
    stream = asyncio.create_task(collect(api.watch(EVENTS, version=str(api.store.committed)), 1))
    await asyncio.sleep(1790)
    assert await names(api, EVENTS) == ["early", "renewed"]
    await asyncio.sleep(60)
    assert await names(api, EVENTS) == ["renewed"]
    assert ("DELETED", "early") in told(await stream)
    await asyncio.sleep(1800)
    assert await names(api, EVENTS) == []
    assert await names(api) == ["stays"]


async def test_events_expire_though_the_server_was_restarted_meanwhile(tmp_path: Path) -> None:
    api = open_api(tmp_path / "db")
    event = {"involvedObject": {"kind": "Pod", "name": "p", "namespace": HOME}, "metadata": {"name": "e"}}
    await api.create(EVENTS, json.dumps(event).encode(), HOME)
    await asyncio.sleep(3000)
    api.store.close()
    api = open_api(tmp_path / "db")
    assert await names(api, EVENTS) == ["e"]
    await asyncio.sleep(700)
    assert await names(api, EVENTS) == []
    api.store.close()


async def test_the_file_stays_bounded_under_a_day_of_updates(tmp_path: Path) -> None:
    """100 leases renewed every ten seconds for a day are 864,000 writes; here a tenth of them, in large commits."""
    api = open_api(tmp_path / "db")
    await add(api, *(f"lease-{number}" for number in range(100)), data={"k": "v" * 300})
    sizes = []
    for turn in range(864):
        await asyncio.gather(
            *(
                api.patch(
                    CONFIG_MAPS,
                    f"lease-{number}",
                    f'{{"data":{{"turn":"{turn}"}}}}'.encode(),
                    "application/merge-patch+json",
                    HOME,
                )
                for number in range(0, 100, 10)
            )
        )
        sizes.append(sum(path.stat().st_size for path in tmp_path.iterdir()))
    assert max(sizes[100:]) <= 2 * max(sizes[:100])
    api.store.close()


async def test_space_of_deleted_objects_is_given_back(tmp_path: Path) -> None:
    api = open_api(tmp_path / "db")
    await asyncio.gather(
        *(api.create(CONFIG_MAPS, body(f"c{number}", data={"k": "v" * 20000}), HOME) for number in range(500))
    )
    full = (tmp_path / "db").stat().st_size + (tmp_path / "db-wal").stat().st_size
    await api.delete_collection(CONFIG_MAPS, HOME)
    for turn in range(9000):
        await api.patch(
            PODS, "p", f'{{"metadata":{{"labels":{{"t":"{turn}"}}}}}}'.encode(), "application/merge-patch+json", HOME
        ) if turn else await api.create(PODS, pod_body("p"), HOME)
    assert (tmp_path / "db").stat().st_size < full / 2
    api.store.close()


async def test_a_shelf_that_still_has_objects_cannot_be_discarded() -> None:
    api = open_api()
    await add(api, "a")
    with pytest.raises(ValueError, match="configmaps still has 1 objects"):
        api.unregister(CONFIG_MAPS)
    assert await names(api) == ["a"]


async def test_a_kind_that_is_no_longer_served_is_not_found() -> None:
    api = open_api()
    api.unregister(CONFIG_MAPS)
    with pytest.raises(NotFound, match="could not find the requested resource"):
        await api.list(CONFIG_MAPS)
    assert api.kind_for("", "v1", "configmaps") is None


async def test_a_kind_that_goes_ends_its_watches_and_may_come_back_empty() -> None:
    api = open_api()
    version = str(api.store.committed)
    watches = [
        asyncio.create_task(collect(api.watch(CONFIG_MAPS, version=version, fields=fields), 99))
        for fields in ("", "metadata.name=x")
    ]
    kind = api.kind_for("", "v1", "configmaps")
    assert kind is not None
    await asyncio.sleep(0)
    api.unregister(CONFIG_MAPS)
    assert [await watch for watch in watches] == [[], []]
    api.register(kind)
    await add(api, "a")
    assert await names(api) == ["a"]


async def test_a_reaction_that_fails_harms_neither_writer_nor_watchers() -> None:
    api = open_api()
    complaints: list[str] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context["message"]))

    def fail(_old: object, _new: object) -> None:
        raise RuntimeError("no")

    api.follow(CONFIG_MAPS, fail)
    stream = asyncio.create_task(collect(api.watch(CONFIG_MAPS, version=str(api.store.committed)), 1))
    await asyncio.sleep(0)
    await add(api, "a")
    assert told(await stream) == [("ADDED", "a")]
    assert complaints == ["a reaction to configmaps failed"]
