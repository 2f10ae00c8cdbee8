"""The board of one rollout, drawn without a terminal."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console, RenderableType

from eachnode.cli.board.picture import Cell, Picture
from eachnode.cli.rollout.drawing import draw
from eachnode.cli.rollout.progress import Progress, Tempo
from eachnode.decisions.explanation_words import Answer, Kind, Reason
from eachnode.decisions.slots import State
from tests.cli.golden import assert_golden


def drawn(board: RenderableType, width: int = 100) -> str:
    console = Console(record=True, width=width, file=io.StringIO(), color_system=None)
    console.print(board)
    return "\n".join(line.rstrip() for line in console.export_text().splitlines())


def half_way(*, done: bool = False, trouble: str = "", nodes: int = 40) -> Progress:
    order = [State.SERVING] * 12 + [State.STARTING, State.BROKEN] + [State.OUTDATED] * (nodes - 14)
    states = [State.SERVING] * nodes if done else order
    cells = tuple(Cell(f"node-{number:02}", state, 2) for number, state in enumerate(states, 1))
    counts = {state: states.count(state) for state in set(states)}
    taken = Reason("web-abcde cannot pull image nginx:2: no such image", "")
    hindrances = (
        Answer("node-14", Kind.IMAGE, "cannot pull image nginx:2", (taken,)),
        Answer("node-13", Kind.PULLING, "pulls image nginx:2", (Reason("web-fghij pulls it since 3s", ""),)),
    )
    updated = nodes if done else 13
    picture = Picture("default/web", nodes, updated, updated - (not done), cells)
    return Progress(picture, True, done, counts, () if done else hindrances, 0 if done else 3, trouble)


def tempo_of(progress: Progress) -> Tempo:
    tempo = Tempo(began=0.0, moved=0.0)
    early = Progress(progress.picture, True, False, {State.SERVING: 2})
    tempo.saw(early, 10.0)
    tempo.saw(progress, 40.0)
    return tempo


def test_half_way_the_board_shows_progress_pace_nodes_and_who_is_in_the_way() -> None:
    progress = half_way()
    assert_golden("rollout_board", drawn(draw(progress, tempo_of(progress), 40.0, 100)))


def test_at_the_end_the_board_says_so() -> None:
    progress = half_way(done=True)
    assert_golden("rollout_board_done", drawn(draw(progress, tempo_of(progress), 40.0, 100)))


def test_few_nodes_are_named_with_their_revisions() -> None:
    progress = half_way(nodes=16)
    assert_golden("rollout_board_named", drawn(draw(progress, tempo_of(progress), 40.0, 100)))


def test_a_narrow_terminal_is_not_overrun() -> None:
    progress = half_way()
    text = drawn(draw(progress, tempo_of(progress), 40.0, 60), 60)
    assert max(map(len, text.splitlines())) <= 60
    assert "node-14" in text


def test_no_news_is_told_as_such() -> None:
    progress = half_way(trouble="pods: the server cannot be reached")
    text = drawn(draw(progress, tempo_of(progress), 40.0, 100))
    assert text.splitlines()[-1] == "no news: pods: the server cannot be reached"


def test_the_pace_is_that_of_the_last_minute() -> None:
    tempo = Tempo(0.0, 0.0)
    for second in range(0, 300, 10):
        serving = min(second // 10, 20)
        tempo.saw(Progress(half_way().picture, True, False, {State.SERVING: serving}), float(second))
    assert tempo.per_minute == 0
    assert tempo.moved == 200
    assert tempo.left(half_way(), 300.0) is None


def test_the_time_left_follows_from_the_pace() -> None:
    progress = half_way()
    tempo = tempo_of(progress)
    assert tempo.per_minute == pytest.approx(20)
    assert tempo.left(progress, 40.0) == pytest.approx((40 - 12) * 3)


def test_a_pace_that_is_lost_promises_no_end() -> None:
    progress = half_way()
    tempo = tempo_of(progress)  # A node comes to serve every 3 seconds.
    assert tempo.left(progress, 49.0) is not None
    assert tempo.left(progress, 49.1) is None
    assert "no node has come to serve since 9s" in drawn(draw(progress, tempo, 49.1))


def test_what_is_in_the_way_is_not_told_twice() -> None:
    crash = "container c ended with exit code 1"
    told = Reason(f"{crash} at 2026-01-01T00:00:00Z (7s ago): panic", "")
    progress = replace(half_way(), hindrances=(Answer("node-14", Kind.CRASHING, crash, (told,)),), more_hindrances=0)
    (line,) = [line for line in drawn(draw(progress, tempo_of(progress), 40.0, 120), 120).splitlines() if crash in line]
    assert line.count(crash) == 1
    assert "at 2026-01-01T00:00:00Z (7s ago): panic" in line
