"""Quantities are read, rounded and spelled as the reference does it."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eachnode.objects import quantities

SPELLINGS = {
    "0.5": "500m",
    "1048576Ki": "1Gi",
    "1000m": "1",
    "1500m": "1500m",
    "1024Ki": "1Mi",
    "1000Ki": "1000Ki",
    "0.5Mi": "512Ki",
    "1.5Gi": "1536Mi",
    "0.3Ki": "307200m",
    "1e3": "1e3",
    "10e1": "100",
    "1000000": "1M",
    "0.0000000001": "1n",
    "16Ei": "9223372036854775807",
    "-1.5Gi": "-1536Mi",
    "1.500": "1.500",  # The reference's quick look takes it for canonical.
    "00": "0",
    " 2 ": "2",
    "110": "110",
}


@pytest.mark.parametrize(("text", "spelling"), SPELLINGS.items())
def test_an_amount_has_one_spelling(text: str, spelling: str) -> None:
    assert quantities.canonical(text) == spelling


@pytest.mark.parametrize(
    ("text", "thousandths", "units"),
    [("500m", 500, 1), ("1", 1000, 1), ("1u", 1, 1), ("1Ki", 1024000, 1024), ("-1500m", -1500, -2), ("1.1", 1100, 2)],
)
def test_amounts_round_away_from_zero(text: str, thousandths: int, units: int) -> None:
    assert quantities.milli(text) == thousandths
    assert quantities.whole(text) == units


def test_json_numbers_are_amounts() -> None:
    assert quantities.canonical(0.5) == "500m"
    assert quantities.whole(3) == 3


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("lots", quantities.FORMAT_WRONG),
        ("", quantities.FORMAT_WRONG),
        ("1.5.5", quantities.FORMAT_WRONG),
        ("1Kii", quantities.SUFFIX_WRONG),
        ("1e99999999999999", quantities.SUFFIX_WRONG),
        ("1" * 5000, quantities.NUMBER_WRONG),
        (True, quantities.FORMAT_WRONG),
    ],
)
def test_what_is_no_amount_is_refused_with_the_reason(text: str, sentence: str) -> None:
    with pytest.raises(ValueError) as refusal:
        quantities.canonical(text)
    assert str(refusal.value) == sentence


@pytest.mark.parametrize("text", ["1e2000000000", "1e-2000000000", "9" * 399, "1e400"])
def test_absurd_amounts_cost_no_time(text: str) -> None:
    assert quantities.whole(text) >= 1
    assert quantities.canonical(text)


NUMBERS = st.decimals(min_value=-(10**15), max_value=10**15, places=6, allow_nan=False).map(lambda d: format(d, "f"))
SUFFIXES = st.sampled_from(["", "n", "u", "m", "k", "M", "G", "Ki", "Mi", "Gi", "e3", "E-2"])


@given(NUMBERS, SUFFIXES)
def test_spelling_is_idempotent_and_keeps_the_value(number: str, suffix: str) -> None:
    spelling = quantities.canonical(number + suffix)
    assert quantities.canonical(spelling) == spelling
    assert quantities.nano(spelling) == quantities.nano(number + suffix)


@given(
    st.integers(-(10**17), 10**17),
    st.sampled_from([("m", Fraction(1, 1000)), ("", Fraction(1)), ("k", Fraction(1000)), ("Ki", Fraction(1024))]),
)
def test_rounding_never_loses_demand(number: int, suffix: tuple[str, Fraction]) -> None:
    exact = number * suffix[1]
    rounded = quantities.whole(f"{number}{suffix[0]}")
    assert abs(rounded) >= abs(exact) or abs(rounded) == quantities.LARGEST
    assert abs(rounded - exact) < 1 or abs(rounded) == quantities.LARGEST
