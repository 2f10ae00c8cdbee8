"""Renders the chart: the part of Helm's template language that it keeps to, and nothing else.

Helm itself renders the chart in the tests where it is installed; everywhere else this stands in for it. The chart is
held to what is understood here: `if`, `else`, `end`, `range`, and values with `default`, `quote`, `toYaml`, `nindent`.
Anything else is an error, so the chart cannot grow beyond what is tested.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import yaml

from tests.deploy.manifests import CHART, Tree

ACTION = re.compile(r"\{\{(-?)\s*(.*?)\s*(-?)\}\}", re.DOTALL)


class NotUnderstood(Exception):
    """The chart uses what is not in this subset."""


def values(**changes: Any) -> Tree:
    """The chart's values with some changed, as `--set a.b=c` would (`a__b=c`)."""
    tree: Tree = yaml.safe_load((CHART / "values.yaml").read_text())
    for path, value in changes.items():
        *way, last = path.split("__")
        at = tree
        for step in way:
            at = at[step]
        assert last in at, f"values.yaml has no {path}"
        at[last] = value
    return tree


def schema() -> Tree:
    """What values may be."""
    tree: Tree = json.loads((CHART / "values.schema.json").read_text())
    return tree


def rendered(chosen: Tree, namespace: str = "eachnode-system") -> list[Tree]:
    """The objects that `helm install --namespace …` would create."""
    about = yaml.safe_load((CHART / "Chart.yaml").read_text())
    scope = {"Values": chosen, "Release": {"Namespace": namespace}, "Chart": {"AppVersion": about["appVersion"]}}
    texts = [render(path.read_text(), scope) for path in sorted((CHART / "templates").glob("*.yaml"))]
    return [tree for text in texts for tree in yaml.safe_load_all(text) if tree is not None]


def render(template: str, scope: Tree) -> str:
    """One template's text."""
    tokens = list(_tokens(template))
    text, rest = _block(tokens, scope)
    if rest:
        raise NotUnderstood("an end without a beginning")
    return text


def _tokens(template: str) -> Iterator[tuple[str, str]]:
    """Texts and actions in turn; `{{-` and `-}}` take the white space beside them away."""
    position, trims = 0, ""
    for found in ACTION.finditer(template):
        trim_left, action, trim_right = found.groups()
        text = template[position : found.start()]
        text = text.lstrip() if trims else text
        yield "text", text.rstrip() if trim_left else text
        yield "action", action
        position, trims = found.end(), trim_right
    yield "text", template[position:].lstrip() if trims else template[position:]


def _block(tokens: list[tuple[str, str]], scope: Any) -> tuple[str, list[tuple[str, str]]]:
    """The text up to this block's `else` or `end`, and what follows from there."""
    out = ""
    while tokens:
        (kind, text), *tokens = tokens
        word, _, rest = text.partition(" ")
        if kind == "text":
            out += text
        elif word in ("else", "end"):
            return out, [(kind, text), *tokens]
        elif word in ("if", "range"):
            piece, tokens = _branches(word, _value(rest, scope), tokens, scope)
            out += piece
        else:
            out += _shown(_value(text, scope))
    return out, []


def _branches(word: str, value: Any, tokens: list[tuple[str, str]], scope: Any) -> tuple[str, list[tuple[str, str]]]:
    inside = tokens
    first, tokens = _block(inside, value[0] if word == "range" and value else scope)
    other = ""
    if tokens and tokens[0][1] == "else":
        other, tokens = _block(tokens[1:], scope)
    if not tokens or tokens[0][1] != "end":
        raise NotUnderstood(f"{word} without an end")
    if word == "range":
        first = "".join(_block(inside, each)[0] for each in value)
    return (first if value else other), tokens[1:]


def _value(expression: str, scope: Any) -> Any:
    """A path, through functions."""
    path, *functions = [part.strip() for part in expression.split("|")]
    value = _at(path, scope)
    for function in functions:
        name, *arguments = function.split()
        value = _applied(name, arguments, value, scope)
    return value


def _at(path: str, scope: Any) -> Any:
    if path == ".":
        return scope
    if not re.fullmatch(r"(\.[A-Za-z]+)+", path):
        raise NotUnderstood(path)
    for step in path[1:].split("."):
        if not isinstance(scope, dict) or step not in scope:
            raise NotUnderstood(f"{path}: there is no {step}")
        scope = scope[step]
    return scope


def _applied(name: str, arguments: list[str], value: Any, scope: Any) -> Any:
    match name, arguments:
        case "default", [path]:
            return value or _at(path, scope)
        case "quote", []:
            return json.dumps(str(value))
        case "toYaml", []:
            return yaml.safe_dump(value, default_flow_style=False).rstrip("\n")
        case "nindent", [width]:
            return "".join(f"\n{' ' * int(width)}{line}" for line in str(value).splitlines())
    raise NotUnderstood(f"{name} {' '.join(arguments)}")


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
