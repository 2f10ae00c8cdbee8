"""Draws one rollout: how far it has come, how fast it goes, every node, and those that are in the way."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from eachnode.cli.board.drawing import draw_grid, draw_progress, draw_states
from eachnode.cli.rollout.progress import Progress, Tempo, is_serious
from eachnode.decisions.explanation_words import Answer
from eachnode.objects.durations import human_duration


def draw(progress: Progress, tempo: Tempo, now: float, width: int = 100) -> RenderableType:
    """The whole board."""
    picture = progress.picture
    body = Group(
        draw_progress(picture),
        _pace(progress, tempo, now),
        Text(),
        draw_grid(picture.cells, width),
        Text(),
        draw_states(progress.states, width - 4, counted=True),
    )
    parts: list[RenderableType] = [Panel(body, title=f"[bold]{picture.name}[/]", title_align="left")]
    if progress.hindrances and not progress.done:
        parts.append(_in_the_way(progress.hindrances, progress.more_hindrances))
    parts.append(_last_line(progress))
    return Group(*parts)


def _pace(progress: Progress, tempo: Tempo, now: float) -> Text:
    spent = f"for {human_duration(now - tempo.began)}"
    if progress.done:
        return Text(f"took {human_duration(now - tempo.began)}", "dim")
    left = tempo.left(progress, now)
    if left is None:
        return Text(f"{spent}; no node has come to serve since {human_duration(now - tempo.moved)}", "dim")
    return Text(f"{spent}; {tempo.per_minute:.0f} nodes a minute, about {human_duration(left)} left", "dim")


def _in_the_way(answers: Sequence[Answer], more: int) -> Panel:
    table = Table.grid(padding=(0, 2), expand=True)
    table.add_column(no_wrap=True, min_width=max(len(answer.node) for answer in answers))
    table.add_column(no_wrap=True, min_width=min(40, max(len(answer.summary) for answer in answers)))
    table.add_column(overflow="ellipsis", no_wrap=True, ratio=1)
    for answer in answers:
        because = answer.because.removeprefix(answer.summary).lstrip(" ,:;") if is_serious(answer) else ""
        table.add_row(
            answer.node, Text(answer.summary, "red" if is_serious(answer) else "yellow"), Text(because, "dim")
        )
    if more:
        table.add_row(f"and {more} more", "", "")
    return Panel(table, title="in the way", title_align="left")


def _last_line(progress: Progress) -> Text:
    if progress.trouble:
        return Text(f"no news: {progress.trouble}", "red")
    return Text(progress.sentence, "bold green" if progress.done else "")
