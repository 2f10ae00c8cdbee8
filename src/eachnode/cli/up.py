"""`eachnode up`: a whole cluster in one process, shown live where there is a terminal."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from eachnode.cli.options import ADDRESS

if TYPE_CHECKING:
    from eachnode.embedded.options import Component
    from eachnode.embedded.serving import Serving


def _components(_: click.Context, __: click.Parameter, value: str) -> tuple[Component, ...]:
    """The components that run: all but those named."""
    from eachnode.embedded.options import COMPONENTS

    without = [name.strip() for name in value.split(",") if name.strip()]
    unknown = [name for name in without if name not in COMPONENTS]
    if unknown:
        raise click.BadParameter(f"there is no component {unknown[0]!r}; there are {', '.join(COMPONENTS)}")
    return tuple(component for component in COMPONENTS if component not in without)


@click.command("up", short_help="A whole cluster in one process, ready in a second.")
@click.option("--nodes", type=click.IntRange(0), default=3, show_default=True, help="Simulated nodes to create.")
@click.option(
    "--node-template", type=click.Path(path_type=Path), help="A Node in YAML whose labels and sizes they take."
)
@click.option("--data-dir", type=click.Path(path_type=Path), help="Keep everything here and go on from it next time.")
@click.option("--listen", type=ADDRESS, default="127.0.0.1:0", show_default=True, help="Where to listen; port 0: any.")
@click.option("--token", default="", help="The admin's bearer token; else a random one, in the kubeconfig.")
@click.option("--kubeconfig", type=click.Path(path_type=Path), help="Write the kubeconfig here.")
@click.option(
    "--without", "components", default="", callback=_components, metavar="COMPONENT,…", help="Leave these out."
)
@click.option(
    "--timing", type=click.Choice(["instant", "lifelike"]), default="instant", show_default=True, help="How pods start."
)
@click.option("--pace", type=click.FloatRange(0.0), default=1.0, help="Stretch (or shrink) lifelike delays by this.")
@click.option(
    "--stages", type=click.Path(path_type=Path), multiple=True, help="More stages for simulated pods: chaos.yaml."
)
@click.option(
    "-f",
    "--filename",
    "files",
    type=click.Path(path_type=Path),
    multiple=True,
    help="Apply these: files, folders or -.",
)
@click.option("--insecure-http", is_flag=True, help="Without TLS; on a loopback address only.")
@click.option("--plain", is_flag=True, help="Plain lines instead of the live board.")
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default="warning",
    show_default=True,
    help="The least important log lines to write.",
)
def command(
    nodes: int,
    node_template: Path | None,
    data_dir: Path | None,
    listen: tuple[str, int],
    token: str,
    kubeconfig: Path | None,
    components: tuple[Component, ...],
    timing: str,
    pace: float,
    stages: tuple[Path, ...],
    files: tuple[Path, ...],
    insecure_http: bool,
    plain: bool,
    log_level: str,
) -> None:
    """A whole cluster in one process: API server, scheduler, controllers and simulated nodes, until Ctrl-C.

    \b
    eachnode up -f examples/fluentd.yaml
    eachnode up --nodes 100 --timing lifelike
    eachnode up --without controller        # and run the controller you are working on
    """
    from eachnode.cli.apply import apply_all, files_of
    from eachnode.cli.failures import CONFIGURATION, Failure
    from eachnode.cli.manifests import read_manifests
    from eachnode.cli.printing import on_terminal
    from eachnode.cli.running import run, work_until_told
    from eachnode.controllers.kubelet import KubeletOptions, load_stages
    from eachnode.embedded.options import ClusterOptions
    from eachnode.embedded.serving import ServingOptions, serve
    from eachnode.runtime.logs import start_logging

    start_logging("text", log_level)
    manifests = read_manifests(list(files_of(files)))
    if files and not manifests:
        raise Failure(f"no objects in {', '.join(map(str, files))}", CONFIGURATION)
    template = read_manifests([node_template])[0].tree if node_template else None
    read = [load_stages(path) for path in stages]
    chaos = tuple(layer for layer, _ in read)
    mishaps = tuple(mishap for _, more in read for mishap in more)
    kubelet = KubeletOptions(
        timing="lifelike" if timing == "lifelike" else "instant", pace=pace, chaos=chaos, mishaps=mishaps
    )
    options = ClusterOptions(data_dir, components, nodes, template, kubelet)
    serving = ServingOptions(listen[0], listen[1], token, kubeconfig, insecure_http)
    show_board = not plain and on_terminal()

    async def work() -> None:
        async with serve(options, serving) as served:
            await served.takes_objects()
            # Before the nodes are ready: some wait for what is applied, a network agent.
            if await apply_all(served.cluster.server, manifests, "default"):
                raise Failure("the cluster ends, because not everything could be applied")
            if not await served.ready():
                click.echo("warning: some nodes are not ready yet", err=True)
            _tell(served)
            if show_board:
                from eachnode.cli.board.show import show

                await show(served.cluster.server, served.kubeconfig)
            else:
                from eachnode.cli.board.plain import tell_changes

                await tell_changes(served.cluster.server)

    run(lambda: work_until_told(work))


def _tell(served: Serving) -> None:
    """How to reach the cluster, and the word that scripts wait for."""
    click.echo(f"serving at {served.url}")
    click.echo(f"export KUBECONFIG={served.kubeconfig.absolute()}")
    click.echo("ready")
    sys.stdout.flush()
