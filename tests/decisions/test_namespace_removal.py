"""What a namespace that is being removed says about itself."""

from __future__ import annotations

from eachnode.decisions.namespace_removal import Remains, conditions
from eachnode.objects.meta import Metadata
from eachnode.objects.resources import CONFIG_MAPS, DAEMON_SETS

THEN, NOW = "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"


def test_an_empty_namespace_may_go_and_all_its_conditions_are_false() -> None:
    remains = Remains({CONFIG_MAPS: []})
    assert remains.is_empty
    assert {each["status"] for each in conditions(remains, [], NOW)} == {"False"}


def test_what_remains_and_what_holds_it_is_told_in_the_words_of_the_reference() -> None:
    held = Metadata(name="held", finalizers=("example.com/hold",))
    remains = Remains({CONFIG_MAPS: [held, held], DAEMON_SETS: [Metadata(name="d")]})
    assert not remains.is_empty
    told = {each["type"]: (each["reason"], each["message"]) for each in conditions(remains, [], NOW)}
    assert told["NamespaceContentRemaining"] == (
        "SomeResourcesRemain",
        "Some resources are remaining: configmaps. has 2 resource instances, daemonsets.apps has 1 resource instances",
    )
    assert told["NamespaceFinalizersRemaining"] == (
        "SomeFinalizersRemain",
        "Some content in the namespace has finalizers remaining: example.com/hold in 2 resource instances",
    )
    assert told["NamespaceDeletionContentFailure"][0] == "ContentDeleted"


def test_a_failure_keeps_the_namespace() -> None:
    remains = Remains({}, failures=("no",))
    assert not remains.is_empty
    told = {each["type"]: each for each in conditions(remains, [], NOW)}
    assert told["NamespaceDeletionContentFailure"]["status"] == "True"


def test_the_time_of_transition_changes_with_the_status_only() -> None:
    before = conditions(Remains({}), [], THEN)
    after = {each["type"]: each for each in conditions(Remains({CONFIG_MAPS: [Metadata()]}), before, NOW)}
    assert after["NamespaceContentRemaining"]["lastTransitionTime"] == NOW
    assert after["NamespaceDeletionContentFailure"]["lastTransitionTime"] == THEN
