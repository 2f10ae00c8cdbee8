"""Draws the board as it is at a moment; pure, so that a picture can be made without a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from io import StringIO

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from eachnode.cli.board.picture import Cell, Picture, Told
from eachnode.decisions.slots import State

# State → the glyph of its cell (another one each: not everybody sees colours), its colour, and the legend's words.
CELLS: dict[State, tuple[str, str, str]] = {
    State.SERVING: ("■", "green", "serves the newest template"),
    State.OUTDATED: ("▣", "blue", "serves an older template"),
    State.STARTING: ("◧", "yellow", "is starting"),
    State.SURGING: ("◩", "cyan", "is being replaced by surge"),
    State.LEAVING: ("□", "yellow", "is stopping"),
    State.VACANT: ("·", "yellow", "has no pod yet"),
    State.BROKEN: ("◪", "red", "is broken and outdated"),
    State.FAILED: ("✗", "red", "has failed"),
    State.CROWDED: ("▦", "magenta", "has too many pods"),
    State.LINGERING: ("▪", "bright_black", "keeps a pod that would not be started"),
    State.UNWANTED: ("▨", "magenta", "has a pod that must leave"),
    State.STRANDED: ("▧", "bright_black", "is gone, its pod is left"),
    State.REFUSED: ("-", "bright_black", "is not to run a pod"),
}
WORST_FIRST = (
    State.FAILED,
    State.BROKEN,
    State.CROWDED,
    State.UNWANTED,
    State.STRANDED,
    State.VACANT,
    State.STARTING,
    State.SURGING,
    State.LEAVING,
    State.OUTDATED,
    State.LINGERING,
    State.SERVING,
    State.REFUSED,
)
LINES = 12  # Of the grid at the most, so that the board stays on the screen.
NAMED_UP_TO = 24  # With more nodes than this the grid has no names.
BAR = 40
FRAME = 2  # The lines that a panel needs for itself.
GAP = "   "


def draw(
    pictures: Sequence[Picture], events: Sequence[Told], kubeconfig: str, width: int = 100, height: int = 1000
) -> RenderableType:
    """The whole board; where there is not room for everything, events are left out first, then DaemonSets."""
    seen = Counter(cell.state for picture in pictures for cell in picture.cells)
    states = Padding(draw_states(seen, width - 2), (0, 1))
    foot = Text.assemble(("export KUBECONFIG=", "bold"), (kubeconfig, "bold"), ("     q or Ctrl-C ends it", "dim"))
    parts = _panels(pictures, width, height - _lines(states, width) - _lines(foot, width))
    if not pictures:
        parts.append(Panel(Text("no DaemonSet yet: kubectl apply -f examples/fluentd.yaml"), title="DaemonSets"))
    parts.append(states)
    room = height - _lines(Group(*parts, foot), width) - FRAME
    if events and room > 0:
        parts.append(_events(events[:room]))
    return Group(*parts, foot)


def _panels(pictures: Sequence[Picture], width: int, room: int) -> list[RenderableType]:
    """A panel for each DaemonSet that there is room for; of the first at least the upper part."""
    parts: list[RenderableType] = []
    for place, each in enumerate(pictures):
        panel = Panel(_picture(each, width), title=f"[bold]{each.name}[/]", title_align="left")
        left = len(pictures) - place
        needed, available = _lines(panel, width), room - (left > 1)
        if place and needed > available:
            parts.append(Text(f" and {left} more, for which there is no room", "dim"))
            break
        panel.height = min(needed, max(available, FRAME + 1))
        parts.append(panel)
        room -= panel.height
    return parts


def _lines(part: RenderableType, width: int) -> int:
    """How many lines it takes."""
    console = Console(width=width, file=StringIO())
    return len(console.render_lines(part, pad=False))


def _picture(picture: Picture, width: int) -> RenderableType:
    return Group(draw_progress(picture), Text(), draw_grid(picture.cells, width))


def draw_grid(cells: Sequence[Cell], width: int) -> RenderableType:
    """A cell for each node, with its name where there are few; where there are very many, a cell for several."""
    if len(cells) <= NAMED_UP_TO:
        return _named(cells, width)
    per_line = max(10, (width - 6) // 2)
    size = -(-len(cells) // (per_line * LINES))
    if size == 1:
        return _dense(cells, per_line)
    worst = [min(cells[start : start + size], key=_severity) for start in range(0, len(cells), size)]
    told = Text(f"each cell stands for {size} nodes, and shows the one that is worst off", "dim")
    return Group(_dense(worst, per_line), told)


def _severity(cell: Cell) -> int:
    return WORST_FIRST.index(cell.state)


def draw_progress(picture: Picture) -> Text:
    """Updated and available pods as one bar: what is both is full, what is only one of them is light.

    Light in the colour that its cells have: available and not updated is older, updated and not available is starting.
    """
    total = max(picture.desired, 1)
    done = min(picture.updated, picture.available) * BAR // total
    lacking = State.OUTDATED if picture.available > picture.updated else State.STARTING
    some = max(picture.updated, picture.available) * BAR // total - done
    counts = f"  {picture.updated}/{picture.desired} updated  {picture.available}/{picture.desired} available"
    rest = BAR - done - some
    return Text.assemble(("█" * done, "green"), ("▒" * some, CELLS[lacking][1]), ("░" * rest, "bright_black"), counts)


def _glyph(cell: Cell) -> Text:
    glyph, colour, _ = CELLS[cell.state]
    return Text(glyph, colour if cell.ready else f"{colour} reverse")


def _named(cells: Sequence[Cell], width: int) -> Table:
    longest = max((len(cell.node) for cell in cells), default=1) + 9
    columns = max(1, (width - 4) // longest)
    table = Table.grid(padding=(0, 2))
    for start in range(0, len(cells), columns):
        row = []
        for cell in cells[start : start + columns]:
            number = f" r{cell.revision}" if cell.revision else ""
            row.append(Text.assemble(_glyph(cell), f" {cell.node}", (number, "dim")))
        table.add_row(*row)
    return table


def _dense(cells: Sequence[Cell], per_line: int) -> Text:
    grid = Text()
    for number, cell in enumerate(cells):
        if number and number % per_line == 0:
            grid.append("\n")
        grid.append_text(_glyph(cell)).append(" ")
    return grid


def draw_states(states: Mapping[State, int], width: int, *, counted: bool = False) -> Text:
    """The states that are to be seen, in words; `counted` with how many nodes are in each."""
    items = []
    for state, (glyph, colour, words) in CELLS.items():
        if states.get(state):
            told = f" {words}: {states[state]}" if counted else f" {words}"
            items.append(Text.assemble((glyph, colour), (told, "" if counted else "dim")))
    return _flowing(items, width)


def _flowing(items: Sequence[Text], width: int) -> Text:
    """Items in as many lines as they need, none of them broken."""
    flow, used = Text(), 0
    for item in items:
        if used and used + len(GAP) + len(item) > width:
            flow.append("\n")
            used = 0
        if used:
            flow.append(GAP)
        flow.append_text(item)
        used += len(item) + (len(GAP) if used else 0)
    return flow


def _events(events: Sequence[Told]) -> Panel:
    table = Table.grid(padding=(0, 2), expand=True)
    table.add_column(no_wrap=True, min_width=max(len(event.age) for event in events))
    table.add_column(no_wrap=True, overflow="ellipsis", min_width=min(32, max(len(each.subject) for each in events)))
    table.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
    for event in events:
        style = "yellow" if event.warning else ""
        table.add_row(Text(event.age, "dim"), Text(event.subject, "cyan"), Text(event.message, style))
    return Panel(table, title="events", title_align="left")
