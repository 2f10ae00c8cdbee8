"""`eachnode loop`: each of the loops that keep a cluster tidy, alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from eachnode.cli.options import ADDRESS, DURATION, cluster_options, log_options

if TYPE_CHECKING:
    from eachnode.embedded.options import Component

TIDYING = ("garbage-collector", "node-lifecycle", "pod-garbage-collector", "namespaces")


@click.command("loop", short_help="Garbage collection, node life-cycle or namespaces alone, on any cluster.")
@click.argument("component", type=click.Choice(TIDYING))
@cluster_options
@click.option(
    "--quarantine",
    type=DURATION,
    default="40s",
    show_default=True,
    help="How long a node must be gone until the pod-garbage-collector lets its pods follow.",
)
@click.option("--leader-elect/--no-leader-elect", default=False, help="Work only while this instance leads.")
@click.option("--metrics-listen", type=ADDRESS, help="Serve /healthz, /readyz and /metrics here.")
@click.option("--max-in-flight", type=click.IntRange(1), default=64, show_default=True, help="Writes at the same time.")
@log_options
def command(
    component: Component,
    kubeconfig: str | None,
    context: str | None,
    quarantine: float,
    leader_elect: bool,
    metrics_listen: tuple[str, int] | None,
    max_in_flight: int,
    log_format: str,
    log_level: str,
) -> None:
    """Run one of the loops that keep a cluster tidy, on the cluster that the kubeconfig names, until Ctrl-C.

    \b
    eachnode up --without node-lifecycle --kubeconfig ./kubeconfig
    eachnode loop node-lifecycle --kubeconfig ./kubeconfig
    """
    from eachnode.cli.standalone import Standalone, run_alone
    from eachnode.client.kubeconfig import load
    from eachnode.embedded.loops import make_loop
    from eachnode.embedded.options import ClusterOptions
    from eachnode.objects.resources import NAMESPACES, NODES, PODS

    first = {"node-lifecycle": NODES, "pod-garbage-collector": PODS}.get(component, NAMESPACES)
    standalone = Standalone(
        component, kubeconfig, context, metrics_listen, leader_elect, max_in_flight=max_in_flight,
        log_format=log_format, log_level=log_level, must_list=(first,),
    )  # fmt: skip
    options = ClusterOptions(
        # Whoever is inside the cluster is to trust whom we trust.
        root_certificates=load(kubeconfig, context).trust.authorities if component == "namespaces" else "",
        pod_quarantine=quarantine,
    )
    run_alone(standalone, lambda door, clock, chance, _: make_loop(component, door, clock, chance, options))
