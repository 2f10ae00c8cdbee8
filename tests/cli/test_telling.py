"""How groups of nodes are told: what they share once, what differs node by node, and only so much of it."""

from __future__ import annotations

from eachnode.cli.explaining.telling import tell_groups
from eachnode.decisions.explanation import Scene
from eachnode.decisions.explanation_words import Answer, Kind, Reason
from eachnode.decisions.scheduling import Holder
from tests.decisions.world import NO_HISTORY, START, daemonset, fleet_of

SCENE = Scene(daemonset(), fleet_of(daemonset(), []), NO_HISTORY, START)


def told(*answers: Answer) -> list[str]:
    return list(tell_groups(SCENE, answers))[2:]


def crashing(node: str, because: str, remedy: str, *holders: Holder) -> Answer:
    return Answer(node, Kind.CRASHING, "it crashes", (Reason(because, remedy, holders),))


def test_nodes_with_the_same_fact_are_told_together_and_a_remedy_for_one_names_it() -> None:
    answers = (crashing("a", "x", "see a"), crashing("b", "y", "see b"), crashing("c", "x", "see c"))
    assert told(*answers) == [
        "3  crash-looping: it crashes",
        "   a, c: x",
        "   b: y",
        "   → on a: see a",
    ]


def test_a_remedy_for_all_names_no_node() -> None:
    assert told(crashing("a", "x", "wait"), crashing("b", "y", "wait"))[-1] == "   → wait"


def test_more_facts_than_three_are_told_of_the_first_three_only() -> None:
    lines = told(*(crashing(node, f"fact {node}", "") for node in "abcde"))
    assert lines[1:] == [
        "   a: fact a",
        "   b: fact b",
        "   c: fact c",
        "   likewise d, e (--node NODE tells of one of them, -o wide of each)",
    ]


def test_who_holds_the_room_is_told_with_the_node_where_it_is_so() -> None:
    one, other = Holder("ns", "hog-1", 0, "3"), Holder("ns", "hog-2", 0, "3")
    shared = told(crashing("a", "x", "", one), crashing("b", "x", "", other))
    assert shared[1:] == ["   a, b", "   x", "     on a held by ns/hog-1 (priority 0): 3"]
    alone = told(crashing("a", "x", "", one))
    assert alone[-1] == "     held by ns/hog-1 (priority 0): 3"
