"""Outputs as they were approved: compared word for word, and written anew when EACHNODE_RENEW_GOLDEN is set.

What chance puts at the end of pods' names is covered up: it depends on all that happened in a cluster before.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

_SUFFIX = re.compile(r"\b([a-z][a-z0-9]*)-[bcdfghjklmnpqrstvwxz2456789]{5}\b")
FOLDER = Path(__file__).parent / "golden"


def assert_golden(name: str, text: str) -> None:
    """The text is the one in tests/cli/golden/<name>.txt."""
    text = _SUFFIX.sub(r"\1-xxxxx", text)
    path = FOLDER / f"{name}.txt"
    if os.environ.get("EACHNODE_RENEW_GOLDEN"):
        path.write_text(f"{text}\n")
    assert path.exists(), f"{path.name} is missing: run once with EACHNODE_RENEW_GOLDEN=1 and read what it writes"
    assert f"{text}\n" == path.read_text()
