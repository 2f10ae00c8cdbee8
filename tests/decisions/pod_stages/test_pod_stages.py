"""The life of a simulated pod."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from eachnode.controllers.kubelet.options import KubeletOptions
from eachnode.decisions.pod_stages.stages import (
    Delay,
    InvalidStages,
    Outcome,
    choose,
    read_delay,
    read_stages,
    seconds_until,
)
from eachnode.decisions.pod_stages.states import PodState, state_of
from eachnode.decisions.pod_stages.status import status_after
from eachnode.decisions.pod_stages.view import SimulatedNode, SimulatedPod
from tests.decisions.pod_stages.pods import PLACE, pod

NODE = msgspec.convert({"metadata": {"name": "node-1", "labels": {"zone": "b"}}}, SimulatedNode)


def lead(state: PodState, status: dict[str, Any] | None = None, **changes: Any) -> SimulatedPod:
    """The pod after a stage that leads to this state."""
    return pod(status_after(pod(status, **changes), Outcome(state), PLACE), **changes)


@pytest.mark.parametrize(
    "state",
    [
        PodState.CREATING,
        PodState.STARTED,
        PodState.READY,
        PodState.CRASHED,
        PodState.CRASH_BACK_OFF,
        PodState.OVER,
    ],
)
def test_the_status_of_a_state_is_read_back_as_that_state(state: PodState) -> None:
    assert state_of(lead(state)) is state


@pytest.mark.parametrize("state", [PodState.PULL_FAILED, PodState.PULL_BACK_OFF])
def test_a_failed_pull_is_told_of_the_container_whose_image_is_missing(state: PodState) -> None:
    assert state_of(lead(state, image="x:no-such")) is state


def test_a_pod_without_a_start_is_bound_and_a_deleted_one_is_leaving() -> None:
    assert state_of(pod()) is PodState.BOUND
    assert state_of(pod(metadata={"deletionTimestamp": PLACE.now})) is PodState.LEAVING


def test_a_ready_pod_has_an_address_and_true_conditions() -> None:
    status = status_after(pod(), Outcome(PodState.READY), PLACE)
    assert status["phase"] == "Running"
    assert status["podIP"] == PLACE.pod_ip
    assert {each["type"]: each["status"] for each in status["conditions"]}["Ready"] == "True"
    assert status["containerStatuses"][0]["ready"] is True


def test_restarting_counts_and_remembers_how_the_container_ended() -> None:
    crashed = status_after(lead(PodState.READY), Outcome(PodState.CRASHED, exit_code=3), PLACE)
    waiting = status_after(pod(_with_start(crashed)), Outcome(PodState.CRASH_BACK_OFF), PLACE)
    started = status_after(pod(_with_start(waiting)), Outcome(PodState.STARTED), PLACE)
    (container,) = started["containerStatuses"]
    assert container["restartCount"] == 1
    assert container["lastState"]["terminated"]["exitCode"] == 3


def _with_start(status: dict[str, Any]) -> dict[str, Any]:
    """What a server makes of the patch: nulls are gone, and the start stays."""
    conditions = [{key: value for key, value in each.items() if value is not None} for each in status["conditions"]]
    return {"startTime": PLACE.now, **status, "conditions": conditions}


def test_the_built_in_stages_lead_every_pod_to_ready_and_out_again() -> None:
    for timing in ("instant", "lifelike"):
        layers = KubeletOptions(timing=timing).layers
        subject, seen = pod(), []
        while (stage := choose(layers, subject, state_of(subject), NODE, 0.5)) is not None:
            seen.append(stage.next.state)
            subject = pod(_with_start(status_after(subject, stage.next, PLACE)))
        assert seen[-1] is PodState.READY
        leaving = pod(metadata={"deletionTimestamp": PLACE.now})
        assert choose(layers, leaving, state_of(leaving), NODE, 0.5) is not None


def test_instant_stages_wait_for_nothing_even_where_a_probe_would() -> None:
    layers = KubeletOptions(timing="instant").layers
    slow = pod(container={"readinessProbe": {"initialDelaySeconds": 60}})
    stage = choose(layers, slow, PodState.BOUND, NODE, 0.9)
    assert stage is not None
    assert seconds_until(stage, slow, 0, 0.9) == 0


def test_lifelike_readiness_takes_its_probe() -> None:
    layers = KubeletOptions(timing="lifelike").layers
    slow = pod(container={"readinessProbe": {"initialDelaySeconds": 7, "periodSeconds": 3}})
    stage = choose(layers, slow, PodState.STARTED, NODE, 0.0)
    assert stage is not None
    assert 7 <= seconds_until(stage, slow, 0, 0.5) <= 9


def test_stopping_takes_the_hook_but_never_more_than_the_grace() -> None:
    hook = {"lifecycle": {"preStop": {"exec": {"command": ["sh", "-c", "sleep 15"]}}}}
    stage = read_stages({"stages": [_line("leaving", "over", "termination")]})[0]
    assert seconds_until(stage, pod(container=hook), 0, 0.0) == 15
    assert seconds_until(stage, pod(container=hook, terminationGracePeriodSeconds=4), 0, 0.0) == 4


def test_back_off_doubles_up_to_five_minutes() -> None:
    stage = read_stages({"stages": [_line("pull-back-off", "pull-failed", "pull-back-off")]})[0]
    assert [seconds_until(stage, pod(), failures, 0.0) for failures in (1, 2, 3, 9)] == [10, 20, 40, 300]


def _line(state: str, following: str, delay: str = "0s", **more: Any) -> dict[str, Any]:
    when = {"state": state, **more.pop("when", {})}
    return {"name": "x", "when": when, "next": following, "delay": delay, **more}


def test_a_users_stage_lies_over_the_built_in_ones_where_it_fits() -> None:
    chaos = read_stages({"stages": [_line("bound", "over", when={"nodeLabels": {"zone": "b"}})]})
    layers = KubeletOptions(chaos=(chaos,)).layers
    here = choose(layers, pod(), PodState.BOUND, NODE, 0.5)
    elsewhere = msgspec.convert({"metadata": {"name": "node-2"}}, SimulatedNode)
    there = choose(layers, pod(), PodState.BOUND, elsewhere, 0.5)
    assert here is not None
    assert here.next.state is PodState.OVER
    assert there is not None
    assert there.next.state is PodState.READY


def test_a_share_means_about_that_many_nodes_and_always_the_same() -> None:
    layer = read_stages({"stages": [_line("ready", "crashed", when={"share": "10%"})]})
    nodes = [msgspec.convert({"metadata": {"name": f"node-{number}"}}, SimulatedNode) for number in range(1000)]

    def hit() -> list[str]:
        return [each.name for each in nodes if choose([layer], pod(), PodState.READY, each, 0.5) is not None]

    assert 60 < len(hit()) < 140
    assert hit() == hit()


def test_weights_share_out_the_roll() -> None:
    lines = [_line("ready", "crashed", weight=3), _line("ready", "over", weight=1)]
    layer = read_stages({"stages": lines})
    rolls = [choose([layer], pod(), PodState.READY, NODE, roll / 100) for roll in range(100)]
    assert sum(stage is not None and stage.next.state is PodState.CRASHED for stage in rolls) == 75


@pytest.mark.parametrize(
    ("text", "delay"),
    [
        ("3s", Delay(3, 3)),
        ("500ms..2s", Delay(0.5, 2)),
        ("readiness", Delay(special="readiness")),
        ("1s..2s + termination", Delay(1, 2, "termination")),
        (4, Delay(4, 4)),
    ],
)
def test_delays_are_written_as_people_write_them(text: str | int, delay: Delay) -> None:
    assert read_delay(text) == delay


@pytest.mark.parametrize(
    ("tree", "sentence"),
    [
        ([], "a list named 'stages'"),
        ({"stages": [{"name": "x"}]}, "stage 1"),
        ({"stages": [_line("ready", "nowhere")]}, "stage 1"),
        ({"stages": [_line("ready", "over", delay="soon")]}, "a delay is written like"),
        ({"stages": [_line("ready", "over", when={"share": "often"})]}, "a share is written like 2%"),
        ({"stages": [_line("ready", "over", when={"mood": "bad"})]}, "mood"),
    ],
)
def test_a_wrong_stage_file_is_refused_with_a_sentence(tree: Any, sentence: str) -> None:
    with pytest.raises(InvalidStages, match=sentence):
        read_stages(tree)
