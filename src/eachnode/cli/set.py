"""`eachnode set`: change one thing of a DaemonSet's template: the image of a container."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from eachnode.cli import completing
from eachnode.cli.failures import Failure
from eachnode.cli.options import KubectlCommand, cluster_options, dry_run_option, namespace_option
from eachnode.cli.printing import tried

if TYPE_CHECKING:
    from eachnode.client.door import Door

FIELD_MANAGER = "eachnode-set"
EVERY = "*"


@click.group("set", short_help="Change the images of a DaemonSet.")
def command() -> None:
    """Change one thing of a DaemonSet's template.

    \b
    eachnode set image ds/fluentd fluentd=fluentd:1.17
    """


@command.command("image", cls=KubectlCommand, short_help="Give containers other images.")
@click.argument(
    "words", nargs=-1, required=True, metavar="ds/NAME… CONTAINER=IMAGE…", shell_complete=completing.daemonsets
)
@click.option("--cause", default="", metavar="TEXT", help="What `rollout history` is to tell as the reason.")
@dry_run_option
@namespace_option
@cluster_options
def image(
    words: tuple[str, ...],
    cause: str,
    dry_run: str,
    namespace: str | None,
    kubeconfig: str | None,
    context: str | None,
) -> None:
    """Give containers of a DaemonSet other images; `*` stands for all of them.

    \b
    eachnode set image ds/fluentd fluentd=fluentd:1.17
    eachnode set image ds/fluentd '*=registry.example/all:1' --cause 'one image for all'
    """
    from eachnode.cli.errands import errand
    from eachnode.cli.targets import parse_daemonsets

    images = dict(_assignment(word) for word in words if "=" in word)
    names = parse_daemonsets([word for word in words if "=" not in word])
    if not names or not images:
        raise Failure("say what is to be changed and how: eachnode set image ds/NAME CONTAINER=IMAGE")

    async def act(door: Door, where: str) -> None:
        for name in names:
            click.echo(await set_images(door, name, where, images, cause=cause, dry_run=dry_run))

    errand(kubeconfig, context, namespace, act)


def _assignment(word: str) -> tuple[str, str]:
    container, _, wanted = word.partition("=")
    if not container or not wanted:
        raise Failure(f"{word!r} says no image; write CONTAINER=IMAGE")
    return container, wanted


async def set_images(
    door: Door, name: str, namespace: str, images: Mapping[str, str], *, cause: str = "", dry_run: str = "none"
) -> str:
    """Patch what differs; the sentence that says so."""
    import msgspec

    from eachnode.cli.errands import find
    from eachnode.client.door import PatchKind
    from eachnode.objects.daemonset import DaemonSet
    from eachnode.objects.resources import DAEMON_SETS

    daemonset = (await find(door, DAEMON_SETS, name, namespace)).read(DaemonSet)
    spec = image_changes(daemonset.template_tree.get("spec") or {}, images, name)
    if not spec:
        return f"daemonset.apps/{name} image unchanged{tried(dry_run)}"
    body: dict[str, Any] = {"spec": {"template": {"spec": spec}}}
    if cause:
        body["metadata"] = {"annotations": {"kubernetes.io/change-cause": cause}}
    if dry_run != "client":
        await door.patch(
            DAEMON_SETS,
            name,
            msgspec.json.encode(body),
            PatchKind.STRATEGIC,
            namespace,
            field_manager=FIELD_MANAGER,
            dry_run=dry_run == "server",
        )
    return f"daemonset.apps/{name} image updated{tried(dry_run)}"


def image_changes(spec: Mapping[str, Any], images: Mapping[str, str], name: str) -> dict[str, Any]:
    """The part of a strategic patch that gives containers their new images; empty when they have them."""
    lists = {field: spec.get(field) or [] for field in ("initContainers", "containers")}
    known = [container["name"] for containers in lists.values() for container in containers]
    for wanted in images:
        if wanted != EVERY and wanted not in known:
            raise _unknown_container(wanted, known, name)
    changed: dict[str, Any] = {}
    for field, containers in lists.items():
        patches = [
            {"name": container["name"], "image": wanted}
            for container in containers
            if (wanted := images.get(container["name"], images.get(EVERY, ""))) not in ("", container.get("image"))
        ]
        if patches:
            order = [{"name": container["name"]} for container in containers]
            changed |= {f"$setElementOrder/{field}": order, field: patches}
    return changed


def _unknown_container(wanted: str, known: Sequence[str], name: str) -> Failure:
    from eachnode.cli.targets import unknown

    failure = unknown("container", wanted, known, f" in daemonset {name}")
    return failure if "did you mean" in str(failure) else Failure(f"{failure}; there are {', '.join(known)}")
