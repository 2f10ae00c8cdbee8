"""Answers in YAML, written as Go's library writes them: what is not plain text to it stands in double quotes."""

from __future__ import annotations

import re
from typing import Any

import yaml

from eachnode.server.schema.yaml_text import is_plain_text

_Dumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)  # libyaml where it was built in
_SEXAGESIMAL = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?", re.ASCII)


class _Writer(_Dumper):  # type: ignore[misc]  # whichever of two classes it is
    """Writes strings in the style that Go's library chooses."""


def as_yaml(tree: Any) -> bytes:
    """A tree as YAML."""
    text: str = yaml.dump(tree, Dumper=_Writer, allow_unicode=True)
    return text.encode()


def _string(writer: Any, text: str) -> Any:
    is_plain = is_plain_text(text) and not _SEXAGESIMAL.fullmatch(text)
    style = "|" if "\n" in text else None if is_plain else '"'
    return writer.represent_scalar("tag:yaml.org,2002:str", text, style)


_Writer.add_representer(str, _string)
