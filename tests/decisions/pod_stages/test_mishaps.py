"""What befalls simulated nodes by themselves."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from eachnode.decisions.pod_stages.mishaps import read_mishaps
from eachnode.decisions.pod_stages.stages import Delay, InvalidStages
from eachnode.decisions.pod_stages.view import SimulatedNode


def node(name: str, **labels: str) -> SimulatedNode:
    return msgspec.convert({"metadata": {"name": name, "labels": labels}}, SimulatedNode)


def test_a_mishap_befalls_the_nodes_it_names_by_name_and_label() -> None:
    (mishap,) = read_mishaps(
        {"nodes": [{"name": "x", "do": "stop", "when": {"nodes": ["a-*"], "nodeLabels": {"z": "b"}}}]}
    )
    assert mishap.befalls(node("a-1", z="b"))
    assert not mishap.befalls(node("a-1", z="c"))
    assert not mishap.befalls(node("b-1", z="b"))


def test_a_share_means_about_that_many_nodes() -> None:
    (mishap,) = read_mishaps({"nodes": [{"name": "x", "do": "reboot", "when": {"share": "10%"}}]})
    assert 60 < sum(mishap.befalls(node(f"n{number}")) for number in range(1000)) < 140


def test_times_are_read_as_they_are_written() -> None:
    line = {"name": "x", "do": "stop", "after": "1m..2m", "for": "30s", "every": "1h"}
    (mishap,) = read_mishaps({"nodes": [line]})
    assert (mishap.after, mishap.lasts, mishap.every) == (Delay(60, 120), Delay(30, 30), Delay(3600, 3600))


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ({"name": "x", "do": "explode"}, "nodes, number 1"),
        ({"do": "stop"}, "name"),
        ({"name": "x", "do": "reboot", "for": "1m"}, "a node cannot reboot for a while"),
        ({"name": "x", "do": "stop", "after": "soon"}, "a delay is written like"),
    ],
)
def test_a_wrong_mishap_is_refused_with_a_sentence(line: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidStages, match=sentence):
        read_mishaps({"nodes": [line]})
