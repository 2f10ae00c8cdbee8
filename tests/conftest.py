"""How tests run: coroutine tests on virtual time, unless they are marked `sockets`."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

import pytest

from eachnode.runtime.virtual_time import VirtualTimeLoop


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "behaviour(*numbers): shows these numbered behaviours of the reference")
    config.addinivalue_line("markers", "sockets: talks over real sockets, so it runs in real time")


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    loop_factory: Callable[[], asyncio.AbstractEventLoop] = VirtualTimeLoop
    if pyfuncitem.get_closest_marker("sockets"):
        loop_factory = asyncio.new_event_loop
    names = inspect.signature(pyfuncitem.obj).parameters
    arguments: dict[str, Any] = {name: pyfuncitem.funcargs[name] for name in names}
    with asyncio.Runner(loop_factory=loop_factory) as runner:
        runner.run(pyfuncitem.obj(**arguments))
    return True
