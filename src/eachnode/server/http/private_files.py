"""Files that nobody else may read, written so that a crash leaves the old content or the new, never half of it."""

from __future__ import annotations

import os
import secrets
from pathlib import Path


def write_private(path: Path, content: bytes) -> None:
    """The file with this content, readable by its owner only (mode 0600)."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        draft.replace(path)
    except OSError:
        draft.unlink(missing_ok=True)
        raise


def kept_secret(path: Path) -> str:
    """The secret kept in this file; a new random one is made when there is none."""
    if path.exists():
        known = path.read_text().strip()
        if known:
            return known
    made = secrets.token_urlsafe(32)
    write_private(path, f"{made}\n".encode())
    return made
