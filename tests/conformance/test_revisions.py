"""A ControllerRevision in hands other than the controller's, as a conformance test of the reference has it."""

from __future__ import annotations

import msgspec
import pytest

from eachnode.client.door import PatchKind
from eachnode.decisions.history import first_record
from eachnode.objects.daemonset import DaemonSet
from eachnode.objects.resources import CONTROLLER_REVISIONS, DAEMON_SETS
from tests.conformance.test_running import IMAGE, strategic
from tests.conformance.witness import (
    HASH,
    eventually,
    history,
    is_owned,
    live,
    names,
    pods_of,
    until_it_runs_everywhere,
)
from tests.worlds import Tree, World, daemon_set, world

IMPATIENT: Tree = {"spec": {"template": {"spec": {"terminationGracePeriodSeconds": 1}}}}


async def until_there_are(cluster: World, count: int) -> list[Tree]:
    """All revisions, once there are so many."""

    async def counted() -> bool:
        return len(await history(cluster)) == count

    await eventually(cluster, counted)
    return await history(cluster)


async def future_hash(cluster: World) -> str:
    """The hash that the impatient template will have."""
    body = msgspec.json.encode(IMPATIENT)
    changed = await cluster.door.patch(DAEMON_SETS, "d", body, PatchKind.STRATEGIC, "default", dry_run=True)
    return first_record(changed.read(DaemonSet), 2).hash


@pytest.mark.behaviour(91, 92, 110, 121)
async def test_revisions_live_through_everything_that_others_do_to_them() -> None:
    async with world(nodes=3) as cluster:
        made = await cluster.create(DAEMON_SETS, daemon_set(image=IMAGE))
        await until_it_runs_everywhere(cluster, made)
        before = names(await pods_of(cluster, made))
        (first,) = await history(cluster)
        name = first["metadata"]["name"]
        assert is_owned(first, made)
        patch = msgspec.json.encode({"metadata": {"labels": {name: "patched"}}})
        patched = await cluster.door.patch(CONTROLLER_REVISIONS, name, patch, PatchKind.STRATEGIC, "default")
        assert int(patched.tree()["metadata"]["resourceVersion"]) > int(first["metadata"]["resourceVersion"])

        # A second current revision appears, under the name that a later template will ask for.
        hashed = await future_hash(cluster)
        metadata = {
            "name": f"d-{hashed}",
            "labels": {"app": "d", HASH: hashed},
            "annotations": (await live(cluster))["metadata"]["annotations"],
            "ownerReferences": first["metadata"]["ownerReferences"],
        }
        second = {"metadata": metadata, "data": first["data"], "revision": 2}
        await cluster.create(CONTROLLER_REVISIONS, second)
        assert len(await until_there_are(cluster, 2)) == 2
        await cluster.delete(CONTROLLER_REVISIONS, name)  # Raises when somebody was too eager.
        assert names(await until_there_are(cluster, 1)) == {f"d-{hashed}"}

        tree = await cluster.get(CONTROLLER_REVISIONS, f"d-{hashed}")
        assert tree is not None
        tree["metadata"]["labels"][f"d-{hashed}"] = "updated"
        await cluster.door.update(CONTROLLER_REVISIONS, f"d-{hashed}", msgspec.json.encode(tree), "default")
        await until_it_runs_everywhere(cluster, made)
        assert names(await pods_of(cluster, made)) == before  # They are of the same template generation.

        await strategic(cluster, "d", {**IMPATIENT, "updateStrategy": {"type": "RollingUpdate"}})
        revisions = await until_there_are(cluster, 2)
        assert [each["revision"] for each in revisions] == [2, 3]
        assert (await live(cluster))["status"]["collisionCount"] == 1
        await cluster.door.delete_collection(CONTROLLER_REVISIONS, "default", labels=f"d-{hashed}=updated")
        (last,) = await until_there_are(cluster, 1)
        assert last["revision"] == 3
        await until_it_runs_everywhere(cluster, made)
