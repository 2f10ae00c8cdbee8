from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eachnode.server.http.tokens import ISSUER, AccountClaims, AccountTokens, BadToken

CLAIMS = AccountClaims("home", "agent", "u-1", (ISSUER,), 2000.0)
TOKENS = AccountTokens(b"key")


def test_a_token_says_what_it_was_issued_for() -> None:
    bound = replace(CLAIMS, bound_kind="Pod", bound_name="p", bound_uid="u-2")
    assert TOKENS.read(TOKENS.issue(bound, now=1000.0), now=1500.0) == bound
    assert bound.user == "system:serviceaccount:home:agent"


@pytest.mark.parametrize(
    ("now", "audiences", "why"),
    [(3000.0, (), "has expired"), (10.0, (), "not valid yet"), (1500.0, ("vault",), "is meant for")],
)
def test_a_token_is_worth_something_in_its_time_and_for_its_audience(
    now: float, audiences: tuple[str, ...], why: str
) -> None:
    with pytest.raises(BadToken, match=why):
        TOKENS.read(TOKENS.issue(CLAIMS, now=1000.0), now=now, audiences=audiences)


def test_a_token_for_somebody_else_is_read_by_them() -> None:
    token = TOKENS.issue(replace(CLAIMS, audiences=("vault",)), now=1000.0)
    assert TOKENS.read(token, now=1500.0, audiences=("vault",)).audiences == ("vault",)


def test_a_token_of_another_key_or_issuer_is_worth_nothing() -> None:
    for other in (AccountTokens(b"other"), AccountTokens(b"key", issuer="https://elsewhere")):
        with pytest.raises(BadToken):
            TOKENS.read(other.issue(CLAIMS, now=1000.0), now=1500.0)


@given(place=st.integers(0, 10_000), change=st.integers(1, 127))
def test_a_token_of_which_a_letter_was_changed_is_worth_nothing(place: int, change: int) -> None:
    token = TOKENS.issue(CLAIMS, now=1000.0)
    at = place % len(token)
    forged = f"{token[:at]}{chr((ord(token[at]) + change) % 128)}{token[at + 1 :]}"
    assert forged != token
    with pytest.raises(BadToken):
        TOKENS.read(forged, now=1500.0)


@given(st.text(max_size=40))
def test_no_text_is_a_token(text: str) -> None:
    with pytest.raises(BadToken):
        TOKENS.read(text, now=1500.0)
