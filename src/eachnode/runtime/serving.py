"""The small HTTP endpoint that tells how a loop is: /healthz, /readyz and /metrics."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from aiohttp import web

from eachnode.runtime.metrics import Metrics

Check = Callable[[], str]  # What is wrong in a sentence; empty when all is well.
PLAIN = "text/plain"


class Endpoint:
    """Answers at `host:port` from `start` to `stop`; the body names each check and what it found."""

    def __init__(
        self,
        metrics: Metrics,
        *,
        ready: Mapping[str, Check],
        alive: Mapping[str, Check] | None = None,
        state: Callable[[], str] = lambda: "",
    ) -> None:
        self._metrics, self._ready, self._alive, self._state = metrics, dict(ready), dict(alive or {}), state
        self._runner: web.AppRunner | None = None

    async def start(self, host: str, port: int) -> int:
        """Listen; the answer is the port, chosen by the system when 0 was given. Raises OSError."""
        application = web.Application()
        application.router.add_get("/healthz", self._healthz)
        application.router.add_get("/livez", self._healthz)
        application.router.add_get("/readyz", self._readyz)
        application.router.add_get("/metrics", self._show_metrics)
        runner = web.AppRunner(application, access_log=None)
        await runner.setup()
        try:
            await web.TCPSite(runner, host, port).start()
        except OSError:
            await runner.cleanup()
            raise
        self._runner = runner
        return int(runner.addresses[0][1])

    async def stop(self) -> None:
        """Answer no more."""
        runner, self._runner = self._runner, None
        if runner is not None:
            await runner.cleanup()

    async def _healthz(self, _: web.Request) -> web.Response:
        return self._verdict(self._alive)

    async def _readyz(self, _: web.Request) -> web.Response:
        return self._verdict(self._ready)

    async def _show_metrics(self, _: web.Request) -> web.Response:
        content_type = "text/plain; version=0.0.4; charset=utf-8"
        return web.Response(body=self._metrics.text(), headers={"Content-Type": content_type})

    def _verdict(self, checks: Mapping[str, Check]) -> web.Response:
        found = {name: check() for name, check in checks.items()}
        lines = [f"[-] {name}: {trouble}" if trouble else f"[+] {name}" for name, trouble in found.items()]
        failed = any(found.values())
        state = self._state()
        text = "\n".join([*lines, *([state] if state else []), "not ok" if failed else "ok"]) + "\n"
        return web.Response(text=text, status=503 if failed else 200, content_type=PLAIN)


def parse_address(text: str) -> tuple[str, int]:
    """Host and port out of `:8080`, `host:8080` or `[::1]:8080`; raises ValueError."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise ValueError(f"an address is HOST:PORT or :PORT, not {text!r}")
    return host.strip("[]") or "0.0.0.0", int(port)  # noqa: S104 - `:PORT` means every interface, as everywhere
