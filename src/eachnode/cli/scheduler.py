"""`eachnode scheduler`: the scheduler alone."""

from __future__ import annotations

import click

from eachnode.cli.options import ADDRESS, cluster_options, log_options


@click.command("scheduler", short_help="The scheduler alone, on any cluster.")
@cluster_options
@click.option(
    "--name", default="default-scheduler", show_default=True, help="Schedule pods that ask for this scheduler."
)
@click.option("--leader-elect/--no-leader-elect", default=False, help="Work only while this instance leads.")
@click.option("--metrics-listen", type=ADDRESS, help="Serve /healthz, /readyz and /metrics here.")
@click.option("--max-in-flight", type=click.IntRange(1), default=64, show_default=True, help="Writes at the same time.")
@log_options
def command(
    kubeconfig: str | None,
    context: str | None,
    name: str,
    leader_elect: bool,
    metrics_listen: tuple[str, int] | None,
    max_in_flight: int,
    log_format: str,
    log_level: str,
) -> None:
    """Bind pods to nodes, on the cluster that the kubeconfig names, until Ctrl-C."""
    from eachnode.cli.standalone import Standalone, run_alone
    from eachnode.controllers.scheduler import Scheduler, SchedulerOptions
    from eachnode.objects.resources import PODS

    standalone = Standalone(
        "scheduler", kubeconfig, context, metrics_listen, leader_elect, max_in_flight=max_in_flight,
        log_format=log_format, log_level=log_level, must_list=(PODS,),
    )  # fmt: skip
    options = SchedulerOptions(name=name)
    run_alone(standalone, lambda door, clock, chance, _: Scheduler(door, clock=clock, chance=chance, options=options))
