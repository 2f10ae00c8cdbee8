"""Who has to go so that a more important pod finds room."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from eachnode.decisions.scheduling import Diagnosis, Landscape, NoSacrifice, Sacrifice, place, preempt
from eachnode.objects.workload import DisruptionBudget, WorkloadPod

from .worlds import budget, must, near, node, pod, world

HOSTNAME = "kubernetes.io/hostname"
EARLY, LATE = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"


def sacrifice(
    subject: WorkloadPod, landscape: Landscape, budgets: Sequence[DisruptionBudget] = ()
) -> tuple[str, list[str]]:
    """The node that is cleared, and who has to go, the most important first."""
    outcome = place(subject, landscape)
    assert isinstance(outcome, Diagnosis)
    found = preempt(subject, landscape, outcome, budgets)
    assert isinstance(found, Sacrifice)
    return found.node, [victim.metadata.name for victim in found.victims]


def refusal(subject: WorkloadPod, landscape: Landscape) -> NoSacrifice:
    outcome = place(subject, landscape)
    assert isinstance(outcome, Diagnosis)
    found = preempt(subject, landscape, outcome)
    assert isinstance(found, NoSacrifice)
    return found


def test_only_as_many_go_as_must() -> None:
    there = [pod(f"low{each}", on="n1", cpu="1", priority=1, started=EARLY) for each in range(4)]
    node_name, victims = sacrifice(pod("vip", cpu="2", priority=10), world([node("n1", cpu="4")], there))
    assert (node_name, len(victims)) == ("n1", 2)


def test_a_pod_that_makes_no_difference_is_spared() -> None:
    there = [pod("big", on="n1", cpu="3", priority=1), pod("small", on="n1", cpu="1", priority=0)]
    assert sacrifice(pod("vip", cpu="2", priority=10), world([node("n1", cpu="4")], there)) == ("n1", ["big"])


def test_the_less_important_go_first() -> None:
    there = [pod("mid", on="n1", cpu="1", priority=5), pod("low", on="n1", cpu="1", priority=1)]
    assert sacrifice(pod("vip", cpu="1", priority=10), world([node("n1", cpu="2")], there)) == ("n1", ["low"])


def test_of_equals_the_one_that_has_run_longer_stays() -> None:
    there = [pod("old", on="n1", cpu="1", started=EARLY), pod("new", on="n1", cpu="1", started=LATE)]
    assert sacrifice(pod("vip", cpu="1", priority=1), world([node("n1", cpu="2")], there)) == ("n1", ["new"])


def test_equal_and_higher_priorities_never_go() -> None:
    landscape = world([node("n1", cpu="1")], [pod("peer", on="n1", cpu="1", priority=10)])
    assert refusal(pod("vip", cpu="1", priority=10), landscape).message == (
        "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
    )


def test_a_node_that_would_not_do_even_then_is_told_why() -> None:
    there = [pod("peer", on="n1", cpu="3", priority=10), pod("low", on="n1", cpu="1")]
    assert refusal(pod("vip", cpu="2", priority=10), world([node("n1", cpu="4")], there)).message == (
        "preemption: 0/1 nodes are available: 1 Insufficient cpu."
    )


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ([("a", 9, "1", EARLY)], [("b", 2, "1", EARLY)], "n2"),  # the lower highest priority
        ([("a", 2, "500m", EARLY), ("c", 2, "500m", EARLY)], [("b", 2, "1", EARLY)], "n2"),  # fewer of them
        ([("a", 2, "1", EARLY)], [("b", 2, "1", LATE)], "n2"),  # the shorter run
        ([("a", 2, "1", LATE)], [("b", 2, "1", EARLY)], "n1"),
        ([("a", 2, "1", EARLY)], [("b", 2, "1", EARLY)], "n1"),  # by name
    ],
)
def test_the_node_with_the_smallest_harm_is_cleared(
    left: list[tuple[str, int, str, str]], right: list[tuple[str, int, str, str]], expected: str
) -> None:
    there = [
        pod(name, on=on, cpu=cpu, priority=priority, started=started)
        for on, group in (("n1", left), ("n2", right))
        for name, priority, cpu, started in group
    ]
    landscape = world([node("n1", cpu="1"), node("n2", cpu="1")], there)
    assert sacrifice(pod("vip", cpu="1", priority=10), landscape)[0] == expected


def test_a_budget_is_kept_where_it_can_be() -> None:
    there = [
        pod("guarded", on="n1", cpu="1", priority=1, labels={"app": "g"}),
        pod("free", on="n2", cpu="1", priority=5, labels={"app": "f"}),
    ]
    landscape = world([node("n1", cpu="1"), node("n2", cpu="1")], there)
    vip = pod("vip", cpu="1", priority=10)
    assert sacrifice(vip, landscape, [budget("b", 0, app="g")]) == ("n2", ["free"])
    assert sacrifice(vip, landscape, [budget("b", 1, app="g")]) == ("n1", ["guarded"])


def test_on_one_node_those_whose_budget_is_spent_are_spared_first() -> None:
    there = [
        pod("guarded", on="n1", cpu="1", priority=1, labels={"app": "g"}),
        pod("free", on="n1", cpu="1", priority=5, labels={"app": "f"}),
    ]
    landscape = world([node("n1", cpu="2")], there)
    assert sacrifice(pod("vip", cpu="1", priority=10), landscape, [budget("b", 0, app="g")]) == ("n1", ["free"])


def test_a_host_port_is_taken_from_who_has_it() -> None:
    there = [pod("bystander", on="n1"), pod("holder", on="n1", port=80)]
    assert sacrifice(pod("vip", port=80, priority=1), world([node("n1")], there)) == ("n1", ["holder"])


def test_who_refuses_the_pod_as_a_neighbour_has_to_go() -> None:
    hermit = pod("hermit", on="n1", affinity=must("podAntiAffinity", near(HOSTNAME, app="vip")))
    landscape = world([node("n1")], [hermit, pod("other", on="n1")])
    assert sacrifice(pod("vip", priority=1, labels={"app": "vip"}), landscape) == ("n1", ["hermit"])


def test_while_victims_are_on_their_way_out_nobody_else_has_to_go() -> None:
    leaving = pod(
        "victim",
        on="n1",
        cpu="1",
        metadata={"deletionTimestamp": LATE},
        status={"conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}]},
    )
    vip = pod("vip", cpu="1", priority=10, status={"nominatedNodeName": "n1"})
    landscape = world([node("n1", cpu="1"), node("n2", cpu="1")], [leaving, pod("low", on="n2", cpu="1"), vip])
    assert refusal(vip, landscape) == NoSacrifice(
        "preemption: not eligible due to a terminating pod on the nominated node.", keeps_nomination=True
    )


def test_a_pinned_pod_clears_its_own_node_only() -> None:
    there = [pod("a", on="n1", cpu="1", priority=5), pod("b", on="n2", cpu="1")]
    landscape = world([node("n1", cpu="1"), node("n2", cpu="1")], there)
    assert sacrifice(pod("vip", cpu="1", priority=10, pinned_to=["n1"]), landscape) == ("n1", ["a"])


def test_what_is_found_is_said_in_the_words_of_the_reference() -> None:
    landscape = world([node("n1", cpu="1")], [pod("low", on="n1", cpu="1")])
    vip = pod("vip", cpu="1", priority=10)
    outcome = place(vip, landscape)
    assert isinstance(outcome, Diagnosis)
    assert outcome.message(preempt(vip, landscape, outcome).message) == (
        "0/1 nodes are available: 1 Insufficient cpu. "
        "preemption: found a potential placement for pod on node n1, preempting 1 victims"
    )
