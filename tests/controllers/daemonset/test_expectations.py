"""What we have done and not yet seen."""

from __future__ import annotations

import pytest

from eachnode.controllers.daemonset.expectations import Expectations, Versions
from eachnode.objects.meta import Key

A, B = Key("ns", "a"), Key("ns", "b")


@pytest.mark.behaviour(71)
def test_expectations_are_met_when_nothing_is_open_or_when_they_are_too_old() -> None:
    expected = Expectations(patience=300)
    assert expected.satisfied(0)
    expected.begin(100)
    assert expected.satisfied(100)
    expected.creates.add(A)
    assert not expected.satisfied(100)
    assert not expected.satisfied(400)
    assert expected.satisfied(400.1)


@pytest.mark.behaviour(70)
def test_a_new_pass_overwrites_what_the_last_one_expected() -> None:
    expected = Expectations(patience=300)
    expected.begin(0)
    expected.creates.add(A)
    expected.deletes.add("uid")
    expected.begin(10)
    assert expected.satisfied(10)


@pytest.mark.behaviour(80)
def test_a_pod_that_comes_or_leaves_is_seen() -> None:
    expected = Expectations(patience=300)
    expected.creates |= {A, B}
    expected.deletes.add("uid-c")
    expected.saw(A, "uid-a", leaving=False)
    assert expected.creates == {B}
    expected.saw(Key("ns", "c"), "uid-c", leaving=False)
    assert expected.deletes == {"uid-c"}
    expected.saw(Key("ns", "c"), "uid-c", leaving=True)
    assert not expected.deletes


@pytest.mark.behaviour(81)
def test_one_pod_that_leaves_counts_once_however_often_it_is_seen() -> None:
    expected = Expectations(patience=300)
    expected.deletes |= {"uid-a", "uid-b"}
    for _ in range(3):
        expected.saw(A, "uid-a", leaving=True)
    assert not expected.satisfied(0)
    expected.saw(B, "uid-b", leaving=True)
    assert expected.satisfied(0)


@pytest.mark.behaviour(193, 194)
def test_a_cache_is_behind_until_it_has_come_as_far_as_our_last_write() -> None:
    versions = Versions()
    assert versions.behind(lambda _: "1") == ""
    versions.wrote("pods", "10")
    versions.wrote("pods", "100")
    versions.wrote("pods", "99")
    assert versions.behind(lambda _: "99") == "pods"
    assert versions.behind(lambda _: "9" * 40) == ""
    assert versions.behind(lambda _: "1") == ""  # Once satisfied, the record is dropped.
    versions.wrote("pods", "10")
    assert versions.behind(lambda _: "") == ""
    versions.wrote("pods", "not a number")
    assert versions.behind(lambda _: "1") == ""
    versions.wrote("pods", "10")
    versions.wrote("daemonsets", "20")
    assert versions.behind({"pods": "15", "daemonsets": "15"}.__getitem__) == "daemonsets"
