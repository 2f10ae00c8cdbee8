"""`eachnode up` where there is no terminal."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from eachnode.cli.board.plain import progress_line
from eachnode.objects.daemonset import DaemonSet
from tests.processes import started

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_a_line_tells_how_far_a_daemonset_has_come() -> None:
    status = {"desiredNumberScheduled": 3, "updatedNumberScheduled": 2, "numberAvailable": 1, "numberMisscheduled": 1}
    tree = {"metadata": {"namespace": "n", "name": "d"}, "status": status}
    daemonset = msgspec.json.decode(msgspec.json.encode(tree), type=DaemonSet)
    assert progress_line(daemonset) == ("daemonset n/d: 3 wanted, 2 updated, 1 available, 1 where none should be")


@pytest.mark.sockets
def test_plain_lines_follow_the_manifests_given_until_all_is_available() -> None:
    with started("up", "--nodes", "2", "-f", str(EXAMPLES / "nginx.yaml")) as server:
        assert server.process.stdout is not None
        for line in server.process.stdout:
            if line == "daemonset default/nginx-ds: 2 wanted, 2 updated, 2 available\n":
                break
        else:
            raise AssertionError("it ended before everything was available")
