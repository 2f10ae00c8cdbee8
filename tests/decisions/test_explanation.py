"""Whatever an explanation says is so: what runs, runs, and a reason that is taken away is given no more."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest
from hypothesis import Phase, event, given, settings
from hypothesis import strategies as st

from eachnode.decisions import explanation, explanation_of_rollouts
from eachnode.decisions.explanation import Scene, explain_fleet, replay_failures
from eachnode.decisions.explanation_views import NodeTold, PodTold, Word
from eachnode.decisions.explanation_words import Answer, Kind, Reason
from eachnode.decisions.plan import decide
from eachnode.decisions.scheduling import Fact, Holder, host_ports, survey
from eachnode.decisions.slots import Slot, State
from eachnode.objects.clock import timestamp
from eachnode.objects.daemonset import DaemonSet
from eachnode.objects.node import Node
from eachnode.objects.pod import Pod
from eachnode.objects.workload import HostPort, WorkloadPod
from tests.decisions.test_properties import often as sometimes
from tests.decisions.test_properties import owners
from tests.decisions.world import NEW, NO_HISTORY, OLD, START, daemonset, fleet_of, node, pod, rolling

Tree = dict[str, Any]

often = settings(sometimes, max_examples=500)

RUNS: Tree = {"state": {"running": {"startedAt": timestamp(START - 30)}}}
CRASHES: Tree = {
    "state": {"waiting": {"reason": "CrashLoopBackOff"}},
    "lastState": {"terminated": {"exitCode": 3, "reason": "Error", "finishedAt": timestamp(START - 7)}},
    "restartCount": 4,
}
RUNS_AGAIN: Tree = {**CRASHES, "state": {"running": {"startedAt": timestamp(START - 5)}}}
NO_IMAGE: Tree = {"state": {"waiting": {"reason": "ImagePullBackOff", "message": "not found"}}}
PULLS: Tree = {"state": {"waiting": {"reason": "ContainerCreating"}}}
NO_CONFIG: Tree = {"state": {"waiting": {"reason": "CreateContainerConfigError", "message": 'secret "s" not found'}}}
CONTAINERS: dict[str, tuple[Tree, Kind]] = {
    "crashes": (CRASHES, Kind.CRASHING),
    "no image": (NO_IMAGE, Kind.IMAGE),
    "pulls": (PULLS, Kind.PULLING),
    "no config": (NO_CONFIG, Kind.BLOCKED),
    "runs": (RUNS, Kind.STARTING),
    "runs between crashes": (RUNS_AGAIN, Kind.CRASHING),
}


@dataclass
class Ground:
    """All that an explanation is made from; change something, and ask again."""

    owner: DaemonSet
    nodes: Mapping[str, Node]
    pods: Iterable[Pod]
    containers: dict[str, str] = field(default_factory=dict)  # By pod uid: how its container is doing.
    dark: set[str] = field(default_factory=set)  # Nodes that are not ready.
    now: float = START

    @property
    def scene(self) -> Scene:
        fleet = fleet_of(self.owner, self.nodes.values(), self.pods, now=self.now)
        told = {each.uid: pod_told(each, self.containers.get(each.uid)) for each in self.pods}
        nodes = {name: node_told(each, ready=name not in self.dark) for name, each in self.nodes.items()}
        landscape = survey(nodes.values(), told.values())
        return Scene(self.owner, fleet, NO_HISTORY, self.now, nodes, told, landscape)

    @property
    def answers(self) -> dict[str, Answer]:
        return {answer.node: answer for answer in explain_fleet(self.scene)}


def pod_told(given: Pod, container: str | None = None, status: Tree | None = None, **spec: Any) -> PodTold:
    """The pod with what else it tells of itself."""
    statuses = [{"name": "c", "image": "i:1", **CONTAINERS[container][0]}] if container else []
    tree = {
        "metadata": msgspec.to_builtins(given.metadata),
        "spec": {"nodeName": given.spec.node_name, "containers": [{"name": "c"}], **spec},
        "status": {"phase": given.status.phase, "containerStatuses": statuses, **(status or {})},
    }
    if not given.spec.node_name and given.spec.pin:
        terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [given.spec.pin]}]}]
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
        tree["spec"]["affinity"] = {"nodeAffinity": required}
    return msgspec.json.decode(msgspec.json.encode(tree), type=PodTold)


def node_told(given: Node, *, ready: bool = True, **allocatable: str) -> NodeTold:
    """The node with its condition and its size."""
    condition = {"type": "Ready", "status": str(ready), "lastTransitionTime": timestamp(START - 60)}
    tree = {
        "metadata": msgspec.to_builtins(given.metadata),
        "spec": msgspec.to_builtins(given.spec),
        "status": {"conditions": [condition], "allocatable": {"pods": "110", "cpu": "4", **allocatable}},
    }
    return msgspec.json.decode(msgspec.json.encode(tree), type=NodeTold)


# What lives on a node: revision, phase, ready (or since when), going, bound; several pods for some.
OCCUPANTS: tuple[tuple[Tree, ...], ...] = (
    ({"revision": NEW, "ready": START - 60},),
    ({"revision": OLD, "ready": START - 60},),
    ({"revision": NEW, "ready": START - 4},),
    ({"revision": NEW, "ready": False},),
    ({"revision": OLD, "ready": False},),
    ({"revision": NEW, "ready": False, "bound": False, "phase": "Pending"},),
    ({"revision": NEW, "ready": False, "phase": "Failed"},),
    ({"revision": NEW, "going": True},),
    ({"revision": OLD, "ready": START - 60}, {"revision": NEW, "ready": False}),
    ({"revision": NEW, "ready": START - 60}, {"revision": NEW, "ready": False}),
    (),
)
TAINTS: tuple[list[str], ...] = ([], [], [], ["a:NoSchedule"], ["a:NoExecute"], ["b=c:NoSchedule", "a:NoExecute"])
cells = st.tuples(
    st.sampled_from(TAINTS), st.sampled_from(["x", "x", "y", ""]), st.sampled_from(OCCUPANTS), st.booleans()
)


def peopled(owner: DaemonSet, chosen: list[tuple[Any, ...]], containers: list[str | None]) -> Ground:
    """Four nodes that exist and a fifth that does not, with what was chosen for each."""
    ground = Ground(owner, {}, [])
    for number, (taints, zone, occupants, dark) in enumerate(chosen):
        name = f"n{number}"
        if number < 4:
            ground.nodes = {**ground.nodes, name: node(name, taints, **({"zone": zone} if zone else {}))}
        ground.dark |= {name} if dark and number % 2 else set()
        pods = [pod(f"p{number}{place}", name, made=START - 100 + place, **how) for place, how in enumerate(occupants)]
        ground.pods = [*ground.pods, *pods]
        how = containers[number]
        ground.containers |= {each.uid: how for each in pods if how and each.spec.node_name and not each.is_ready}
    return ground


grounds = st.builds(
    peopled,
    owners,
    st.lists(cells, min_size=5, max_size=5),
    st.lists(st.sampled_from([None, *CONTAINERS]), min_size=5, max_size=5),
)


@often
@given(grounds)
def test_what_is_said_to_run_is_served_and_left_alone(ground: Ground) -> None:
    scene, answers = ground.scene, ground.answers
    assert set(answers) == set(scene.fleet.slots)
    plan = decide(ground.owner, scene.fleet, NO_HISTORY, ground.now)
    acted_upon = {each.node for each in plan.creates} | {each.node for each in plan.deletes}
    for name, answer in answers.items():
        slot = scene.fleet.slots[name]
        assert slot.reading is not None
        event(answer.kind)
        serves = slot.reading.state is State.SERVING
        assert (answer.kind is Kind.RUNNING) == (serves and name not in ground.dark)
        if answer.kind is Kind.RUNNING:
            assert name not in acted_upon
            assert slot.wanted
            assert slot.reading.available


@often
@given(grounds)
def test_every_answer_that_is_not_running_gives_a_fact(ground: Ground) -> None:
    for answer in ground.answers.values():
        assert answer.summary
        assert answer.because
        assert "unknown" not in f"{answer.summary} {answer.because}".lower()
        if answer.kind is not Kind.RUNNING:
            assert answer.reasons


_TAINT = re.compile(r"taint ((?P<key>[^=:]+)(=(?P<value>[^:]*))?:(?P<effect>\w+)) is not tolerated")
_LABEL = re.compile(r"nodeSelector wants (\S+)=(\S+), but")


def without_cause(ground: Ground, name: str, because: str) -> Ground:
    """The same ground with what a reason names taken away."""
    at: Node = ground.nodes[name]
    owner: DaemonSet = ground.owner
    if match := _TAINT.search(because):
        taints = tuple(taint for taint in at.taints if str(taint) != match[1])
        at = msgspec.structs.replace(at, spec=msgspec.structs.replace(at.spec, taints=taints))
    elif match := _LABEL.search(because):
        labels = {**at.labels, match[1]: match[2]}
        at = msgspec.structs.replace(at, metadata=msgspec.structs.replace(at.metadata, labels=labels))
    else:
        assert "asks for node" in because
        owner = daemonset(strategy=msgspec.to_builtins(owner.spec.update_strategy))
    return Ground(owner, {**ground.nodes, name: at}, ground.pods, ground.containers, ground.dark, ground.now)


@often
@given(grounds)
def test_an_objection_taken_away_is_given_no_more_and_without_any_the_node_is_wanted(ground: Ground) -> None:
    answers = ground.answers
    for name, answer in answers.items():
        if answer.kind not in (Kind.REFUSED, Kind.MISPLACED, Kind.LINGERING):
            continue
        event(answer.kind)
        repaired = ground
        for reason in answer.reasons:
            if not ("taint" in reason.because or _LABEL.search(reason.because) or "asks for node" in reason.because):
                assert answer.kind is Kind.LINGERING  # And its pod does not serve: told besides.
                continue
            alone = without_cause(ground, name, reason.because)
            assert reason not in alone.answers[name].reasons
            repaired = without_cause(repaired, name, reason.because)
        after = repaired.answers[name]
        left = after.kind in (Kind.REFUSED, Kind.MISPLACED) or (after.kind is Kind.LINGERING and not answer.pod)
        assert not left


@often
@given(grounds)
def test_a_ready_node_is_never_to_blame(ground: Ground) -> None:
    lit = Ground(ground.owner, ground.nodes, ground.pods, ground.containers, set(), ground.now).answers
    for name, answer in ground.answers.items():
        assert lit[name].kind not in (Kind.NODE_NOT_READY, Kind.DEAD)
        if answer.kind in (Kind.NODE_NOT_READY, Kind.DEAD):
            event(answer.kind)
            assert name in ground.dark


@often
@given(grounds)
def test_a_container_in_trouble_is_named_until_it_runs(ground: Ground) -> None:
    in_trouble = (Kind.CRASHING, Kind.IMAGE, Kind.BLOCKED, Kind.PULLING)
    mended = Ground(
        ground.owner, ground.nodes, ground.pods, dict.fromkeys(ground.containers, "runs"), ground.dark, ground.now
    ).answers
    for name, answer in ground.answers.items():
        assert mended[name].kind not in in_trouble
        if answer.kind in in_trouble:
            event(answer.kind)
            assert answer.kind in {CONTAINERS[how][1] for how in ground.containers.values()}


# Nothing is to be settled here, so the rollout goes on, or waits.
rolling_grounds = st.builds(
    lambda strategy, patience, occupants: peopled(
        daemonset(strategy=strategy, minReadySeconds=patience),
        [([], "x", each, False) for each in (*occupants, ())],
        [None] * 5,
    ),
    st.sampled_from([rolling(1), rolling(2), rolling("50%"), rolling(0, 1), rolling(0, 2)]),
    st.sampled_from([0, 10]),
    st.lists(st.sampled_from([*OCCUPANTS[:4], OCCUPANTS[8]]), min_size=4, max_size=4),
)


@often
@given(rolling_grounds)
def test_the_budget_is_to_blame_only_where_a_larger_one_lets_the_pod_go(ground: Ground) -> None:
    for name, answer in ground.answers.items():
        text = answer.because
        if "maxUnavailable allows" not in text and "maxSurge allows" not in text:
            continue
        surges = "maxSurge" in text
        event("surge" if surges else "unavailable")
        generous = rolling(0, "100%") if surges else rolling("100%")
        spec = msgspec.json.decode(ground.owner.spec_text)
        spec["updateStrategy"] = generous
        owner = msgspec.structs.replace(ground.owner, spec_text=msgspec.Raw(msgspec.json.encode(spec)))
        after = Ground(owner, ground.nodes, ground.pods, ground.containers, ground.dark, ground.now).answers[name]
        assert "replaced in the next pass" in after.because


@often
@given(rolling_grounds)
def test_a_pod_that_waits_for_its_time_is_available_then(ground: Ground) -> None:
    for name, answer in ground.answers.items():
        if answer.summary != "is ready, waits for minReadySeconds":
            continue
        event("waits")
        later = Ground(ground.owner, ground.nodes, ground.pods, ground.containers, set(), START + 10).answers
        assert "waits for minReadySeconds" not in later[name].summary


# Pods without a node

hogs = st.lists(
    st.builds(
        lambda number, cpu, port: workload(f"hog{number}", cpu, port),
        st.integers(0, 5),
        st.sampled_from(["100m", "1", "3", "3900m"]),
        st.sampled_from([0, 80, 81]),
    ),
    max_size=3,
    unique_by=lambda each: each.metadata.uid,
)


cpus = st.sampled_from(["100m", "2", "5"])
port_sets = st.sets(st.sampled_from([80, 81]))


def workload(name: str, cpu: str, port: int) -> WorkloadPod:
    ports = [{"containerPort": 1, "hostPort": port}] if port else []
    containers = [{"name": "c", "resources": {"requests": {"cpu": cpu}}, "ports": ports}]
    tree = {
        "metadata": {"name": name, "namespace": "other", "uid": name},
        "spec": {"nodeName": "n1", "containers": containers},
    }
    return msgspec.convert(tree, WorkloadPod)


def unplaced(others: Iterable[WorkloadPod], cpu: str, ports: Iterable[int]) -> Answer:
    """The answer for a pod that wants this, on a node where these are."""
    given = pod("p", "n1", phase="Pending", ready=False, bound=False)
    wanted = [{"containerPort": 1, "hostPort": port} for port in ports]
    told = pod_told(given, containers=[{"name": "c", "resources": {"requests": {"cpu": cpu}}, "ports": wanted}])
    at = node("n1")
    fleet = fleet_of(daemonset(), [at], [given])
    nodes = {"n1": node_told(at)}
    scene = Scene(daemonset(), fleet, NO_HISTORY, START, nodes, {given.uid: told}, survey(nodes.values(), others))
    return next(iter(explain_fleet(scene)))


@often
@given(hogs, cpus, port_sets)
def test_whoever_is_said_to_hold_room_holds_it(others: list[WorkloadPod], cpu: str, ports: set[int]) -> None:
    answer = unplaced(others, cpu, ports)
    event(answer.kind)
    for reason in answer.reasons:
        named = {holder.name for holder in reason.holders}
        assert named <= {each.metadata.name for each in others}
        if named:
            left = [each for each in others if each.metadata.name not in named]
            assert reason.because not in unplaced(left, cpu, ports).because
    if answer.kind is Kind.PORT_TAKEN:
        assert "host port" in answer.because
        assert unplaced(others, cpu, []).kind is not Kind.PORT_TAKEN
    if answer.summary == "waits for the scheduler":
        assert "has not placed it yet" in answer.because


# Single answers, in the words people read


def only(ground: Ground) -> Answer:
    (answer,) = ground.answers.values()
    return answer


def on_one_node(owner: DaemonSet | None = None, *pods: Pod, **changes: Any) -> Ground:
    return Ground(owner or daemonset(), {"n1": node("n1")}, pods, **changes)


@pytest.mark.parametrize("how", CONTAINERS)
def test_a_container_says_what_is_so(how: str) -> None:
    unready = pod("p", ready=False)
    assert only(on_one_node(None, unready, containers={unready.uid: how})).kind is CONTAINERS[how][1]


def test_a_crash_is_told_with_its_exit_code_and_how_to_read_the_last_words() -> None:
    unready = pod("p", ready=False)
    answer = only(on_one_node(None, unready, containers={unready.uid: "crashes"}))
    assert answer.because == (
        "container c ended with exit code 3 at 2025-12-31T23:59:53Z (7s ago), restarted 4 times so far"
    )
    assert answer.reasons[0].remedy == "see its last words: kubectl logs -n ns p -c c --previous"


def test_an_outdated_pod_says_who_spends_the_budget() -> None:
    nodes = {name: node(name) for name in ("n1", "n2")}
    ground = Ground(daemonset(), nodes, [pod("p1", "n1", ready=False), pod("p2", "n2", revision=OLD)])
    assert ground.answers["n2"].because == "maxUnavailable allows 1 node to be out of service at a time, and n1 is now"


def test_an_outdated_pod_says_that_it_waits_for_the_ready_time_of_another() -> None:
    nodes = {name: node(name) for name in ("n1", "n2")}
    pods = [pod("p1", "n1", ready=START - 4), pod("p2", "n2", revision=OLD, ready=START - 100)]
    because = Ground(daemonset(minReadySeconds=10), nodes, pods).answers["n2"].because
    assert "n1 counts as available from 2026-01-01T00:00:06Z (in 6s): minReadySeconds is 10" in because


def test_an_outdated_pod_of_on_delete_waits_for_somebody_to_delete_it() -> None:
    answer = only(on_one_node(daemonset(strategy={"type": "OnDelete"}), pod("p", revision=OLD)))
    assert answer.kind is Kind.OUTDATED
    assert "OnDelete" in answer.because


def test_a_pod_that_cannot_end_because_its_node_is_dead_says_so() -> None:
    answer = only(on_one_node(None, pod("p", going=True), dark={"n1"}))
    assert answer.kind is Kind.DEAD
    assert "only its node can confirm that it has stopped: node n1 is not ready since" in answer.because


def test_a_pod_of_a_node_that_is_gone_is_left_to_the_collector() -> None:
    assert only(Ground(daemonset(), {}, [pod("p")])).kind is Kind.NODE_GONE


def test_a_failed_pod_says_when_it_is_replaced() -> None:
    ground = on_one_node(None, pod("p", phase="Failed", ready=False))
    scene = ground.scene
    assert "next pass" in next(iter(explain_fleet(scene))).because
    replay_failures(scene.fleet, {"n1": (START - 4, START - 3)}, START)
    assert decide(ground.owner, scene.fleet, NO_HISTORY, START).deletes != []  # The second window was 2 s long.
    replay_failures(scene.fleet, {"n1": (START - 2,)}, START)
    assert decide(ground.owner, scene.fleet, NO_HISTORY, START).deletes == []
    assert "is replaced at 2026-01-01T00:00:02Z (in 2s)" in next(iter(explain_fleet(scene))).because
    assert decide(ground.owner, scene.fleet, NO_HISTORY, START + 2).deletes != []


def test_a_pod_that_could_not_be_created_says_what_the_server_said() -> None:
    scene = on_one_node().scene
    said = 'pods "d-x" is forbidden: exceeded quota: few, requested: pods=1, used: pods=3, limited: pods=3'
    refused = Scene(scene.daemonset, scene.fleet, NO_HISTORY, START, failed_create=said, failed_create_at=START - 9)
    answer = next(iter(explain_fleet(refused)))
    assert (answer.kind, answer.summary) == (Kind.BLOCKED, "its pod could not be created")
    assert answer.because == f"it was tried last at 2025-12-31T23:59:51Z (9s ago): {said}"
    assert answer.reasons[0].remedy.startswith("raise the ResourceQuota few of namespace ns, or free what counts")


def test_a_surging_node_says_which_pod_stays_until_when() -> None:
    pods = [pod("old", revision=OLD, made=START - 9), pod("new", ready=False)]
    answer = only(on_one_node(daemonset(strategy=rolling(0, 1)), *pods, containers={"uid-new": "pulls"}))
    assert answer.kind is Kind.PULLING
    assert "old of revision old stays until new is available" in answer.because


STARTED: Tree = {"started": True}
READY_PROBE: Tree = {"readinessProbe": {"httpGet": {"path": "/", "port": 80}}}


def told_alone(given: Pod, told: PodTold, *, word: Word | None = None, at: Node | None = None) -> Answer:
    """The answer for one pod that tells this of itself, on a node that is ready."""
    at = at or node("n1")
    fleet = fleet_of(daemonset(), [at], [given])
    words = {given.uid: word} if word else {}
    scene = Scene(daemonset(), fleet, NO_HISTORY, START, {"n1": node_told(at)}, {given.uid: told}, words=words)
    return next(iter(explain_fleet(scene)))


@pytest.mark.parametrize(
    ("written", "status", "said"),
    [
        ({}, {}, "its containers run, it is not ready"),
        (READY_PROBE, {}, "container c runs, its readiness probe has not passed"),
        ({"startupProbe": {}}, {"started": False}, "container c runs, its startup probe has not passed"),
        (
            {**READY_PROBE, "startupProbe": {}},
            {"started": True},
            "container c runs, its readiness probe has not passed",
        ),
    ],
)
def test_a_probe_is_blamed_only_if_there_is_one(written: Tree, status: Tree, said: str) -> None:
    unready = pod("p", ready=False)
    statuses = [{"name": "c", "image": "i:1", **RUNS, **status}]
    told = pod_told(unready, status={"containerStatuses": statuses}, containers=[{"name": "c", **written}])
    assert told_alone(unready, told).summary == said


def test_a_container_that_runs_between_crashes_is_in_a_crash_loop_still() -> None:
    unready = pod("p", ready=False)
    answer = only(on_one_node(None, unready, containers={unready.uid: "runs between crashes"}))
    assert answer.because == (
        "container c ended with exit code 3 at 2025-12-31T23:59:53Z (7s ago), restarted 4 times so far; "
        "it runs again since 2025-12-31T23:59:55Z (5s ago), and is not ready yet"
    )


@pytest.mark.parametrize(
    ("since", "restarts", "kind"), [(5, 1, Kind.STARTING), (5, 2, Kind.CRASHING), (601, 2, Kind.STARTING)]
)
def test_one_restart_is_no_loop_and_an_old_one_is_forgotten(since: float, restarts: int, kind: Kind) -> None:
    unready = pod("p", ready=False)
    status = {**RUNS_AGAIN, "restartCount": restarts, "state": {"running": {"startedAt": timestamp(START - since)}}}
    told = pod_told(unready, status={"containerStatuses": [{"name": "c", "image": "i:1", **status}]})
    assert told_alone(unready, told).kind is kind


def test_a_pod_that_serves_says_that_it_crashed_of_late() -> None:
    serving = pod("p")
    answer = told_alone(serving, pod_told(serving, "runs between crashes"))
    assert (answer.kind, answer.summary) == (Kind.RUNNING, "runs the newest template, after a crash")
    assert answer.because.endswith("restarted 4 times so far")
    assert told_alone(serving, pod_told(serving, "runs")).reasons == ()


def test_a_single_restart_is_told_in_the_singular() -> None:
    serving = pod("p")
    status = {"containerStatuses": [{"name": "c", "image": "i:1", **RUNS_AGAIN, "restartCount": 1}]}
    assert told_alone(serving, pod_told(serving, status=status)).because.endswith("restarted once so far")


def test_what_the_kubelet_said_last_tells_what_a_pod_waits_for() -> None:
    unready = pod("p", ready=False)
    lacks = Word(True, "FailedMount", 'MountVolume.SetUp failed for volume "v": configmap "x" not found')
    answer = told_alone(unready, pod_told(unready, "pulls"), word=lacks)
    assert (answer.kind, answer.summary) == (Kind.BLOCKED, "container c cannot be started: FailedMount")
    assert 'configmap "x" not found' in answer.because
    pulling = Word(False, "Pulling", 'Pulling image "i:1"')
    assert told_alone(unready, pod_told(unready, "pulls"), word=pulling).kind is Kind.PULLING


def test_a_probe_that_failed_is_told_with_what_it_got() -> None:
    unready = pod("p", ready=False)
    told = pod_told(unready, "runs", containers=[{"name": "c", **READY_PROBE}])
    refused = Word(True, "Unhealthy", "Readiness probe failed: HTTP probe failed with statuscode: 503")
    assert (
        "its readiness probe has not passed (Readiness probe failed: HTTP"
        in told_alone(unready, told, word=refused).because
    )


@pytest.mark.parametrize(("policy", "said"), [(None, "init container s runs"), ("Always", "container c runs, its ")])
def test_an_init_container_that_runs_is_what_the_others_wait_for_unless_it_is_a_sidecar(
    policy: str | None, said: str
) -> None:
    unready = pod("p", ready=False)
    first = {"name": "s", "image": "i:1", "ready": policy is not None, **RUNS}
    status = {"initContainerStatuses": [first], "containerStatuses": [{"name": "c", "image": "i:1", **RUNS}]}
    written: Tree = {
        "containers": [{"name": "c", **READY_PROBE}],
        "initContainers": [{"name": "s", "restartPolicy": policy}],
    }
    assert told_alone(unready, pod_told(unready, status=status, **written)).summary.startswith(said)


def test_a_pod_that_was_preempted_says_so_while_it_leaves() -> None:
    going = pod("p", going=True)
    condition = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "PreemptionByScheduler",
        "message": "default-scheduler: preempting to accommodate a higher priority pod",
    }
    answer = told_alone(going, pod_told(going, status={"conditions": [condition]}))
    assert answer.kind is Kind.LEAVING
    assert "had to leave (PreemptionByScheduler: default-scheduler: preempting" in answer.because


@pytest.mark.parametrize("pods", [(), (pod("p", ready=False),)])
def test_a_node_that_is_tainted_because_it_is_not_ready_is_called_so(pods: tuple[Pod, ...]) -> None:
    unreachable = node("n1", ["node.kubernetes.io/unreachable:NoSchedule"])
    ground = Ground(daemonset(), {"n1": unreachable}, pods, dark={"n1"})
    answer = only(ground)
    assert answer.kind is Kind.NODE_NOT_READY
    assert answer.because.startswith("node n1 is not ready since")
    assert answer.reasons[1].remedy.endswith("or make the node ready, and the taint goes")
    ground.dark = set()  # The taint is there still: it alone is the reason then.
    assert only(ground).kind in (Kind.REFUSED, Kind.LINGERING)
    tainted_besides = node("n1", ["node.kubernetes.io/unreachable:NoSchedule", "a:NoSchedule"])
    other = Ground(daemonset(), {"n1": tainted_besides}, pods, dark={"n1"})
    assert only(other).kind in (Kind.REFUSED, Kind.LINGERING)


def test_a_scheduling_gate_is_named() -> None:
    given = pod("p", phase="Pending", ready=False, bound=False)
    told = pod_told(given, schedulingGates=[{"name": "example.com/wait"}])
    fleet = fleet_of(daemonset(), [node("n1")], [given], revision=NEW)
    answer = next(iter(explain_fleet(Scene(daemonset(), fleet, NO_HISTORY, START, {}, {given.uid: told}))))
    assert "example.com/wait" in answer.because


# Mutants: explanations with one mistake in them, which the properties have to catch


def is_caught(claim: Any, *worlds: st.SearchStrategy[Any]) -> None:
    """The property fails; the smallest world in which it does is not looked for."""
    quick = settings(often, phases=[Phase.generate])
    with pytest.raises((AssertionError, ExceptionGroup)):
        quick(given(*worlds)(claim.hypothesis.inner_test))()


def test_an_explanation_that_calls_a_start_running_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def hasty(scene: Scene, slot: Slot, pod: Pod) -> Answer:
        return Answer(slot.node, Kind.RUNNING, "runs the newest template", (), pod.name)

    monkeypatch.setattr(explanation, "_starting", hasty)
    is_caught(test_what_is_said_to_run_is_served_and_left_alone, grounds)


def test_an_explanation_that_always_blames_the_budget_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    reason = Reason("maxUnavailable allows 1 node to be out of service at a time, and n0 is now", "raise it")
    monkeypatch.setattr(explanation_of_rollouts, "_held_up", lambda *_: (reason,))
    monkeypatch.setattr(explanation_of_rollouts.Pace, "why_not_yet", lambda pace, node: pace.waits_for)
    is_caught(test_the_budget_is_to_blame_only_where_a_larger_one_lets_the_pod_go, rolling_grounds)


def test_an_explanation_that_forgets_a_taint_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explanation, "_reasons", lambda objections: ())
    is_caught(test_every_answer_that_is_not_running_gives_a_fact, grounds)


def test_an_explanation_that_names_the_wrong_holder_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(port: HostPort, by: WorkloadPod) -> Fact:
        return Fact(f"host port {port.port} is taken", "", (Holder("other", "hog9", 0, "host port"),))

    monkeypatch.setattr(host_ports, "_fact", wrong)
    is_caught(test_whoever_is_said_to_hold_room_holds_it, hogs, cpus, port_sets)
