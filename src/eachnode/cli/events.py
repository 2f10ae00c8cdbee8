"""`eachnode events`: what was told of a DaemonSet and its pods, oldest first."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Iterable
from typing import TYPE_CHECKING

import click
import msgspec

from eachnode.cli.failures import Failure
from eachnode.cli.options import KubectlCommand, cluster_options, namespace_options, optional_daemonset_argument
from eachnode.cli.printing import in_columns, output_option, structured, table
from eachnode.objects.clock import seconds
from eachnode.objects.meta import Metadata

if TYPE_CHECKING:
    from eachnode.client.door import Door

HEADER = ("LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE")


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """What an event is about."""

    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""

    def __str__(self) -> str:
        return f"{self.kind.lower()}/{self.name}"


class Series(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """How often it happened, as newer clients count."""

    count: int = 0
    last_observed_time: str | None = None


class Event(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """One event as a table shows it."""

    metadata: Metadata
    involved_object: Subject = Subject()
    type: str = ""
    reason: str = ""
    message: str = ""
    count: int = 0
    first_timestamp: str | None = None
    last_timestamp: str | None = None
    event_time: str | None = None
    series: Series | None = None

    @property
    def last_seen(self) -> float:
        """When it happened last."""
        series = self.series.last_observed_time if self.series else None
        text = series or self.last_timestamp or self.event_time or self.metadata.creation_timestamp
        return seconds(text) if text else 0.0

    @property
    def order(self) -> tuple[float, int, str]:
        """Oldest first; within one second as the server wrote them."""
        version = self.metadata.resource_version
        return self.last_seen, len(version), version

    def cells(self, now: float) -> tuple[str, ...]:
        """Its row."""
        from eachnode.objects.durations import human_duration

        age = human_duration(max(0.0, now - self.last_seen))
        times = max(self.count, self.series.count if self.series else 0)
        if times > 1:
            first = self.first_timestamp or self.event_time or self.metadata.creation_timestamp
            over = f" over {human_duration(max(0.0, now - seconds(first)))}" if first else ""
            age = f"{age} (x{times}{over})"
        message = " ".join(self.message.split())
        return age, self.type, self.reason, str(self.involved_object), message


@click.command("events", cls=KubectlCommand, short_help="What was told of a DaemonSet and its pods.")
@optional_daemonset_argument
@click.option("--types", default="", metavar="TYPE,…", help="Only of these types: Normal, Warning.")
@click.option("-w", "--watch", type=bool, default=False, metavar="true|false", help="Go on with new ones.")
@output_option("json", "yaml", "name")
@namespace_options
@cluster_options
def command(
    daemonset: str,
    types: str,
    watch: bool,
    output: str | None,
    namespace: str | None,
    all_namespaces: bool,
    kubeconfig: str | None,
    context: str | None,
) -> None:
    """What was told of a DaemonSet and its pods, or of everything in a namespace; the newest last.

    \b
    eachnode events ds/fluentd
    eachnode events ds/fluentd --types=Warning -w
    eachnode events -A
    """
    from eachnode.cli.errands import errand
    from eachnode.runtime.clock import SystemClock

    if watch and output:
        raise Failure("--watch shows lines; leave out -o")
    if daemonset and all_namespaces:
        raise Failure("a name is looked for in one namespace; leave out -A or the name")

    async def act(door: Door, where: str) -> None:
        place = "" if all_namespaces else where
        wanted = await wanted_events(door, daemonset, place, types)
        if not await show_events(door, place, wanted, output, SystemClock().now()):
            what = f" about {daemonset}" if daemonset else ""
            click.echo(f"no events{what} in {f'namespace {place}' if place else 'any namespace'}", err=True)
        if watch:
            async for event in new_events(door, place, wanted):
                click.echo(in_columns(event.cells(SystemClock().now()), (9, 7, 20, 24, 0)))

    errand(kubeconfig, context, namespace, act)


async def wanted_events(door: Door, target: str, namespace: str, types: str) -> Callable[[Event], bool]:
    """Whether an event is wanted: by its type, and by what it is about."""
    kinds = {each.strip().lower() for each in types.split(",") if each.strip()}
    if kinds - {"normal", "warning"}:
        raise Failure(f"there are events of the types Normal and Warning, not {types!r}")
    about = await _about(door, target, namespace) if target else None
    return lambda event: (not kinds or event.type.lower() in kinds) and (about is None or about(event.involved_object))


async def _about(door: Door, target: str, namespace: str) -> Callable[[Subject], bool]:
    """Whether a subject is the target; of a DaemonSet, also its pods, those that are gone among them."""
    from eachnode.cli.errands import find
    from eachnode.cli.targets import parse_target
    from eachnode.decisions.template import pod_name
    from eachnode.objects.clock import SUFFIX_LETTERS
    from eachnode.objects.resources import DAEMON_SETS

    meant = parse_target(target)
    await find(door, meant.resource, meant.name, namespace)
    prefix = re.escape(pod_name(meant.name, ""))
    pods = re.compile(f"{prefix}[{SUFFIX_LETTERS}]{{5}}")

    def concerns(subject: Subject) -> bool:
        if (subject.kind, subject.name) == (meant.resource.kind, meant.name):
            return True
        is_pod = meant.resource is DAEMON_SETS and subject.kind == "Pod"
        return is_pod and pods.fullmatch(subject.name) is not None

    return concerns


async def show_events(
    door: Door, namespace: str, wanted: Callable[[Event], bool], output: str | None, now: float
) -> bool:
    """Show all that are there; answers whether there were any."""
    from eachnode.cli.errands import each
    from eachnode.cli.get.showing import ListWriter, whole
    from eachnode.objects.resources import EVENTS

    chosen = [
        (event, document) async for document in each(door, EVENTS, namespace) if wanted(event := document.read(Event))
    ]
    chosen.sort(key=lambda pair: pair[0].order)
    if output == "name":
        click.echo("\n".join(f"event/{event.metadata.name}" for event, _ in chosen), nl=bool(chosen))
    elif output:
        writer = ListWriter(output, click.echo)
        for _, document in chosen:
            writer.item(structured(whole(EVENTS, document), output))
        writer.end()
    elif chosen:
        click.echo("\n".join(as_table((event for event, _ in chosen), now, namespaced=bool(namespace))))
    return bool(chosen)


def as_table(events: Iterable[Event], now: float, *, namespaced: bool = True) -> list[str]:
    """Events as a table; over all namespaces with a column that tells them apart."""
    if namespaced:
        return table(HEADER, [event.cells(now) for event in events])
    rows = [(event.metadata.namespace, *event.cells(now)) for event in events]
    return table(("NAMESPACE", *HEADER), rows)


async def new_events(door: Door, namespace: str, wanted: Callable[[Event], bool]) -> AsyncIterator[Event]:
    """Events that happen from now on."""
    from eachnode.objects.resources import EVENTS

    version = (await door.list(EVENTS, namespace, limit=1)).version
    async for batch in door.watch(EVENTS, namespace, version=version):
        for change in batch:
            if change.type in ("ADDED", "MODIFIED") and wanted(event := change.document.read(Event)):
                yield event
    raise Failure("the server ended the watch; run it again to go on")
