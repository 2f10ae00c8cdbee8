"""`eachnode server`: the embedded API server alone, with garbage collection and namespace upkeep."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from eachnode.cli.options import ADDRESS, log_options


@click.command("server", short_help="The embedded API server alone.")
@click.option("--data-dir", type=click.Path(path_type=Path), help="Keep everything here; else it goes with the server.")
@click.option(
    "--listen", type=ADDRESS, default="127.0.0.1:6443", show_default=True, help="Where to listen; port 0: any."
)
@click.option("--token", default="", help="The admin's bearer token; else a random one, in the kubeconfig.")
@click.option("--kubeconfig", type=click.Path(path_type=Path), help="Write the kubeconfig here.")
@click.option("--insecure-http", is_flag=True, help="Without TLS; on a loopback address only.")
@click.option("--sync-every-commit", is_flag=True, help="Survive loss of power too, not only of the process; slower.")
@log_options
def command(
    data_dir: Path | None,
    listen: tuple[str, int],
    token: str,
    kubeconfig: Path | None,
    insecure_http: bool,
    sync_every_commit: bool,
    log_format: str,
    log_level: str,
) -> None:
    """The embedded API server alone, with garbage collection and namespace upkeep, until Ctrl-C.

    \b
    eachnode server --data-dir ./state --kubeconfig ./kubeconfig
    kubectl --kubeconfig ./kubeconfig get namespaces
    """
    from eachnode.cli.running import run, work_until_told
    from eachnode.embedded.options import SERVER_COMPONENTS, ClusterOptions
    from eachnode.embedded.serving import ServingOptions, serve
    from eachnode.runtime.logs import start_logging

    start_logging("json" if log_format == "json" else "text", log_level)
    options = ClusterOptions(
        data_dir=data_dir, components=SERVER_COMPONENTS, synchronous="FULL" if sync_every_commit else "NORMAL"
    )
    serving = ServingOptions(listen[0], listen[1], token, kubeconfig, insecure_http)

    async def work() -> None:
        async with serve(options, serving) as served:
            await served.ready()
            click.echo(f"serving at {served.url}, kubeconfig {served.kubeconfig}")
            click.echo("ready")
            await asyncio.Event().wait()

    run(lambda: work_until_told(work))
