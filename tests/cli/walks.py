"""A DaemonSet's life for tests of commands: a world in which it is rolled out, and ways to change it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from eachnode.cli.set import set_images
from eachnode.controllers.kubelet import KubeletOptions
from eachnode.objects.resources import DAEMON_SETS
from tests.worlds import World, daemon_set, world

LIFELIKE = KubeletOptions(timing="lifelike")
CAUSE = {"kubernetes.io/change-cause": "first version"}


@asynccontextmanager
async def walked(images: tuple[str, ...] = ("nginx:1",), nodes: int = 3, **options: object) -> AsyncIterator[World]:
    """A world in which DaemonSet `web` was rolled out with each of these images, one after the other."""
    async with world(nodes=nodes, **options) as here:
        tree = daemon_set("web", images[0])
        tree["metadata"]["annotations"] = CAUSE
        await here.create(DAEMON_SETS, tree)
        await here.until_available("web", nodes)
        for image in images[1:]:
            await set_images(here.door, "web", "default", {"c": image}, cause=f"image {image}")
            await here.until_available("web", nodes)
        yield here


async def image_of(here: World, name: str = "web") -> str:
    """The image that its template has."""
    tree = await here.get(DAEMON_SETS, name)
    assert tree is not None
    return str(tree["spec"]["template"]["spec"]["containers"][0]["image"])
