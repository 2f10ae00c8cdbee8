"""What always holds of the decisions, in random worlds; and that each of these properties can fail.

Every property comes with a mutant: the same decision with one mistake in it, which the property has to catch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eachnode.decisions import eligibility, placement, rollout
from eachnode.decisions import plan as planning
from eachnode.decisions.eligibility import Placement, Verdict, judge
from eachnode.decisions.fleet import Fleet
from eachnode.decisions.placement import Settlement
from eachnode.decisions.plan import Plan, decide
from eachnode.decisions.rollout import budget, may_surge
from eachnode.decisions.slots import Aim
from eachnode.objects.daemonset import DaemonSet
from eachnode.objects.node import Node
from eachnode.objects.pod import Pod
from tests.decisions.world import NEW, NO_HISTORY, OLD, START, daemonset, fleet_of, node, pod, rolling

often = settings(
    max_examples=200,
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)

TAINTS = ("a:NoSchedule", "a:NoExecute", "b=c:NoSchedule", "node.kubernetes.io/unschedulable:NoSchedule")
NAMES = ("n0", "n1", "n2", "n3")

nodes = st.builds(
    lambda name, taints, zone: node(name, taints, **({"zone": zone} if zone else {})),
    st.sampled_from(NAMES),
    st.lists(st.sampled_from(TAINTS), max_size=2, unique=True),
    st.sampled_from(["", "x", "y"]),
)
pods = st.builds(
    lambda name, on, revision, phase, ready, going, bound, made: pod(
        name, on, revision=revision, phase=phase, ready=ready, going=going, bound=bound, made=made
    ),
    st.sampled_from(["p0", "p1", "p2", "p3", "p4", "p5"]),
    st.sampled_from([*NAMES, "gone", ""]),
    st.sampled_from([OLD, NEW]),
    st.sampled_from(["Running", "Running", "Running", "Pending", "Failed", "Succeeded"]),
    st.sampled_from([False, START - 50, START - 5, START]),
    st.sampled_from([False, False, False, True]),
    st.sampled_from([True, True, False]),
    st.integers(0, 3).map(lambda age: START - age),
)
budgets = st.sampled_from(
    [rolling(1), rolling(2), rolling("50%"), rolling(0, 1), rolling(0, 2), rolling(0, "50%"), {"type": "OnDelete"}]
)
templates = st.sampled_from(
    [{}, {}, {"nodeSelector": {"zone": "x"}}, {"tolerations": [{"key": "a", "operator": "Exists"}]}, {"nodeName": "n1"}]
)
owners = st.builds(
    lambda strategy, template, patience: daemonset(strategy=strategy, template=template, minReadySeconds=patience),
    budgets,
    templates,
    st.sampled_from([0, 10]),
)
populations = st.lists(pods, max_size=6, unique_by=lambda each: each.uid)
landscapes = st.lists(nodes, max_size=4, unique_by=lambda each: each.name)


def one_each(kinds: list[str]) -> list[Pod]:
    """n0, n1, … with one pod each: o outdated, n current; upper case when it is not available."""
    return [
        pod(
            f"p{number}",
            f"n{number}",
            revision=OLD if kind in "oO" else NEW,
            ready=START - number if kind.islower() else False,
        )
        for number, kind in enumerate(kinds)
    ]


@dataclass
class World:
    """What was told to a fleet, so that another can be built from it at once."""

    owner: DaemonSet
    revision: str = NEW
    now: float = START
    nodes: dict[str, Node] = field(default_factory=dict)
    pods: dict[str, Pod] = field(default_factory=dict)

    @property
    def aim(self) -> Aim:
        return Aim.of(self.owner, self.revision, surges=may_surge(self.owner.spec.update_strategy))


Change = tuple[str, object]
changes = st.one_of(
    st.tuples(st.just("node"), nodes),
    st.tuples(st.just("pod"), pods),
    st.tuples(st.just("lose node"), st.sampled_from(NAMES)),
    st.tuples(st.just("lose pod"), st.sampled_from([f"uid-p{number}" for number in range(6)])),
    st.tuples(st.just("wait"), st.sampled_from([0.5, 5.0])),
    st.tuples(st.just("wait"), st.sampled_from([5.0, 60.0])),
    st.tuples(st.just("owner"), owners),
    st.tuples(st.just("revision"), st.sampled_from([OLD, NEW])),
    st.tuples(st.just("fail"), st.sampled_from(NAMES)),
)


def tell(world: World, fleet: Fleet, change: Change) -> None:
    match change:
        case "node", Node() as seen:
            world.nodes[seen.name] = seen
            fleet.see_node(seen)
        case "pod", Pod() as put:
            world.pods[put.uid] = put
            fleet.see_pod(put)
        case "lose node", str() as name:
            world.nodes.pop(name, None)
            fleet.lose_node(name)
        case "lose pod", str() as uid:
            world.pods.pop(uid, None)
            fleet.lose_pod(uid)
        case "wait", float() as pause:
            world.now += pause
        case "owner", DaemonSet() as owner:
            world.owner = owner
            fleet.place(Placement.of(owner.template), world.nodes.values())
            fleet.take_aim(world.aim)
        case "revision", str() as revision:
            world.revision = revision
            fleet.take_aim(world.aim)
        case "fail", str() as name:
            fleet.failed_pod_goes(name, world.now)


def incremental_equals_rebuilt(kind: type[Fleet]) -> None:
    @often
    @given(
        owners,
        landscapes,
        st.lists(st.sampled_from("onON"), max_size=4).map(one_each) | populations,
        st.lists(changes, max_size=20),
    )
    def holds(owner: DaemonSet, landscape: list[Node], population: list[Pod], history: list[Change]) -> None:
        world = World(owner)
        fleet = kind(Placement.of(owner.template), world.aim)
        before: list[Change] = [*(("node", each) for each in landscape), *(("pod", each) for each in population)]
        for change in [*before, *history]:
            tell(world, fleet, change)
            fleet.refresh(world.now)
        rebuilt = Fleet(Placement.of(world.owner.template), world.aim)
        rebuilt.backoff = fleet.backoff
        for seen in world.nodes.values():
            rebuilt.see_node(seen)
        for put in world.pods.values():
            rebuilt.see_pod(put)
        rebuilt.refresh(world.now)
        assert fleet.tally.summary() == rebuilt.tally.summary()
        assert fleet.next_change == rebuilt.next_change
        assert {name: (slot.verdict, slot.pods, slot.reading) for name, slot in fleet.slots.items()} == {
            name: (slot.verdict, slot.pods, slot.reading) for name, slot in rebuilt.slots.items()
        }
        assert +fleet.revisions_in_use == +rebuilt.revisions_in_use

    holds()


def test_a_fleet_kept_up_to_date_equals_one_built_at_once() -> None:
    incremental_equals_rebuilt(Fleet)


class ForgetsLostPods(Fleet):
    def lose_pod(self, uid: str) -> bool:
        pod_gone = self.pods.get(uid)
        touched = dict(self._touched)
        known = super().lose_pod(uid)
        if pod_gone is not None:
            self._touched = touched
        return known


class IgnoresAlarms(Fleet):
    def refresh(self, now: float) -> None:
        self._alarms.clear()
        super().refresh(now)


@pytest.mark.parametrize("mutant", [ForgetsLostPods, IgnoresAlarms])
def test_a_fleet_that_misses_something_is_found_out(mutant: type[Fleet]) -> None:
    with pytest.raises(AssertionError):
        incremental_equals_rebuilt(mutant)


def planned(owner: DaemonSet, landscape: Iterable[Node], population: Iterable[Pod], now: float = START) -> Plan:
    return decide(owner, fleet_of(owner, landscape, population, now=now), NO_HISTORY, now)


# Budget


def unavailable_now(owner: DaemonSet, landscape: list[Node], population: list[Pod]) -> int:
    """Counted the plain way: wanted or occupied nodes without exactly one pod that is available."""
    aim = Aim.of(owner, NEW, surges=False)
    where = Placement.of(owner.template)
    present = [each for each in population if not (each.is_over and each.is_terminating) and each.target]
    counted = {each.name for each in landscape if judge(where, each).should_run} | {each.target for each in present}
    missing = 0
    for name in counted:
        alive = [each for each in present if each.target == name and not each.is_terminating]
        missing += len(alive) != 1 or aim.available_from(alive[0]) > START
    return missing


def budget_is_kept() -> None:
    @often
    @given(budgets, landscapes, st.lists(st.sampled_from("onON"), max_size=4).map(one_each) | populations)
    def holds(strategies: dict[str, object], landscape: list[Node], population: list[Pod]) -> None:
        owner = daemonset(strategy=strategies)
        strategy = owner.spec.update_strategy
        wanted = sum(judge(Placement.of(owner.template), each).should_run for each in landscape)
        allowed = budget(strategy, wanted)
        plan = planned(owner, landscape, population)
        if strategy.type == "OnDelete" or allowed.surge or not plan.deletes or plan.creates:
            return
        fleet = fleet_of(owner, landscape, population)
        if len(fleet.tally.unsettled):
            return  # What is misplaced, ended or surplus goes whatever the budget.
        aim = Aim.of(owner, NEW, surges=False)
        serving = [action for action in plan.deletes if aim.available_from(action.pod) <= START]
        assert len(serving) <= max(0, allowed.unavailable - unavailable_now(owner, landscape, population))

    holds()


def test_our_hand_never_takes_more_out_of_service_than_the_budget_allows() -> None:
    budget_is_kept()


def test_a_rollout_that_forgets_who_is_out_of_service_already_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rollout, "out_of_service", lambda fleet: 0)
    with pytest.raises(AssertionError):
        budget_is_kept()


# One pod on a node


def one_pod_per_node() -> None:
    @often
    @given(owners, landscapes, populations)
    def holds(owner: DaemonSet, landscape: list[Node], population: list[Pod]) -> None:
        if may_surge(owner.spec.update_strategy):
            return
        plan = planned(owner, landscape, population)
        going = {action.pod.uid for action in plan.deletes}
        for each in landscape:
            here = [
                other
                for other in population
                if other.target == each.name and not (other.is_over and other.is_terminating)
            ]
            coming = sum(action.node == each.name for action in plan.creates)
            assert coming + len(here) <= max(1, len(here)), "created where one is"
            left = [
                other for other in here if not other.is_terminating and not other.is_over and other.uid not in going
            ]
            assert len(left) <= 1, "left several"

    holds()


def test_without_surge_no_node_gets_a_second_pod_and_none_keeps_one() -> None:
    one_pod_per_node()


def test_a_decision_that_leaves_or_makes_twins_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    original = placement.settle

    def keeps_all(*arguments: object) -> Settlement:
        settlement = original(*arguments)  # type: ignore[arg-type] # the same arguments
        settlement.removals = [each for each in settlement.removals if "already" not in each.because]
        return settlement

    monkeypatch.setattr(planning, "settle", keeps_all)
    with pytest.raises(AssertionError):
        one_pod_per_node()


# Fixed point


def carried_out(plan: Plan, population: list[Pod], now: float, step: int) -> list[Pod]:
    """The population once every action took effect: deleted pods are gone, created ones serve."""
    going = {action.pod.uid for action in plan.deletes}
    created = [pod(f"made{step}-{action.node}", on=action.node, made=now, ready=now) for action in plan.creates]
    return [each for each in population if each.uid not in going and not each.is_terminating] + created


def ends_in_a_fixed_point() -> None:
    @often
    @given(owners, landscapes, populations)
    def holds(owner: DaemonSet, landscape: list[Node], population: list[Pod]) -> None:
        now = START
        population = [each for each in population if each.target in {other.name for other in landscape}]
        for step in range(40):
            now += 2000.0  # Longer than any patience.
            population = [
                each
                if each.is_over
                else pod(each.name, each.target, revision=each.revision_hash, made=START, ready=START)
                for each in population
            ]
            plan = planned(owner, landscape, population, now)
            if plan.is_idle:
                break
            population = carried_out(plan, population, now, step)
        assert plan.is_idle, "never ends"
        wanted = sorted(each.name for each in landscape if judge(Placement.of(owner.template), each).should_run)
        on_wanted = sorted(each.target for each in population if each.target in wanted)
        assert on_wanted == wanted
        if owner.spec.update_strategy.type == "RollingUpdate":
            assert {each.revision_hash for each in population if each.target in wanted} <= {NEW}
        assert planned(owner, landscape, population, now + 5000).is_idle

    holds()


def test_once_its_actions_took_effect_a_plan_leads_to_one_that_does_nothing() -> None:
    ends_in_a_fixed_point()


def test_a_decision_that_never_rests_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    original = Aim.is_current
    monkeypatch.setattr(Aim, "is_current", lambda self, pod: original(self, pod) and not pod.name.startswith("made"))
    with pytest.raises(AssertionError):
        ends_in_a_fixed_point()


# Objections


def refusals_have_reasons(judged: Callable[[Placement, Node], Verdict]) -> None:
    @often
    @given(owners, nodes)
    def holds(owner: DaemonSet, seen: Node) -> None:
        where = Placement.of(owner.template)
        verdict = judged(where, seen)
        selected = all(
            seen.labels.get(key) == value for key, value in (owner.template.spec.node_selector or {}).items()
        )
        named = owner.template.spec.node_name in ("", seen.name)
        effects = {each.effect for each in seen.taints if not any(other.tolerates(each) for other in where.tolerations)}
        assert verdict.should_run == (selected and named and not effects), "run"
        assert verdict.should_stay == (selected and named and "NoExecute" not in effects), "stay"
        assert verdict.should_run or verdict.objections, "no reason"

    holds()


def test_every_refused_node_has_an_objection_and_no_other_has() -> None:
    refusals_have_reasons(judge)


def test_a_verdict_that_overlooks_taints_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(eligibility, "_QUESTIONS", eligibility._QUESTIONS[:3])
    with pytest.raises(AssertionError):
        refusals_have_reasons(judge)
