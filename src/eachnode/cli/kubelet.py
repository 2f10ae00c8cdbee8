"""`eachnode kubelet`: simulated nodes on any cluster."""

from __future__ import annotations

from pathlib import Path

import click

from eachnode.cli.options import ADDRESS, cluster_options, log_options


@click.command("kubelet", short_help="Simulated nodes on any cluster.")
@cluster_options
@click.option(
    "--nodes", type=click.IntRange(0), default=0, show_default=True, help="Create so many simulated nodes first."
)
@click.option(
    "--node-template", type=click.Path(path_type=Path), help="A Node in YAML whose labels and sizes they take."
)
@click.option(
    "--timing", type=click.Choice(["instant", "lifelike"]), default="instant", show_default=True, help="How pods start."
)
@click.option("--pace", type=click.FloatRange(0.0), default=1.0, help="Stretch (or shrink) lifelike delays by this.")
@click.option(
    "--stages", type=click.Path(path_type=Path), multiple=True, help="More stages for simulated pods: chaos.yaml."
)
@click.option("--metrics-listen", type=ADDRESS, help="Serve /healthz, /readyz and /metrics here.")
@click.option("--max-in-flight", type=click.IntRange(1), default=64, show_default=True, help="Writes at the same time.")
@log_options
def command(
    kubeconfig: str | None,
    context: str | None,
    nodes: int,
    node_template: Path | None,
    timing: str,
    pace: float,
    stages: tuple[Path, ...],
    metrics_listen: tuple[str, int] | None,
    max_in_flight: int,
    log_format: str,
    log_level: str,
) -> None:
    """Run every node that carries the annotation eachnode.dev/simulated: "true", until Ctrl-C."""
    from eachnode.cli.manifests import read_manifests
    from eachnode.cli.standalone import Standalone, run_alone
    from eachnode.controllers.kubelet import Kubelet, KubeletOptions, load_stages
    from eachnode.objects.resources import NODES

    read = [load_stages(path) for path in stages]
    chaos = tuple(layer for layer, _ in read)
    mishaps = tuple(mishap for _, more in read for mishap in more)
    options = KubeletOptions(
        timing="lifelike" if timing == "lifelike" else "instant",
        pace=pace,
        chaos=chaos,
        mishaps=mishaps,
        create=nodes,
        template=read_manifests([node_template])[0].tree if node_template else None,
    )
    standalone = Standalone(
        "kubelet", kubeconfig, context, metrics_listen, max_in_flight=max_in_flight,
        log_format=log_format, log_level=log_level, must_list=(NODES,),
    )  # fmt: skip
    run_alone(standalone, lambda door, clock, chance, _: Kubelet(door, clock=clock, chance=chance, options=options))
