"""The board of `eachnode up`, drawn without a terminal, and the picture of it in the README."""

from __future__ import annotations

import html
import io
import runpy
from pathlib import Path

import pytest
from rich.console import Console, RenderableType

from eachnode.cli.board.drawing import CELLS, WORST_FIRST, draw, draw_progress
from eachnode.cli.board.picture import Cell, Picture, Told
from eachnode.decisions.slots import State
from tests.cli.golden import assert_golden

SCRIPT = Path(__file__).parents[3] / "scripts" / "picture.py"


def drawn(board: RenderableType, width: int = 100) -> str:
    console = Console(record=True, width=width, file=io.StringIO(), color_system=None)
    console.print(board)
    return "\n".join(line.rstrip() for line in console.export_text().splitlines())


def picture(nodes: int, name: str = "default/web") -> Picture:
    states = list(State)
    cells = tuple(Cell(f"node-{number:03}", states[number % len(states)], number % 3) for number in range(nodes))
    return Picture(name, nodes, nodes // 2, nodes // 3, cells)


EVENTS = (
    Told("3s", False, "pod/web-abcde", "Container started: nginx"),
    Told("2m10s", True, "daemonset/web", "Error creating: " + "a very long sentence " * 12),
)


def test_a_small_cluster_has_its_nodes_named() -> None:
    assert_golden("board_small", drawn(draw([picture(13)], EVENTS, "kubeconfig", 100)))


def test_a_large_cluster_is_a_grid_of_cells() -> None:
    assert_golden("board_large", drawn(draw([picture(120), picture(30, "kube-system/agent")], (), "kubeconfig", 100)))


def test_with_very_many_nodes_a_cell_is_the_worst_of_several_and_the_board_stays_on_the_screen() -> None:
    states = [State.SERVING] * 5000
    states[2500] = State.FAILED
    cells = tuple(Cell(f"node-{number}", state) for number, state in enumerate(states))
    text = drawn(draw([Picture("default/web", 5000, 5000, 4999, cells)], (), "kubeconfig", 100))
    assert "each cell stands for 9 nodes" in text
    assert text.count("■") == -(-5000 // 9) - 1 + 1  # All but one cell, and the legend.
    assert "✗" in text
    assert len(text.splitlines()) < 24
    assert set(WORST_FIRST) == set(State)


def test_the_line_for_kubectl_is_on_the_screen_however_low_it_is() -> None:
    sets = [picture(6, f"default/web-{number}") for number in range(4)]
    for height in range(7, 40):
        lines = drawn(draw(sets, EVENTS * 4, "kubeconfig", 80, height), 80).splitlines()
        assert len(lines) <= height
        assert lines[-1].startswith("export KUBECONFIG=kubeconfig")
    low = drawn(draw(sets, EVENTS * 4, "kubeconfig", 80, 16), 80)
    assert "default/web-1" in low
    assert "and 2 more, for which there is no room" in low
    assert "events" not in low
    high = drawn(draw(sets, EVENTS * 4, "kubeconfig", 80, 40), 80)
    assert "for which there is no room" not in high
    assert high.count("Container started") == 4


def test_without_a_daemonset_the_board_says_what_to_do() -> None:
    text = drawn(draw([], (), "kubeconfig", 100))
    assert "no DaemonSet yet: kubectl apply -f examples/fluentd.yaml" in text


@pytest.mark.parametrize("width", [40, 60, 80, 132])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    text = drawn(draw([picture(13), picture(500)], EVENTS, "kubeconfig", width), width)
    assert max(map(len, text.splitlines())) <= width


def test_only_cells_and_bars_have_colours_and_words_have_none() -> None:
    console = Console(width=100, file=io.StringIO(), force_terminal=True, color_system="standard", legacy_windows=False)
    with console.capture() as captured:
        console.print(draw([picture(13)], (), "kubeconfig", 100))
    text = captured.get()
    assert "\x1b[32m■\x1b[0m node-003" in text
    assert "\x1b[0m  6/13 updated" in text


@pytest.mark.parametrize(
    ("updated", "available", "like"), [(2, 8, State.OUTDATED), (8, 2, State.STARTING)], ids=["older", "starting"]
)
def test_what_lacks_in_the_bar_has_the_colour_of_its_cells(updated: int, available: int, like: State) -> None:
    bar = draw_progress(Picture("default/web", 10, updated, available, ()))
    light = next(span.style for span in bar.spans if bar.plain[span.start] == "▒")
    assert light == CELLS[like][1]


def test_every_state_has_a_cell_that_can_be_told_without_colours() -> None:
    assert set(CELLS) == set(State)
    assert len({glyph for glyph, _, _ in CELLS.values()}) == len(State)


def test_the_picture_shows_an_update_half_way_and_needs_nothing_from_elsewhere() -> None:
    svg = runpy.run_path(str(SCRIPT))["make_picture"]()
    text = html.unescape(svg).replace("\xa0", " ")
    assert "default/nginx-ds" in text
    assert "kube-system/fluentd-elasticsearch" in text
    assert "serves the newest template" in text
    assert "serves an older template" in text
    assert "is starting" in text
    assert "Back-off restarting failed container" in text
    assert "@font-face" not in text
    assert "url(http" not in text
