"""Structured logs: one line for each thing done, with its *because*, as text or as JSON.

Anything may be logged with the ordinary `logging` functions; `extra={"about": {...}}` adds key=value pairs. What was
done is told by `tell`, so that each action is logged alike: what, to what, because of what.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Mapping
from typing import Any, Literal, TextIO

import msgspec

from eachnode.objects.clock import micro_timestamp

Style = Literal["text", "json"]


def tell(log: logging.Logger, action: str, because: str = "", **about: object) -> None:
    """Log an action that was carried out, what it was done to, and why."""
    if log.isEnabledFor(logging.INFO):
        log.info(
            action, extra={"about": {key: value for key, value in about.items() if value is not None} | _why(because)}
        )


def _why(because: str) -> dict[str, str]:
    return {"because": because} if because else {}


class TextLines(logging.Formatter):
    """`2026-01-31T12:00:00.000000Z INFO daemonset: created a pod pod=default/a because="…"`"""

    def format(self, record: logging.LogRecord) -> str:
        """One line, and a traceback below it if there is one."""
        pairs = "".join(f" {key}={_quoted(value)}" for key, value in _about(record).items())
        line = f"{micro_timestamp(record.created)} {record.levelname} {_source(record)}: {record.getMessage()}{pairs}"
        return line + (f"\n{self.formatException(record.exc_info)}" if record.exc_info else "")


class JsonLines(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """All of the record that is of interest to a machine."""
        line: dict[str, Any] = {
            "time": micro_timestamp(record.created),
            "level": record.levelname,
            "source": _source(record),
            "message": record.getMessage(),
            **_about(record),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return msgspec.json.encode(line, enc_hook=str).decode()


def start_logging(style: Style = "text", level: str = "INFO", stream: TextIO | None = None) -> None:
    """Have everything from `level` up written to the stream (stderr)."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines() if style == "json" else TextLines())
    root = logging.getLogger()
    for old in root.handlers[:]:
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(level.upper())
    logging.getLogger("asyncio").setLevel(logging.WARNING)
    logging.getLogger("aiohttp.access").setLevel(logging.WARNING)


def _about(record: logging.LogRecord) -> Mapping[str, Any]:
    about = getattr(record, "about", None)
    return about if isinstance(about, Mapping) else {}


def _source(record: logging.LogRecord) -> str:
    """The part of the program: `eachnode.controllers.daemonset.sync` is `daemonset.sync`."""
    name = record.name.removeprefix("eachnode.")
    return name.removeprefix("controllers.").removeprefix("runtime.")


def _quoted(value: object) -> str:
    text = str(value)
    plain = text and not any(letter in text for letter in ' ="\n\t\r')
    return text if plain else json.dumps(text, ensure_ascii=False)
