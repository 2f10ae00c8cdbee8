"""What a command is about, in all the ways kubectl lets one write it."""

from __future__ import annotations

import pytest

from eachnode.cli.failures import Failure
from eachnode.cli.targets import Target, nearest, parse_daemonsets, parse_kind, parse_target, parse_targets
from eachnode.objects.resources import CONTROLLER_REVISIONS, DAEMON_SETS, NODES, PODS


@pytest.mark.parametrize("word", ["ds", "daemonset", "daemonsets", "DaemonSet", "daemonset.apps", "daemonsets.v1.apps"])
def test_a_kind_has_many_names(word: str) -> None:
    assert parse_kind(word) is DAEMON_SETS


def test_revisions_is_short_for_controllerrevisions() -> None:
    assert parse_kind("revisions") is CONTROLLER_REVISIONS
    assert parse_kind("controllerrevision") is CONTROLLER_REVISIONS


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("ds/x", [Target(DAEMON_SETS, "x")]),
        ("x", [Target(DAEMON_SETS, "x")]),
        ("ds x y", [Target(DAEMON_SETS, "x"), Target(DAEMON_SETS, "y")]),
        ("po/a no/b", [Target(PODS, "a"), Target(NODES, "b")]),
    ],
)
def test_words_name_objects(words: str, meant: list[Target]) -> None:
    assert parse_targets(words.split()) == meant


def test_both_ways_at_once_are_refused() -> None:
    with pytest.raises(Failure, match="either ds NAME… or ds/NAME…, not both"):
        parse_targets(["ds", "ds/x"])


@pytest.mark.parametrize("word", ["", "/x", "ds/"])
def test_what_names_nothing_is_refused(word: str) -> None:
    with pytest.raises(Failure, match="names nothing; write ds/NAME"):
        parse_target(word)


def test_another_kind_is_no_daemonset() -> None:
    with pytest.raises(Failure, match="Pod x is no DaemonSet; write ds/NAME"):
        parse_daemonsets(["pods", "x"])


@pytest.mark.parametrize(
    ("name", "meant"),
    [("fluentt", "fluentd"), ("expo", "node-exporter"), ("ex", ""), ("zzz", ""), ("fluentd", "fluentd")],
)
def test_the_nearest_name_is_spelled_alike_or_longer(name: str, meant: str) -> None:
    assert nearest(name, ["fluentd", "node-exporter", "fluentd-2"]) == meant
