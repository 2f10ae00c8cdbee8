"""Starting, stopping, and starting again."""

from __future__ import annotations

import asyncio
import json
import ssl
from pathlib import Path
from typing import Any

import pytest
import yaml

from eachnode.server.http import Front, HttpOptions
from eachnode.server.http.certificates import DAY
from tests.server.http.sites import config_map, running

pytestmark = pytest.mark.sockets

MAPS = "/api/v1/namespaces/home/configmaps"


async def test_stopping_lets_a_request_finish(monkeypatch: pytest.MonkeyPatch) -> None:
    async with running() as site:
        await site.call(f"POST {MAPS}", config_map("a"))
        begun, gate = asyncio.Event(), asyncio.Event()
        get_as = site.front.api.get_as

        async def waits(*arguments: Any, **options: Any) -> Any:
            begun.set()
            await gate.wait()
            return await get_as(*arguments, **options)

        monkeypatch.setattr(site.front.api, "get_as", waits)
        asked = asyncio.create_task(site.call(f"GET {MAPS}/a"))
        await begun.wait()
        stopping = asyncio.create_task(site.front.stop())
        await asyncio.sleep(0)
        gate.set()
        assert (await asked).status == 200
        await stopping


async def test_nobody_is_let_in_after_stopping() -> None:
    async with running() as site:
        port = site.port
        await site.front.stop()
        with pytest.raises(OSError, match="onnect"):
            await asyncio.open_connection("127.0.0.1", port)


async def test_a_taken_address_is_said_at_once() -> None:
    async with running() as site:
        second = Front(site.front.api, HttpOptions(port=site.port, insecure_http=True))
        with pytest.raises(OSError, match="in use"):
            await second.start()
        await second.stop()


async def test_starting_again_keeps_certificates_and_tokens(tmp_path: Path) -> None:
    async with running(tmp_path) as site:
        authority, issued = site.front.ca_pem, site.front.accounts
        claims_key = (tmp_path / "service-accounts.key").read_bytes()
    async with running(tmp_path) as site:
        assert site.front.ca_pem == authority
        assert (tmp_path / "service-accounts.key").read_bytes() == claims_key
        assert site.front.accounts is not issued


async def test_the_admins_token_is_kept_unless_one_is_given(tmp_path: Path) -> None:
    async with running() as site:
        api = site.front.api
        first = Front(api, HttpOptions(port=0, data_dir=tmp_path, insecure_http=True))
        again = Front(api, HttpOptions(port=0, data_dir=tmp_path, insecure_http=True))
        assert first.admin_token == again.admin_token == (tmp_path / "admin.token").read_text().strip()
        assert Front(api, HttpOptions(token="mine", data_dir=tmp_path, insecure_http=True)).admin_token == "mine"
        without = {Front(api, HttpOptions(insecure_http=True)).admin_token for _ in range(2)}
        assert len(without) == 2  # Nowhere to keep one: each has its own.
        assert "" not in without


async def test_the_kubeconfig_leads_to_the_server(tmp_path: Path) -> None:
    async with running(tmp_path) as site:
        site.front.write_kubeconfig(tmp_path / "kubeconfig")
        tree = yaml.safe_load((tmp_path / "kubeconfig").read_text())
        assert tree["clusters"][0]["cluster"]["server"] == site.front.url
        token = tree["users"][0]["user"]["token"]
        assert (await site.call(f"GET {MAPS}", token=token)).status == 200


async def test_a_certificate_renewed_while_running_is_shown_to_new_connections(tmp_path: Path) -> None:
    async with running(tmp_path) as site:
        record = tmp_path / "server.json"
        about = json.loads(record.read_text())
        record.write_text(json.dumps({**about, "expires": site.front.api.registry.now() + 29 * DAY}))
        before = (tmp_path / "server.crt").read_bytes()
        assert site.front.renew_certificates()
        after = (tmp_path / "server.crt").read_text()
        assert after.encode() != before
        shown = await asyncio.to_thread(ssl.get_server_certificate, ("127.0.0.1", site.port))
        assert after.startswith(shown)
        assert not site.front.renew_certificates()
