"""The short name of a template: a revision's hash.

Hashes of other controllers are read from the labels of their revisions, so ours need not equal theirs; it has the same
shape: FNV-1a of 32 bits, written with the letters that generated names may have.
"""

from __future__ import annotations

from eachnode.objects.clock import SUFFIX_LETTERS

_BASIS, _PRIME = 0x811C9DC5, 0x01000193


def fnv1a(data: bytes) -> int:
    """The 32-bit FNV-1a hash."""
    value = _BASIS
    for byte in data:
        value = (value ^ byte) * _PRIME & 0xFFFFFFFF
    return value


def safe_encoded(text: str) -> str:
    """The text with each character replaced by one that is allowed in names and makes no words."""
    return "".join(SUFFIX_LETTERS[ord(character) % len(SUFFIX_LETTERS)] for character in text)


def revision_hash(meaning: bytes, collisions: int | None) -> str:
    """The hash of what a template means; `collisions` makes it another one each time that name was taken."""
    salt = b"" if collisions is None else (collisions & 0xFFFFFFFF).to_bytes(4, "little") + bytes(4)
    return safe_encoded(str(fnv1a(meaning + salt)))
