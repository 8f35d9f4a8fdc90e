"""Tests may be coroutines."""

from __future__ import annotations

import inspect
from functools import partial

import anyio
import pytest

_LONGEST = 240.0  # seconds


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that is a coroutine on a loop of its own."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in inspect.signature(pyfuncitem.obj).parameters}

    async def limited() -> None:
        with anyio.fail_after(_LONGEST):
            await partial(pyfuncitem.obj, **arguments)()

    anyio.run(limited)
    return True
