"""What the shell offers while somebody types: names asked of the cluster; nothing when it cannot be asked."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from eachnode.client.door import Door
    from eachnode.objects.resources import Resource

PATIENCE = 3.0  # Seconds; who types does not wait for a server that does not answer.
MOST = 500  # Names that are offered.


def daemonsets(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001 click's signature
    """`ds/NAME` for each of the namespace."""
    from eachnode.objects.resources import DAEMON_SETS

    return _fitting([f"ds/{name}" for name in _asked(ctx, DAEMON_SETS)], incomplete)


def nodes(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001 click's signature
    """The names of all nodes."""
    from eachnode.objects.resources import NODES

    return _fitting(_asked(ctx, NODES), incomplete)


def namespaces(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001 click's signature
    """The names of all namespaces."""
    from eachnode.objects.resources import NAMESPACES

    return _fitting(_asked(ctx, NAMESPACES), incomplete)


def contexts(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001 click's signature
    """The contexts of the kubeconfig."""
    from eachnode.client.kubeconfig import read

    return _fitting(_or_nothing(lambda: sorted(read(ctx.params.get("kubeconfig")).contexts)), incomplete)


def _fitting(names: list[str], incomplete: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def _or_nothing(ask: Callable[[], list[str]]) -> list[str]:
    try:
        return ask()
    except Exception:
        return []


def _asked(ctx: click.Context, resource: Resource) -> list[str]:
    """The names of a kind, in the namespace and the cluster that were typed already, or are the usual ones."""
    import asyncio

    from eachnode.cli.errands import errand
    from eachnode.objects.meta import MetadataOnly

    async def names(door: Door, where: str) -> list[str]:
        page = await door.list(resource, where if resource.namespaced else "", limit=MOST)
        return [document.read(MetadataOnly).metadata.name for document in page.documents]

    def in_time(door: Door, where: str) -> Awaitable[list[str]]:
        return asyncio.wait_for(names(door, where), PATIENCE)

    typed = ctx.params
    return _or_nothing(lambda: errand(typed.get("kubeconfig"), typed.get("context"), typed.get("namespace"), in_time))
