"""How long to wait before the next failed pod of a node is replaced."""

from __future__ import annotations

import pytest

from eachnode.decisions.backoff import FIRST_WINDOW, LONGEST_WINDOW, Backoff


@pytest.mark.behaviour(61, 63)
def test_the_first_failure_waits_for_nothing_and_every_next_one_twice_as_long() -> None:
    backoff, now = Backoff(), 0.0
    assert backoff.until("n", 1, now) == now
    windows = []
    for _ in range(13):
        backoff.advance("n", 1, now)
        windows.append(backoff.until("n", 1, now) - now)
        now += windows[-1]
        assert backoff.until("n", 1, now) == now  # At exactly its end the window is over.
    assert windows[:4] == [1, 2, 4, 8]
    assert windows[-3:] == [LONGEST_WINDOW] * 3


@pytest.mark.behaviour(60)
def test_nodes_and_generations_have_windows_of_their_own() -> None:
    backoff = Backoff()
    backoff.advance("n", 1, 0.0)
    assert backoff.until("n", 1, 0.0) == FIRST_WINDOW
    assert backoff.until("m", 1, 0.0) == 0.0
    assert backoff.until("n", 2, 0.0) == 0.0
    backoff.advance("n", 2, 0.0)
    assert backoff.until("n", 2, 0.0) == FIRST_WINDOW


@pytest.mark.behaviour(65)
def test_a_node_that_was_quiet_for_long_starts_anew() -> None:
    backoff = Backoff()
    backoff.advance("n", 1, 0.0)
    backoff.advance("n", 1, 1.0)
    idle = 1.0 + 2 * LONGEST_WINDOW
    backoff.forget_idle(idle)
    assert len(backoff) == 1
    backoff.forget_idle(idle + 0.1)
    assert len(backoff) == 0
    backoff.advance("n", 1, 0.0)
    backoff.advance("n", 1, 1.0)
    backoff.advance("n", 1, idle + 0.1)
    assert backoff.until("n", 1, idle + 0.1) == idle + 0.1 + FIRST_WINDOW
