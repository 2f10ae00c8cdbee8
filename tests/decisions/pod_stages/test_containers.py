"""What a pod's status tells of its containers, in the words of a kubelet."""

from __future__ import annotations

from typing import Any

import pytest

from eachnode.decisions.pod_stages.stages import Outcome
from eachnode.decisions.pod_stages.states import PodState, state_of
from tests.decisions.pod_stages.pods import LATER, PLACE, pod, walk

INIT = {"name": "init", "image": "i:1"}
SIDECAR = {"name": "side", "image": "i:1", "restartPolicy": "Always"}
STARTED = {"running": {"startedAt": PLACE.now}}


def containers(status: dict[str, Any], kind: str = "containerStatuses") -> dict[str, Any]:
    return {each["name"]: each for each in status[kind]}


def condition(status: dict[str, Any], kind: str) -> tuple[str, str, str]:
    (found,) = (each for each in status["conditions"] if each["type"] == kind)
    return found["status"], found.get("reason") or "", found.get("message") or ""


def reasons(status: dict[str, Any], kind: str = "containerStatuses") -> dict[str, str]:
    states = {name: each["state"] for name, each in containers(status, kind).items()}
    return {name: state.get("waiting", {}).get("reason", "") for name, state in states.items()}


def test_a_pod_with_init_containers_is_initializing_until_they_are_done() -> None:
    status = walk(PodState.CREATING, initContainers=[SIDECAR, INIT])
    assert reasons(status) == {"c": "PodInitializing"}
    assert reasons(status, "initContainerStatuses") == {"side": "PodInitializing", "init": "PodInitializing"}
    assert condition(status, "Initialized") == (
        "False",
        "ContainersNotInitialized",
        "containers with incomplete status: [side init]",
    )
    assert condition(status, "Ready") == ("False", "ContainersNotReady", "containers with unready status: [side c]")
    assert reasons(walk(PodState.CREATING)) == {"c": "ContainerCreating"}


def test_init_containers_end_sidecars_run_on_and_neither_starts_again_when_the_pod_becomes_ready() -> None:
    status = walk(PodState.STARTED, PodState.READY, initContainers=[INIT, SIDECAR])
    init = containers(status, "initContainerStatuses")
    ended = init["init"]["state"]["terminated"]
    assert (ended["exitCode"], ended["reason"], ended["finishedAt"]) == (0, "Completed", PLACE.now)
    assert ended["containerID"] == init["init"]["containerID"]
    assert init["side"]["state"] == STARTED
    assert init["side"]["ready"]
    assert containers(status)["c"]["state"] == STARTED
    assert condition(status, "Initialized") == condition(status, "Ready") == ("True", "", "")


@pytest.mark.parametrize(
    ("state", "reason"), [(PodState.PULL_FAILED, "ErrImagePull"), (PodState.PULL_BACK_OFF, "ImagePullBackOff")]
)
def test_an_init_container_whose_image_is_nowhere_holds_all_that_come_after_it(state: PodState, reason: str) -> None:
    bad = {"name": "bad", "image": "x:no-such"}
    spec: dict[str, Any] = {"initContainers": [INIT, bad, SIDECAR]}
    status = walk(PodState.CREATING, state, **spec)
    assert reasons(status, "initContainerStatuses") == {"init": "", "bad": reason, "side": "PodInitializing"}
    assert containers(status, "initContainerStatuses")["init"]["ready"]
    assert reasons(status) == {"c": "PodInitializing"}
    assert state_of(pod(status, **spec)) is state


def test_beside_a_container_whose_image_is_nowhere_the_others_run() -> None:
    both = {"containers": [{"name": "good", "image": "i:1"}, {"name": "bad", "image": "x:no-such"}]}
    status = walk(PodState.PULL_FAILED, PodState.PULL_BACK_OFF, **both)
    assert status["phase"] == "Pending"
    assert containers(status)["good"]["state"] == STARTED
    assert reasons(status)["bad"] == "ImagePullBackOff"
    assert condition(status, "Ready")[2] == "containers with unready status: [bad]"


def test_a_crash_is_told_with_start_and_end_and_the_restart_with_how_it_ended() -> None:
    crashed = walk(PodState.READY, Outcome(PodState.CRASHED, 3, "Error", "out of luck"))
    ended = containers(crashed)["c"]["state"]["terminated"]
    assert (ended["startedAt"], ended["finishedAt"], ended["message"]) == (PLACE.now, LATER.now, "out of luck")
    crash = Outcome(PodState.CRASHED, 3)
    waits = walk(PodState.READY, crash, PodState.CRASH_BACK_OFF)
    assert containers(waits)["c"]["state"]["waiting"] == {
        "reason": "CrashLoopBackOff",
        "message": "back-off 10s restarting failed container=c pod=p_n(u)",
    }
    again = walk(PodState.READY, crash, PodState.CRASH_BACK_OFF, PodState.STARTED, PodState.READY)
    assert containers(again)["c"]["restartCount"] == 1
    last = containers(again)["c"]["lastState"]["terminated"]
    assert last["exitCode"] == 3
    assert last["containerID"] != containers(again)["c"]["containerID"]
    thrice: list[PodState | Outcome] = [crash, PodState.CRASH_BACK_OFF, PodState.STARTED] * 3
    often = walk(PodState.READY, *thrice, crash, PodState.CRASH_BACK_OFF)
    assert "back-off 1m20s restarting" in containers(often)["c"]["state"]["waiting"]["message"]


def test_a_crash_leaves_sidecars_running() -> None:
    status = walk(PodState.READY, PodState.CRASHED, PodState.CRASH_BACK_OFF, initContainers=[SIDECAR])
    assert containers(status, "initContainerStatuses")["side"]["state"] == STARTED
    assert condition(status, "Initialized")[0] == "True"


def test_a_reboot_starts_everything_once_more_without_a_pause() -> None:
    lost = Outcome(PodState.INTERRUPTED, 255, "Unknown")
    spec: dict[str, Any] = {"initContainers": [INIT, SIDECAR]}
    down = walk(PodState.READY, lost, **spec)
    assert down["phase"] == "Running"
    assert state_of(pod(down, **spec)) is PodState.INTERRUPTED
    up = walk(PodState.READY, lost, PodState.READY, **spec)
    assert containers(up)["c"]["restartCount"] == 1
    assert containers(up)["c"]["lastState"]["terminated"]["exitCode"] == 255
    init = containers(up, "initContainerStatuses")
    assert (init["side"]["restartCount"], init["init"]["restartCount"]) == (1, 0)
    again = walk(PodState.READY, lost, PodState.STARTED, PodState.READY, **spec)
    assert containers(again)["c"]["restartCount"] == 1


def test_a_pod_that_is_over_says_how_it_ended_and_how_often_it_had_been_started() -> None:
    over = Outcome(PodState.OVER, 7, "Error", "gone", "Failed")
    status = walk(PodState.READY, PodState.CRASHED, PodState.CRASH_BACK_OFF, PodState.STARTED, over)
    assert (status["phase"], status["message"]) == ("Failed", "gone")
    assert containers(status)["c"]["restartCount"] == 1
    assert containers(status)["c"]["state"]["terminated"]["exitCode"] == 7
    assert condition(status, "Ready") == condition(status, "ContainersReady") == ("False", "PodFailed", "")
    done = walk(PodState.READY, Outcome(PodState.OVER, phase="Succeeded"))
    assert containers(done)["c"]["state"]["terminated"]["reason"] == "Completed"
    assert condition(done, "Initialized") == ("True", "PodCompleted", "")


def test_a_readiness_gate_keeps_a_pod_from_being_ready_until_it_opens() -> None:
    gated: dict[str, Any] = {"readinessGates": [{"conditionType": "example.com/fed"}]}
    closed = walk(PodState.READY, **gated)
    missing = 'corresponding condition of pod readiness gate "example.com/fed" does not exist.'
    assert condition(closed, "Ready") == ("False", "ReadinessGatesNotReady", missing)
    assert condition(closed, "ContainersReady")[0] == "True"
    assert state_of(pod(closed, **gated)) is PodState.STARTED
    opened = {**closed, "conditions": [*closed["conditions"], {"type": "example.com/fed", "status": "True"}]}
    assert pod(opened, **gated).closed_gates == ()


def test_the_generation_that_was_seen_is_told() -> None:
    status = walk(PodState.READY, metadata={"generation": 4})
    assert status["observedGeneration"] == 4
    assert {each["observedGeneration"] for each in status["conditions"] if each["type"] != "PodScheduled"} == {4}
