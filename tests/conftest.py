"""How tests run: coroutines on virtual time, unless marked `sockets`; properties alike on every machine."""

from __future__ import annotations

import asyncio
import inspect
import os
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from eachnode.runtime.virtual_time import VirtualTimeLoop

# A slow machine is no failure, and a suite that runs twice tests the same twice. HYPOTHESIS_PROFILE=more looks further.
settings.register_profile(
    "same", deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("more", settings.get_profile("same"), derandomize=False, max_examples=5_000, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))


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
