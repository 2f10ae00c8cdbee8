"""Writes docs/reference from the code: commands and flags, metrics, events, exit codes.

`make docs` writes the pages; tests/docs/test_reference.py fails when a page is not what would be written.
"""

from __future__ import annotations

import ast
import random
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import click

from eachnode.cli import failures
from eachnode.cli.main import COMMANDS, cli

TOP = Path(__file__).parents[1]
SOURCE = TOP / "src" / "eachnode"
FOLDER = TOP / "docs" / "reference"
MADE = "*Made from the code by `make docs`; a test keeps it true.*"


@cache
def pages() -> dict[str, str]:
    """File name → text."""
    return {
        "commands.md": commands_page(),
        "metrics.md": metrics_page(),
        "events.md": events_page(),
        "exit-codes.md": exit_codes_page(),
    }


# Commands


def commands_page() -> str:
    """Every command with its arguments and flags."""
    lines = ["# Commands and flags", "", MADE, ""]
    lines += ["| command | what it does |", "|---|---|"]
    lines += [f"| [`eachnode {name}`](#eachnode-{name}) | {_cell(told)} |" for name, (_, told) in COMMANDS.items()]
    lines += ["", "As kubectl's plugin each is `kubectl eachnode …`.", ""]
    lines += _options(cli, _top())
    for path, command in _all_commands():
        lines += ["", *_command(path, command)]
    return "\n".join(lines) + "\n"


def _top() -> click.Context:
    """What the program itself gives to its commands: click keeps a command's first `--help` for good."""
    return click.Context(cli, info_name="eachnode", **cli.context_settings)


def _all_commands() -> Iterator[tuple[str, click.Command]]:
    context = _top()
    for name in COMMANDS:
        command = cli.get_command(context, name)
        assert command is not None
        yield from _with_subcommands(f"eachnode {name}", command)


def _with_subcommands(path: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from _with_subcommands(f"{path} {name}", inner)


def _command(path: str, command: click.Command) -> list[str]:
    context = click.Context(command, info_name=path, parent=_top())
    usage = " ".join(command.collect_usage_pieces(context))
    examples, told = _told(command.help or "")
    shown = ["", "```sh", *examples, "```"] if examples else []
    return [f"## {path}", "", *told, "", "```text", f"{path} {usage}", "```", *shown, "", *_options(command, context)]


def _told(text: str) -> tuple[list[str], list[str]]:
    """The examples of a help text, and its sentences; click keeps the lines after a backspace as they are."""
    examples: list[str] = []
    sentences: list[str] = []
    for paragraph in re.split(r"\n\s*\n", text):
        lines = [line.strip() for line in paragraph.strip().splitlines()]
        if lines and lines[0] == "\b":
            examples += lines[1:]
        elif lines:
            sentences += ["", " ".join(lines)] if sentences else [" ".join(lines)]
    return examples, sentences


def _options(command: click.Command, context: click.Context) -> list[str]:
    lines = ["| flag | what it does | default |", "|---|---|---|"]
    for option in command.get_params(context):
        record = option.get_help_record(context) if isinstance(option, click.Option) else None
        if isinstance(option, click.Option) and record is not None and "--help" not in option.opts:
            told = f"{option.help or ''}{' May be given several times.' if option.multiple else ''}"
            lines.append(f"| {_flag(option)} | {_cell(told)} | {_default(option)} |")
    return lines if len(lines) > 2 else ["It has no flags."]


def _flag(option: click.Option) -> str:
    names = [f"`{name}`" for name in [*option.opts, *option.secondary_opts]]
    return ", ".join(names) + ("" if option.is_flag or option.count else f" {_cell(_metavar(option))}")


def _metavar(option: click.Option) -> str:
    if isinstance(option.type, click.Choice):
        return " or ".join(f"`{choice}`" for choice in option.type.choices)
    if option.metavar:
        return option.metavar
    names = {"integer range": "N", "integer": "N", "float range": "NUMBER", "float": "NUMBER", "path": "FILE"}
    return names.get(option.type.name, option.type.name.upper())


def _default(option: click.Option) -> str:
    default = option.default
    if option.is_flag:
        return f"`{option.opts[0]}`" if default is True and option.secondary_opts else ""
    plain = isinstance(default, str | int | float) and default != ""
    return f"`{default}`" if plain else ""


# Metrics


def metrics_page() -> str:
    """What /metrics of a loop shows, and what the server's shows."""
    lines = ["# Metrics", "", MADE, ""]
    lines += ["Every command with `--metrics-listen` serves them at `/metrics`, beside `/healthz` and `/readyz`.", ""]
    lines += ["| metric | type | labels | meaning |", "|---|---|---|---|"]
    lines += [
        f"| `{name}` | {kind} | {', '.join(f'`{label}`' for label in labels)} | {_cell(meaning)} |"
        for name, kind, labels, meaning in loop_metrics()
    ]
    lines += ["", "## The embedded server", ""]
    lines += ["At `/metrics` of its own address, under the names that kube-apiserver uses where it has the same.", ""]
    lines += ["| metric | type | meaning |", "|---|---|---|"]
    lines += [f"| `{name}` | {kind} | {_cell(meaning)} |" for name, kind, meaning in server_metrics()]
    return "\n".join(lines) + "\n"


def loop_metrics() -> Iterator[tuple[str, str, tuple[str, ...], str]]:
    """Name, type, labels and meaning of what `eachnode controller` and the other loops count."""
    from eachnode.controllers.daemonset import DaemonSetController
    from eachnode.runtime.clock import SystemClock
    from eachnode.runtime.metrics import Metrics

    metrics = Metrics()
    nowhere: Any = None  # Nothing is asked of the door until the controller runs.
    DaemonSetController(nowhere, clock=SystemClock(), chance=random.Random(0), metrics=metrics)
    by_name = metrics.registry._names_to_collectors  # The only place that tells the labels of a metric without values.
    for family in sorted(metrics.registry.collect(), key=lambda family: family.name):
        source = by_name.get(family.name) or by_name.get(f"{family.name}_total")
        labels: tuple[str, ...] = tuple(getattr(family, "_labelnames", ()) or getattr(source, "_labelnames", ()) or ())
        suffix = "_total" if family.type == "counter" else ""
        yield family.name + suffix, family.type, labels, family.documentation


def server_metrics() -> Iterator[tuple[str, str, str]]:
    """Name, type and meaning of what the server counts."""
    from eachnode.server.http.metrics import Metrics

    text = Metrics().text({}, 0)
    types = dict(re.findall(r"(?m)^# TYPE (\S+) (\S+)$", text))
    for name, meaning in re.findall(r"(?m)^# HELP (\S+) (.*)$", text):
        yield name, types[name], meaning


# Events


@dataclass(frozen=True, order=True)
class Told:
    """An event that the code writes."""

    loop: str
    type: str
    reason: str
    message: str


def events_page() -> str:
    """Every event with its reason and message."""
    lines = ["# Events", "", MADE, ""]
    lines += ["Reasons and messages are the reference's where it has them; `…` stands for what the event is about.", ""]
    for loop in sorted({told.loop for told in events()}):
        lines += [f"## {loop}", "", "| type | reason | message |", "|---|---|---|"]
        lines += [
            f"| {each.type} | `{each.reason}` | {_cell(each.message)} |" for each in events() if each.loop == loop
        ]
        lines.append("")
    return "\n".join(lines).rstrip("\n") + "\n"


@cache
def events() -> tuple[Told, ...]:
    """All of them, in order."""
    return tuple(sorted({told for path in sorted(SOURCE.rglob("*.py")) for told in _events_of(path)}))


LOOP_OF = {"decisions": "controller", "daemonset": "controller", "node_lifecycle": "node-lifecycle"}


def _events_of(path: Path) -> Iterator[Told]:
    place = path.relative_to(SOURCE).parts
    if place[0] not in ("controllers", "decisions"):
        return
    folder = place[1] if place[0] == "controllers" else place[0]
    for function in ast.walk(ast.parse(path.read_text())):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for call in ast.walk(function):
                if isinstance(call, ast.Call) and _records(call):
                    kind, reason, message = (_text(each, _known(function, call)) for each in call.args[-3:])
                    if kind in ("Normal", "Warning") and reason != "…":
                        yield Told(LOOP_OF.get(folder, folder), kind, reason, message)


def _known(function: ast.FunctionDef | ast.AsyncFunctionDef, call: ast.Call) -> Mapping[str, ast.expr]:
    """What names stand for at this call: the program's constants, and what the function last gave to them."""
    before = [each for each in _assignments(function.body) if each[0].lineno < call.lineno]
    return _constants() | {target.id: value for target, value in sorted(before, key=lambda each: each[0].lineno)}


@cache
def _constants() -> dict[str, ast.expr]:
    """Every name in capitals that a module gives to an expression."""
    modules = (ast.parse(path.read_text()) for path in sorted(SOURCE.rglob("*.py")))
    found = (each for module in modules for each in _assignments(module.body, deep=False))
    return {target.id: value for target, value in found if target.id.isupper()}


def _assignments(body: Iterable[ast.stmt], deep: bool = True) -> Iterator[tuple[ast.Name, ast.expr]]:
    for outer in body:
        for statement in ast.walk(outer) if deep else (outer,):
            if isinstance(statement, ast.Assign):
                yield from ((target, statement.value) for target in statement.targets if isinstance(target, ast.Name))


def _records(call: ast.Call) -> bool:
    """Whether this may record an event: its last arguments are type, reason and message."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    return name in ("Notice", "_event", "record", "_tell") and len(call.args) >= 3


def _text(expression: ast.expr, known: Mapping[str, ast.expr]) -> str:
    """What an expression says, with … for what is only known when it runs."""
    match expression:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(_text(part, known) for part in parts)
        case ast.Name(id=name) if name in known:
            return _text(known[name], {other: value for other, value in known.items() if other != name})
    return "…"


# Exit codes


def exit_codes_page() -> str:
    """What a script can read off the exit code."""
    from eachnode.cli.rollout.following import STUCK

    documented = re.findall(r"(?m)^(\d+)\s{2,}(.*)$", failures.__doc__ or "")
    rows = {0: "all went well; for `plan`: nothing to do", **{int(code): told for code, told in documented}}
    rows[STUCK] = "`rollout status`: the rollout does not get on"
    rows[130] = "ended by Ctrl-C"
    lines = ["# Exit codes", "", MADE, "", "| code | meaning |", "|---|---|"]
    lines += [f"| {code} | {_cell(rows[code])} |" for code in sorted(rows)]
    lines += ["", "What went wrong is one sentence on standard error. `--debug` before the command shows a traceback."]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    """Text within a table."""
    return text.replace("|", "\\|").replace("\n", " ")


def options() -> Iterator[tuple[str, click.Option]]:
    """Every flag there is, with the command it belongs to."""
    for path, command in _all_commands():
        yield from ((path, option) for option in command.params if isinstance(option, click.Option))


def main() -> None:
    """Write the pages."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text)
    print(f"{len(pages())} pages in {FOLDER.relative_to(TOP)} are written", file=sys.stderr)


if __name__ == "__main__":
    main()
