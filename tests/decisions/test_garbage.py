"""What becomes of objects whose owners are gone or going."""

from __future__ import annotations

import pytest

from eachnode.decisions.garbage import (
    Delete,
    GarbageMetadata,
    Keep,
    Owned,
    OwnerState,
    Release,
    holds_back,
    judge_dependent,
)
from eachnode.objects.meta import OwnerReference

STAYS, WAITS, ABSENT = OwnerState.STAYS, OwnerState.WAITS, OwnerState.ABSENT


def owned(*uids: str, block: bool = True, going: bool = False, finalizers: tuple[str, ...] = ()) -> Owned:
    owners = tuple(OwnerReference(kind="DaemonSet", name=uid, uid=uid, block_owner_deletion=block) for uid in uids)
    deleted = "2026-01-01T00:00:00Z" if going else None
    return Owned(
        metadata=GarbageMetadata(
            name="x", uid="x", owner_references=owners, deletion_timestamp=deleted, finalizers=finalizers
        )
    )


def test_an_object_stays_while_its_owner_stays() -> None:
    assert judge_dependent(owned("a"), {"a": STAYS}, []) == Keep()


@pytest.mark.behaviour(182)
def test_an_object_goes_in_the_background_when_its_last_owner_is_gone() -> None:
    decision = judge_dependent(owned("a", "b"), {"a": ABSENT, "b": ABSENT}, [])
    assert isinstance(decision, Delete)
    assert decision.propagation == "Background"
    assert decision.because == "its owner DaemonSet a is gone, DaemonSet b is gone"


def test_an_object_with_another_owner_is_only_released() -> None:
    decision = judge_dependent(owned("a", "b"), {"a": ABSENT, "b": STAYS}, [])
    assert isinstance(decision, Release)
    assert decision.uids == ("a",)


@pytest.mark.parametrize(
    ("has_dependents", "finalizers", "propagation"),
    [
        (True, (), "Foreground"),
        (False, (), "Background"),
        (False, ("orphan",), "Orphan"),
        (False, ("foregroundDeletion",), "Foreground"),
    ],
)
def test_a_waited_for_object_hands_the_wait_on_to_its_own_dependents(
    has_dependents: bool, finalizers: tuple[str, ...], propagation: str
) -> None:
    dependents = [owned("x")] if has_dependents else []
    decision = judge_dependent(owned("a", finalizers=finalizers), {"a": WAITS}, dependents)
    assert isinstance(decision, Delete)
    assert decision.propagation == propagation


@pytest.mark.parametrize("finalizers", [(), ("foregroundDeletion",)])
def test_an_object_that_goes_already_is_left_to_its_finalizers(finalizers: tuple[str, ...]) -> None:
    going = owned("a", "b", going=True, finalizers=finalizers)
    assert judge_dependent(going, {"a": ABSENT, "b": STAYS}, []) == Keep()


@pytest.mark.parametrize("waits", [False, True])
def test_an_object_in_a_circle_of_owners_holds_none_of_them_back_any_more(waits: bool) -> None:
    dependent = owned("x", going=True, finalizers=("foregroundDeletion",) if waits else ())
    decision = judge_dependent(owned("a"), {"a": WAITS}, [dependent])
    assert isinstance(decision, Delete)
    assert (decision.propagation, decision.unblocks) == ("Foreground", waits)


@pytest.mark.behaviour(183)
def test_an_owner_waits_for_dependents_that_hold_it_back_and_for_no_others() -> None:
    assert holds_back(owned("a", block=True), "a")
    assert not holds_back(owned("a", block=False), "a")
    assert not holds_back(owned("b", block=True), "a")
