"""Fixtures and settings that the tests of both packages share, as a plugin of pytest."""

from __future__ import annotations

import asyncio
import gc
import inspect
import os
import signal
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack

import pytest
import uvloop
from hypothesis import HealthCheck, settings

from devtools import BROWSER, Chromium, DevTools, chromium_process
from waiting import LeapingLoop

settings.register_profile(
    "usual", deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("thorough", settings.get_profile("usual"), max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "usual"))

# Pydantic would search all installed distributions for plugins, in each process that a test starts.
os.environ["PYDANTIC_DISABLE_PLUGINS"] = "__all__"

# Text is wrapped where a width is set, in pipes too; a test that wants one sets it.
os.environ.pop("COLUMNS", None)

# A shell starts background jobs with these signals ignored, and every process of a test would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that need Redis are skipped where there is none."""
    found = [item for item in items if item.get_closest_marker("redis")]
    if found:
        from redis_server import MISSING, PROGRAM

        for item in found:
            item.add_marker(pytest.mark.skipif(PROGRAM is None, reason=MISSING))


def pytest_collection_finish(session: pytest.Session) -> None:
    """What collecting the tests has made stays, so gc.collect() in a test needn't go through all of it.

    Where a test was found that needs it, what programs are forked from is started.
    """
    gc.collect()
    gc.freeze()
    prepared = sys.modules.get("prepared_programs")
    if prepared is not None and not session.config.option.collectonly:
        prepared.prepare()


# How the reason of a skip ends where a program is missing.
_MISSING = "installed here"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """In CI a test that can't run for want of a program has failed: .ci/run installs it."""
    report = yield
    if os.environ.get("CI") and report.skipped and _MISSING in str(report.longrepr):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} needs a program that is not {_MISSING}: see .ci/run"
    return report


@pytest.hookimpl
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """A test that is a coroutine runs in an event loop of its own, and fails rather than hangs.

    Its fixtures that are async context managers are entered there, and it is given what they make.
    """
    test = pyfuncitem.obj
    if not inspect.iscoroutinefunction(test):
        return None

    async def run() -> None:
        async with AsyncExitStack() as stack:
            given = {name: pyfuncitem.funcargs[name] for name in inspect.signature(test).parameters}
            for name, value in given.items():
                if isinstance(value, AbstractAsyncContextManager):
                    given[name] = await stack.enter_async_context(value)
            await test(**given)

    given = pyfuncitem.funcargs
    with asyncio.Runner(loop_factory=given.get("each_loop") or given.get("leaping_loop")) as runner:
        runner.run(asyncio.wait_for(run(), 240))
    return True


@pytest.fixture(params=[asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def each_loop(request: pytest.FixtureRequest) -> Callable[[], asyncio.AbstractEventLoop]:
    """The kinds of event loops, for tests that run on each."""
    made: Callable[[], asyncio.AbstractEventLoop] = request.param
    return made


@pytest.fixture
def leaping_loop() -> type[LeapingLoop]:
    """For tests of timers alone."""
    return LeapingLoop


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    """A browser that the tests of a file share; each has pages of its own."""
    if BROWSER is None:
        pytest.skip("neither chromium nor google-chrome is installed here")
    with chromium_process(tmp_path_factory.mktemp("chromium")) as browser:
        yield browser


@pytest.fixture
def page(chromium: Chromium) -> AbstractAsyncContextManager[DevTools]:
    """A page of its own."""
    return chromium.page()
