"""The reference pages are what the code says, and say something of everything."""

from __future__ import annotations

import pytest
from scripts import reference

from tests.docs.pages import TOP


@pytest.mark.parametrize("name", reference.pages())
def test_the_page_is_what_the_code_says(name: str) -> None:
    written = TOP / "docs" / "reference" / name
    assert written.read_text() == reference.pages()[name], "run: make docs"


def test_no_page_stands_there_that_nothing_makes() -> None:
    made = {*reference.pages(), "index.md"}
    assert {path.name for path in (TOP / "docs" / "reference").iterdir()} <= made


def test_every_flag_has_a_sentence() -> None:
    assert [(path, option.name) for path, option in reference.options() if not option.help] == []


@pytest.mark.parametrize(
    "reason",
    ["SuccessfulCreate", "FailedDaemonPod", "FailedPlacement", "FailedScheduling", "Preempted", "SelectingAll"],
)
def test_the_events_that_users_know_are_found_in_the_code(reason: str) -> None:
    told = [event for event in reference.events() if event.reason == reason]
    assert told
    assert all(len(event.message) > 2 or reason == "FailedScheduling" for event in told)


def test_one_reason_is_told_as_the_code_tells_it() -> None:
    (failed,) = (event for event in reference.events() if event.reason == "FailedDaemonPod")
    assert failed.message.startswith("Found failed daemon pod")


def test_metrics_without_a_value_yet_have_their_labels() -> None:
    labels = {name: labels for name, _, labels, _ in reference.loop_metrics()}
    assert labels["eachnode_api_calls_total"] == ("verb", "resource", "code")
    assert labels["eachnode_daemonset_nodes"] == ("namespace", "name", "state")
