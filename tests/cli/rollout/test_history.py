"""`rollout history`: revisions, what each changed, and who runs them."""

from __future__ import annotations

import json

import pytest
import yaml

from eachnode.cli.failures import Failure
from eachnode.cli.rollout.history import told_history
from eachnode.objects.resources import CONTROLLER_REVISIONS, DAEMON_SETS, NODES
from tests.cli.golden import assert_golden
from tests.cli.walks import walked
from tests.worlds import Tree, World, daemon_set, world


async def told(here: World, number: int | None = None, output: str | None = None) -> str:
    return await told_history(here.door, "web", "default", number, output, here.cluster.clock.now() + 90)


async def test_the_table_tells_each_revision_its_change_and_its_nodes() -> None:
    async with walked(("nginx:1", "nginx:2", "nginx:3")) as here:
        assert_golden("rollout_history", await told(here))


async def test_several_changes_take_a_line_each_and_very_many_are_summed_up() -> None:
    async with walked() as here:
        spec: Tree = {"hostNetwork": True, "nodeSelector": None, "priorityClassName": "system-node-critical"}
        spec |= {"serviceAccountName": "agent", "terminationGracePeriodSeconds": 5, "dnsPolicy": "Default"}
        await here.patch(DAEMON_SETS, "web", {"spec": {"template": {"spec": spec}}})
        await here.until_available("web", 3)
        text = await told(here)
        assert "spec.dnsPolicy: ClusterFirst → Default" in text
        assert "more: --revision=2" in text
        assert "serviceAccountName: added agent" in await told(here, 2)


async def test_one_revision_is_shown_with_its_whole_template() -> None:
    async with walked(("nginx:1", "nginx:2")) as here:
        assert_golden("rollout_history_revision", await told(here, 2))


async def test_json_and_yaml_say_the_same() -> None:
    async with walked(("nginx:1", "nginx:2")) as here:
        text = await told(here, output="json")
        assert_golden("rollout_history_json", text)
        assert yaml.safe_load(await told(here, output="yaml")) == json.loads(text)
        assert json.loads(await told(here, 1, "json"))["nodes"] == 0


async def test_nodes_are_counted_by_what_runs_on_them_now() -> None:
    async with walked(("nginx:1",)) as here:
        await here.patch(DAEMON_SETS, "web", {"spec": {"updateStrategy": {"type": "OnDelete", "rollingUpdate": None}}})
        body = {"spec": {"template": {"metadata": {"annotations": {"a": "b"}}}}}
        await here.patch(DAEMON_SETS, "web", body)

        async def recorded() -> bool:
            return len(await here.all(CONTROLLER_REVISIONS)) == 2

        await here.until(recorded)
        await here.delete(NODES, "node-3", "")

        async def gone() -> bool:
            return len(await here.pods()) == 2

        await here.until(gone, 600)
        nodes = [each["nodes"] for each in json.loads(await told(here, output="json"))]
        assert nodes == [2, 0]


async def test_revisions_of_another_daemonset_of_the_same_name_are_not_its_history() -> None:
    async with walked(("nginx:1", "nginx:2"), without=("garbage-collector",)) as here:
        await here.delete(DAEMON_SETS, "web")
        await here.create(DAEMON_SETS, daemon_set("web", "other:1"))
        await here.until_available("web", 3)
        assert [each["cause"] for each in json.loads(await told(here, output="json"))] == [None]


async def test_an_unknown_revision_names_those_there_are() -> None:
    async with walked(("nginx:1", "nginx:2")) as here:
        with pytest.raises(Failure, match="unable to find specified revision 7 in history; there are: 1, 2"):
            await told(here, 7)


async def test_an_unknown_daemonset_suggests_the_nearest() -> None:
    async with walked() as here:
        with pytest.raises(Failure, match="there is no DaemonSet 'wbe' in namespace default; did you mean 'web'"):
            await told_history(here.door, "wbe", "default", None, None, 0)


async def test_without_a_controller_there_is_no_history_yet() -> None:
    async with world(without=("controller",)) as here:
        await here.create(DAEMON_SETS, daemon_set("web"))
        assert "no rollout history found" in await told(here)
