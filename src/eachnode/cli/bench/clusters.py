"""Whole programs under load: the controller alone beside a cluster, and the cluster in one process."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from eachnode.cli.bench.measures import Goal, Sample
from eachnode.cli.bench.processes import Program, free_port, numbers_at, program, until_answers, workplace
from eachnode.cli.bench.rollouts import Finish, stopwatch

NO_PROC = "CPU and memory of other processes are read from /proc, which this system does not have"
SETTLE = 1.0  # Seconds in which what a phase leaves behind is finished.

# By nodes: what is to be reached, from the project's own plan.
_CREATE_MS = {1_000: Goal(0.35), 5_000: Goal(0.37)}
_ROLLOUT_MS = {1_000: Goal(0.65), 5_000: Goal(0.68)}
_CONTROLLER_MB = {1_000: Goal(75), 5_000: Goal(130)}
_WHOLE_CREATE = {1_000: (Goal(1.4), Goal(1.6)), 5_000: (Goal(7.5), Goal(8.5))}
_WHOLE_ROLLOUT = {1_000: (Goal(2.4), Goal(2.9))}


@contextmanager
def _cluster_and_controller(nodes: int) -> Iterator[tuple[Program, Program, Path, int]]:
    """A cluster without its controller, and the controller as a process of its own."""
    with ExitStack() as stack:
        kubeconfig = stack.enter_context(workplace()) / "kubeconfig"
        up = stack.enter_context(
            program(
                "up", "--plain", "--nodes", str(nodes), "--without", "controller", "--kubeconfig", str(kubeconfig)
            )
        )  # fmt: skip
        up.until_ready()
        port = free_port()
        controller = stack.enter_context(
            program(
                "controller", "--kubeconfig", str(kubeconfig), "--log-level", "warning",
                "--metrics-listen", f"127.0.0.1:{port}",
            )
        )  # fmt: skip
        until_answers(port)
        yield up, controller, kubeconfig, port


def controller_alone(nodes: int) -> Iterator[Sample]:
    """CPU, memory, calls and status writes of the controller, in a process of its own."""
    with _cluster_and_controller(nodes) as (up, controller, kubeconfig, port):
        time.sleep(SETTLE)
        for phase, goal in (("create", _CREATE_MS.get(nodes)), ("10 % rollout", _ROLLOUT_MS.get(nodes))):
            before, counted = (controller.cpu_seconds, up.cpu_seconds), numbers_at(port)
            finish = phase_of(kubeconfig, nodes, phase, watch_pods=True)
            time.sleep(SETTLE)
            after, now = (controller.cpu_seconds, up.cpu_seconds), numbers_at(port)
            at = f"{phase}, {nodes:,} nodes"
            yield of_proc(f"controller CPU per pod, {at}", per(nodes, before[0], after[0]), "ms", goal)
            yield of_proc(f"server, scheduler, kubelet CPU per pod, {at}", per(nodes, before[1], after[1]), "ms")
            yield Sample(f"wall, {at}", finish.seconds, "s")
            calls = now["eachnode_api_calls_total"] - counted["eachnode_api_calls_total"]
            yield Sample(f"API calls of the controller per pod, {at}", calls / nodes, "")
            writes = now["eachnode_daemonset_status_writes"] - counted["eachnode_daemonset_status_writes"]
            yield Sample(f"status writes per pod, {at}", writes / nodes, "", Goal(0.05))
            yield Sample(f"final status after the last pod, {at}", finish.lag, "s", Goal(0.2))
            if phase == "create":
                yield of_proc(
                    f"controller memory, {nodes:,} pods", controller.megabytes, "MB", _CONTROLLER_MB.get(nodes)
                )


def whole_cluster(nodes: int) -> Iterator[Sample]:
    """Everything in one process, kept on disk as the reference does: until ready, create until available, rollout."""
    with workplace() as folder:
        kubeconfig, data = folder / "kubeconfig", str(folder / "data")
        with program("up", "--plain", "--nodes", str(nodes), "--kubeconfig", str(kubeconfig), "--data-dir", data) as up:
            yield Sample(f"up to ready, {nodes:,} nodes", up.until_ready(), "s")
            yield of_proc(f"memory when ready, {nodes:,} nodes", up.megabytes, "MB")
            time.sleep(SETTLE)
            none = (None, None)
            for phase, goals in (
                ("create", _WHOLE_CREATE.get(nodes, none)),
                ("10 % rollout", _WHOLE_ROLLOUT.get(nodes, none)),
            ):
                before = up.cpu_seconds
                finish = phase_of(kubeconfig, nodes, phase)
                time.sleep(SETTLE)
                spent = per(1, before, up.cpu_seconds)
                yield Sample(f"{phase}, {nodes:,} nodes, wall", finish.seconds, "s", goals[0])
                yield of_proc(f"{phase}, {nodes:,} nodes, CPU", spent and spent / 1000, "s", goals[1])
                yield of_proc(f"memory after {phase}, {nodes:,} nodes", up.megabytes, "MB")


def start(_: int) -> Iterator[Sample]:
    """`eachnode up` with its three nodes, until ready."""
    with workplace() as folder, program("up", "--plain", "--kubeconfig", str(folder / "kubeconfig")) as up:
        yield Sample("eachnode up to ready, 3 nodes", up.until_ready(), "s", Goal(0.7))
        yield of_proc("CPU until ready, 3 nodes", up.cpu_seconds, "s")
        time.sleep(SETTLE)
        yield of_proc("memory when ready, 3 nodes", up.megabytes, "MB", Goal(110))


def steady_state(nodes: int, daemon_sets: int = 20, seconds: float = 30.0) -> Iterator[Sample]:
    """CPU of the controller while nothing happens but heartbeats."""
    with _cluster_and_controller(nodes) as (_, controller, kubeconfig, _port):
        asyncio.run(_create_many(kubeconfig, nodes, daemon_sets))
        time.sleep(5 * SETTLE)
        before = controller.cpu_seconds
        time.sleep(seconds)
        spent = per(1, before, controller.cpu_seconds)
        name = f"{daemon_sets} DaemonSets × {nodes:,} nodes at rest"
        yield of_proc(f"{name}: share of a core", spent and spent / 10 / seconds, "%", Goal(2))
        yield of_proc(f"{name}: controller memory", controller.megabytes, "MB")


def phase_of(kubeconfig: Path, nodes: int, phase: str, *, watch_pods: bool = False) -> Finish:
    """One DaemonSet is created, or rolled out a tenth at a time; how that went."""

    async def measured() -> Finish:
        async with stopwatch(kubeconfig, nodes, watch_pods=watch_pods) as watch:
            return await (watch.create() if phase == "create" else watch.roll_out())

    return asyncio.run(measured())


async def _create_many(kubeconfig: Path, nodes: int, count: int) -> None:
    async with stopwatch(kubeconfig, nodes) as watch:
        for number in range(count):
            await watch.create(f"d{number}")


def per(count: int, before: float | None, after: float | None) -> float | None:
    """Milliseconds for each."""
    return None if before is None or after is None else (after - before) * 1000 / count


def of_proc(name: str, value: float | None, unit: str, goal: Goal | None = None) -> Sample:
    """A number read from /proc."""
    return Sample(name, value, unit, goal, NO_PROC if value is None else "")
