"""`eachnode controller`: looks after the DaemonSets of any cluster, in place of the built-in controller."""

from __future__ import annotations

import click

from eachnode.cli.options import ADDRESS, cluster_options, log_options


@click.command("controller", short_help="Run DaemonSets on any cluster, in place of the built-in controller.")
@cluster_options
@click.option("--namespace", default="", metavar="NAME", help="Look after this namespace only; else after all.")
@click.option(
    "--workers", type=click.IntRange(1), default=2, show_default=True, help="DaemonSets worked on at the same time."
)
@click.option(
    "--placement",
    type=click.Choice(["scheduler", "direct"]),
    default="scheduler",
    show_default=True,
    help="Let the scheduler bind pods, or bind them where there is none.",
)
@click.option(
    "--leader-elect/--no-leader-elect", default=True, show_default=True, help="Work only while this instance leads."
)
@click.option("--leader-elect-namespace", default="kube-system", show_default=True, help="Where the lease is kept.")
@click.option(
    "--failed-pod-back-off",
    type=click.FloatRange(0.0),
    default=1.0,
    show_default=True,
    help="Seconds until a pod that failed twice is replaced; doubles up to 15 minutes.",
)
@click.option("--metrics-listen", type=ADDRESS, help="Serve /healthz, /readyz and /metrics here.")
@click.option("--max-in-flight", type=click.IntRange(1), default=32, show_default=True, help="Writes at the same time.")
@log_options
def command(
    kubeconfig: str | None,
    context: str | None,
    namespace: str,
    workers: int,
    placement: str,
    leader_elect: bool,
    leader_elect_namespace: str,
    failed_pod_back_off: float,
    metrics_listen: tuple[str, int] | None,
    max_in_flight: int,
    log_format: str,
    log_level: str,
) -> None:
    """Look after the DaemonSets of the cluster that the kubeconfig names, until SIGTERM or Ctrl-C.

    The built-in controller must be off: kube-controller-manager --controllers=*,-daemonset-controller.
    docs/how-to/take-over.md leads through it.

    \b
    eachnode controller --kubeconfig ~/.kube/config --metrics-listen :8080
    """
    from eachnode.cli.standalone import Standalone, run_alone
    from eachnode.controllers.daemonset import DaemonSetController, DaemonSetOptions
    from eachnode.decisions.backoff import BackoffOptions
    from eachnode.objects.resources import CONTROLLER_REVISIONS, DAEMON_SETS, NODES, PODS

    standalone = Standalone(
        name="controller",
        kubeconfig=kubeconfig,
        context=context,
        metrics_listen=metrics_listen,
        leader_elect=leader_elect,
        lease_namespace=leader_elect_namespace,
        max_in_flight=max_in_flight,
        log_format=log_format,
        log_level=log_level,
        namespace=namespace,
        must_list=(DAEMON_SETS, NODES, PODS, CONTROLLER_REVISIONS),
    )
    options = DaemonSetOptions(
        placement="direct" if placement == "direct" else "scheduler",
        workers=workers,
        namespace=namespace,
        backoff=BackoffOptions(first=failed_pod_back_off),
    )
    run_alone(
        standalone,
        lambda door, clock, chance, metrics: DaemonSetController(
            door, clock=clock, chance=chance, options=options, metrics=metrics
        ),
    )
