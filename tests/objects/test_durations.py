"""Durations as people read them."""

from __future__ import annotations

import pytest

from eachnode.objects.durations import human_duration

MINUTE, HOUR, DAY, YEAR = 60, 3600, 86400, 365 * 86400


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (-5, "<invalid>"),
        (-1.9, "0s"),
        (0.9, "0s"),
        (119, "119s"),
        (120, "2m"),
        (9 * MINUTE + 59, "9m59s"),
        (10 * MINUTE + 5, "10m"),
        (3 * HOUR - 1, "179m"),
        (3 * HOUR, "3h"),
        (7 * HOUR + 59 * MINUTE, "7h59m"),
        (8 * HOUR + 30 * MINUTE, "8h"),
        (2 * DAY - 1, "47h"),
        (2 * DAY, "2d"),
        (7 * DAY + 23 * HOUR, "7d23h"),
        (8 * DAY + HOUR, "8d"),
        (2 * YEAR - 1, "729d"),
        (2 * YEAR, "2y"),
        (7 * YEAR + 3 * DAY, "7y3d"),
        (8 * YEAR + 9 * DAY, "8y"),
    ],
)
def test_two_or_three_figures_are_enough(seconds: float, shown: str) -> None:
    assert human_duration(seconds) == shown
