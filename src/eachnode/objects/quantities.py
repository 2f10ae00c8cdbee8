"""Amounts of a resource as the API writes them: `500m`, `1Gi`, `1e3`.

A quantity is a whole number times a power of ten or of 1024. It keeps the family of its suffix (decimal, binary or
exponent), and has one canonical spelling within it: no fraction, and the largest suffix that needs none. The reference
leaves a text alone when a quick look says that it is canonical already; that quick look errs in rare cases (`1.500`
stays), and so it does here, for the bytes are what clients compare. Nothing finer than a billionth is kept: what is
smaller is rounded up, so that asking for something never means asking for nothing.
"""

from __future__ import annotations

import re
from enum import Enum
from functools import lru_cache
from typing import NamedTuple

FORMAT_WRONG = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
SUFFIX_WRONG = "unable to parse quantity's suffix"
NUMBER_WRONG = "unable to parse numeric part of quantity"
LARGEST = (1 << 63) - 1  # What an amount is capped at; the reference computes in 64 bits.

_FINEST = -9
_EXACT_DIGITS = 18  # Numbers of up to so many digits take the reference's quick way, which keeps canonical texts.
_LONGEST = 400  # No amount of anything needs more digits; reading thousands of them would cost time.
_SHAPE = re.compile(r"([+-]?)0*([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*(?:[-+]?[0-9]*))", re.ASCII)
_EXPONENT = re.compile(r"[eE]([+-]?[0-9]+)", re.ASCII)
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}  # in powers of 1024
_DECIMAL_SUFFIX = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_BINARY_SUFFIX = {0: "", **{power: suffix for suffix, power in _BINARY.items()}}


class Family(Enum):
    """How a quantity is written."""

    DECIMAL = "DecimalSI"
    BINARY = "BinarySI"
    EXPONENT = "DecimalExponent"


class Quantity(NamedTuple):
    """`digits` times ten to the `exponent`, and the text to keep when it is canonical already."""

    digits: int
    exponent: int
    family: Family
    kept: str | None = None


def canonical(text: str | int | float) -> str:
    """The one spelling the API stores for this amount; raises ValueError with the API's words when it is none."""
    return _canonical(_text(text))


def milli(text: str | int | float) -> int:
    """Thousandths, rounded away from zero."""
    return _scaled(_text(text), -3)


def whole(text: str | int | float) -> int:
    """Whole units, rounded away from zero."""
    return _scaled(_text(text), 0)


def nano(text: str | int | float) -> int:
    """Billionths: exact, and so fit for comparing two amounts."""
    return _scaled(_text(text), _FINEST)


def _text(value: str | int | float) -> str:
    """What stands in the JSON; blanks round a quantity are let pass."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(FORMAT_WRONG)
    return repr(value)


@lru_cache(maxsize=4096)
def parse(text: str) -> Quantity:
    """The quantity a text means."""
    shape = _SHAPE.fullmatch(text)
    if shape is None or not text:
        raise ValueError(FORMAT_WRONG)
    sign, number, fraction, suffix = shape.groups()
    number, fraction = number or "0", fraction or ""
    base, exponent, family = _suffix(suffix)
    quick = _quick(text, sign, number, fraction, exponent, family)
    if quick is not None:
        return quick
    if len(text) > _LONGEST:
        raise ValueError(NUMBER_WRONG)
    digits, exponent = int(number + fraction) * base, exponent - len(fraction)
    if family is Family.BINARY:
        exponent = -len(fraction)
    if exponent < _FINEST:
        drop = _FINEST - exponent
        digits, exponent = (-(-digits // 10**drop) if drop < 800 else min(digits, 1)), _FINEST
    if family is Family.BINARY:
        if exponent <= 0 and digits > LARGEST * 10**-exponent:
            digits, exponent = LARGEST, 0
        if 0 < digits < 10**-exponent:
            family = Family.DECIMAL
    return Quantity(-digits if sign == "-" else digits, exponent, family)


def _suffix(suffix: str) -> tuple[int, int, Family]:
    """(what to multiply by, power of ten, family)."""
    if suffix in _DECIMAL:
        return 1, _DECIMAL[suffix], Family.DECIMAL
    if suffix in _BINARY:
        return 1024 ** _BINARY[suffix], 0, Family.BINARY
    exponent = _EXPONENT.fullmatch(suffix)
    if exponent is None or abs(int(exponent[1][:12])) > 1 << 31:
        raise ValueError(SUFFIX_WRONG)
    return 1, int(exponent[1]), Family.EXPONENT


def _quick(text: str, sign: str, number: str, fraction: str, exponent: int, family: Family) -> Quantity | None:
    """The quantity when it is small enough for exact 64-bit arithmetic, with its text if that looks canonical."""
    shifted = number + fraction
    if family is Family.BINARY:
        power = _BINARY[text[-2:]]
        if fraction or len(number) > 14 - power * 3:
            return None
        digits = int(number)
        amount = digits << (10 * power)
        kept = text if digits & 7 else None
    else:
        exponent -= len(fraction)
        if len(shifted) > _EXACT_DIGITS or exponent < _FINEST:
            return None
        amount = int(shifted)
        kept = text if exponent % 3 == 0 and not shifted.endswith("000") and shifted[0] != "0" else None
    return Quantity(-amount if sign == "-" else amount, exponent, family, kept)


@lru_cache(maxsize=4096)
def _canonical(text: str) -> str:
    quantity = parse(text)
    return quantity.kept if quantity.kept is not None else _spelled(*quantity[:3])


def spelled(billionths: int, family: Family) -> str:
    """How an amount that was reckoned with is written in a family of suffixes."""
    return _spelled(billionths, _FINEST, family)


def _spelled(digits: int, exponent: int, family: Family) -> str:
    if digits == 0:
        return "0"
    if family is Family.BINARY:
        amount = _whole_or_none(digits, exponent)
        if amount is not None and abs(amount) >= 1024:
            return _binary(amount)
        family = Family.DECIMAL
    while digits % 10 == 0:
        digits, exponent = digits // 10, exponent + 1
    largest = exponent if family is Family.EXPONENT else 18
    target = min(exponent // 3 * 3, largest)
    digits *= 10 ** (exponent - target) if exponent - target < 400 else 1
    if family is Family.EXPONENT:
        return f"{digits}e{target}" if target else str(digits)
    return f"{digits}{_DECIMAL_SUFFIX[target]}"


def _whole_or_none(digits: int, exponent: int) -> int | None:
    """The amount of a binary quantity (whose exponent is never positive) when it has no fraction."""
    amount, rest = divmod(digits, int(10**-exponent))
    return None if rest else amount


def _binary(amount: int) -> str:
    power = 0
    while amount % 1024 == 0 and power < max(_BINARY_SUFFIX):
        amount, power = amount // 1024, power + 1
    return f"{amount}{_BINARY_SUFFIX[power]}"


@lru_cache(maxsize=4096)
def _scaled(text: str, scale: int) -> int:
    digits, exponent, _, _ = parse(text)
    shift = exponent - scale
    size = abs(digits)
    if shift < 0:
        size = -(-size // 10**-shift)
    elif size and shift > 40:
        size = LARGEST
    else:
        size *= 10**shift
    return -size if digits < 0 else size
