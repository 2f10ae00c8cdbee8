"""What runs against a server over HTTP when that server goes away and comes back."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest

from eachnode.client.access import Access
from eachnode.client.cluster import Cluster
from eachnode.client.credentials import FixedCredentials, bearer
from eachnode.embedded.options import ClusterOptions
from eachnode.embedded.serving import ServingOptions, serve
from eachnode.objects.meta import Key, MetadataOnly
from eachnode.objects.resources import CONFIG_MAPS
from eachnode.objects.status import Unreachable
from eachnode.runtime.clock import SystemClock
from eachnode.runtime.informer import Informer
from tests.contract.houses import config_map, until_it_holds

pytestmark = pytest.mark.sockets


async def test_an_informer_outlives_its_server(tmp_path: Path) -> None:
    options = ClusterOptions(data_dir=tmp_path, components=())
    keyholder = FixedCredentials(bearer("secret"))
    async with serve(options, ServingOptions(token="secret", insecure_http=True)) as first:
        url = first.url
        door = Cluster(Access(url, credentials=keyholder))
        maps = Informer(
            door, CONFIG_MAPS, MetadataOnly, clock=SystemClock(), chance=random.Random(1), namespace="default"
        )
        task = asyncio.create_task(maps.run())
        async with asyncio.timeout(20):
            await maps.synced.wait()
            await door.create(CONFIG_MAPS, config_map("a"), "default")
            await door.create(CONFIG_MAPS, config_map("b"), "default")
            await until_it_holds(maps, Key("default", "a"), Key("default", "b"))
    with pytest.raises(Unreachable):
        await door.get(CONFIG_MAPS, "a", "default")
    async with serve(options, ServingOptions(token="secret", insecure_http=True, port=int(url.rpartition(":")[2]))):
        async with asyncio.timeout(20):
            await door.delete(CONFIG_MAPS, "a", "default")
            await door.create(CONFIG_MAPS, config_map("c"), "default")
            await until_it_holds(maps, Key("default", "b"), Key("default", "c"))
        task.cancel()
        await asyncio.wait({task})
        await door.close()
