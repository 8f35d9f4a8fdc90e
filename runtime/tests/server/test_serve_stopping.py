"""How a server ends: by a signal, with work in flight, at once; and what systemd is told."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import MCPError
from prometheus_client import CollectorRegistry

from longwire.endpoints import Endpoint, Http, Page, Uds
from longwire.errors import SettingsError
from longwire.guard.access import Access
from longwire.guard.tokens import Tokens
from longwire.operations.metrics import metrics_pages
from longwire.server.main import ServiceManager
from longwire.settings import Settings
from longwire.wire.listeners import bind, bound
from raw_http import http_client
from server_program import program, until
from transport_bench import ENDPOINTS, ERAS, LOCAL, SECONDS, serving

TRANSPORTS = pytest.mark.parametrize("transport", list(ENDPOINTS))
LONG = "x" * 400_000  # more than a socket takes at once
BOTH_ERAS = pytest.mark.parametrize("era", ERAS)


class Caller:
    """A call that waits, and what became of it."""

    answer: Any = None

    async def wait(self, client: Any) -> None:
        with suppress(MCPError):
            self.answer = (await client.call_tool("wait", {"text": LONG})).structured_content


class Stopping:
    """What a server does when it is asked to stop: it lasts until a test lets it go on."""

    def __init__(self) -> None:
        self.begun, self.go_on = anyio.Event(), anyio.Event()

    async def __call__(self, grace: float) -> None:
        self.grace = grace
        self.begun.set()
        await self.go_on.wait()


@TRANSPORTS
@BOTH_ERAS
async def test_work_that_ends_within_the_grace_time_is_answered(
    transport: str, era: str, tmp_path: Path
) -> None:
    caller, stopping = Caller(), Stopping()
    settings = Settings(grace=SECONDS)
    async with (
        serving(ENDPOINTS[transport](tmp_path), settings=settings, on_stop=stopping) as server,
        server.client(era) as client,
    ):
        await client.list_tools()  # or the client asks for it when it has its answer
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(caller.wait, client)
            await server.bench.started.reaches()
            server.stop.request()
            await stopping.begun.wait()
            assert stopping.grace == SECONDS
            stopping.go_on.set()
            if transport == "uds":  # others may have to open a connection for it
                with pytest.raises(MCPError, match="the server is stopping"):
                    await client.call_tool("echo")
            server.bench.release.set()
        assert caller.answer == {"waited": LONG}
        await server.over.wait()


@asynccontextmanager
async def busy(endpoint: Endpoint, grace: float, **more: Any) -> AsyncIterator[Any]:
    """A server whose client waits for a call."""
    async with (
        serving(endpoint, settings=Settings(grace=grace), **more) as server,
        anyio.create_task_group() as tasks,
    ):

        async def stay() -> None:
            async with server.client("legacy") as client:
                await Caller().wait(client)

        tasks.start_soon(stay)
        await server.bench.started.reaches()
        yield server
        await server.over.wait()
        assert server.bench.cancelled.count == 1
        tasks.cancel_scope.cancel()


@TRANSPORTS
async def test_work_that_takes_longer_is_cancelled(transport: str, tmp_path: Path) -> None:
    async with busy(ENDPOINTS[transport](tmp_path), 0.1) as server:
        server.stop.request()


async def test_a_second_wish_is_granted_at_once() -> None:
    stopping = Stopping()
    async with busy(Http(LOCAL), 10 * SECONDS, on_stop=stopping) as server:
        server.stop.request()
        await stopping.begun.wait()
        server.stop.request()


@pytest.mark.parametrize("transport", ["uds", "http"])
async def test_a_server_that_stops_takes_no_new_clients(transport: str, tmp_path: Path) -> None:
    stopping = Stopping()
    async with serving(ENDPOINTS[transport](tmp_path), on_stop=stopping) as server:
        server.stop.request()
        await stopping.begun.wait()
        address = server.where.removeprefix("http://").partition("/")[0]
        refused = "Connection refused|All connection attempts failed"
        with pytest.raises(OSError, match=refused):
            if transport == "uds":
                await anyio.connect_unix(server.where)
            else:
                await anyio.connect_tcp("127.0.0.1", int(address.rpartition(":")[2]))


async def test_idle_clients_do_not_delay_the_end(tmp_path: Path) -> None:
    at = [Uds(tmp_path / "s"), Http(LOCAL, frozenset({"http", "sse"}))]
    settings = Settings(grace=10 * SECONDS)
    async with serving(*at, settings=settings) as server, anyio.create_task_group() as tasks:
        connected = [anyio.Event() for _ in server.opened]

        async def stay(index: int) -> None:
            async with server.client("legacy", index=index) as client:
                await client.call_tool("echo")
                connected[index].set()
                await anyio.sleep_forever()

        for index in range(len(connected)):
            tasks.start_soon(stay, index)
        for event in connected:
            await event.wait()
        server.stop.request()
        await server.over.wait()
        tasks.cancel_scope.cancel()


async def test_an_endpoint_that_cannot_be_opened_closes_the_others(tmp_path: Path) -> None:
    with bind(LOCAL) as taken:
        with pytest.RaisesGroup(SettingsError, flatten_subgroups=True) as raised:
            async with serving(Uds(tmp_path / "s"), Http(bound(taken))):
                pass
        assert raised.group_contains(SettingsError, match="is in use already")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_end_the_program_cleanly(number: signal.Signals, tmp_path: Path) -> None:
    path = tmp_path / "s"
    with program("--uds", str(path), "--http") as process:
        until(process.stderr, b'"listening"')
        until(process.stderr, b'"listening"')
        assert path.exists()
        process.send_signal(number)
        out, err = process.communicate(timeout=SECONDS)
        assert (process.returncode, out) == (0, b"")
        assert [json.loads(text)["event"] for text in err.splitlines()] == ["signal", "stopping"]
        assert not path.exists()


def test_a_second_server_says_so_in_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with program("--uds", str(path)) as first:
        until(first.stderr, b'"listening"')
        # The sentence passes through an endpoint that is open already.
        with program("--http", "--uds", str(path), stdin=subprocess.DEVNULL) as second:
            out, err = second.communicate(timeout=SECONDS)
        assert (second.returncode, out) == (1, b"")
        assert (
            err.decode() == f"bench: '{path}' is in use by another server: stop it or choose another path\n"
        )
        assert path.exists()


async def test_pages_for_operators_are_there_until_the_end() -> None:
    stopping = Stopping()
    pages = metrics_pages(CollectorRegistry(), lambda: "it stops" if stopping.begun.is_set() else None)
    page = Page("metrics", LOCAL, pages, "/readyz")
    access, settings = Access(Tokens({"a-token-of-some-length": "a"})), Settings(grace=SECONDS)
    async with serving(Http(LOCAL), page, access=access, settings=settings, on_stop=stopping) as server:
        url = next(found.where for found in server.opened if found.transport == "metrics")
        for status in (200, 503):
            async with http_client() as http:  # a new connection
                assert (await http.get(url)).status_code == status
                assert (await http.get(url.replace("readyz", "healthz"))).status_code == 200
            if status == 200:
                server.stop.request()
                await stopping.begun.wait()
        stopping.go_on.set()
        await server.over.wait()


@pytest.fixture
def systemd(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(tmp_path / "notify"))
        listener.settimeout(SECONDS)
        yield listener


def told(systemd: socket.socket) -> list[str]:
    return systemd.recv(4096).decode().splitlines()


def test_its_variables_are_for_no_worker(systemd: socket.socket) -> None:
    environ = {"NOTIFY_SOCKET": systemd.getsockname(), "WATCHDOG_USEC": "1", "WATCHDOG_PID": "1", "PATH": "/"}
    assert ServiceManager(environ)
    assert environ == {"PATH": "/"}


def test_what_it_is_told(systemd: socket.socket) -> None:
    manager = ServiceManager({"NOTIFY_SOCKET": systemd.getsockname()})
    assert manager
    manager.ready("serving\nhttp://x")
    assert told(systemd) == ["READY=1", "STATUS=serving http://x"]
    manager.stopping()
    assert told(systemd)[0] == "STOPPING=1"


def test_a_name_without_a_file() -> None:
    name = f"acuity-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(f"\0{name}")
        ServiceManager({"NOTIFY_SOCKET": f"@{name}"}).ready("x")
        listener.settimeout(SECONDS)
        assert told(listener)[0] == "READY=1"


async def test_signs_of_life(systemd: socket.socket) -> None:
    environ = {"NOTIFY_SOCKET": systemd.getsockname(), "WATCHDOG_USEC": "200000", "WATCHDOG_PID": "7"}
    with ServiceManager(environ, pid=7).watched():
        for _ in range(3):
            assert await anyio.to_thread.run_sync(told, systemd) == ["WATCHDOG=1"]
    systemd.setblocking(False)
    with pytest.raises(BlockingIOError):
        systemd.recv(1)


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"WATCHDOG_USEC": "1000"},
        {"NOTIFY_SOCKET": "/nowhere/notify", "WATCHDOG_USEC": "junk"},
        {"NOTIFY_SOCKET": "relative", "WATCHDOG_USEC": "1000"},
        {"NOTIFY_SOCKET": "/nowhere/notify", "WATCHDOG_USEC": "1000", "WATCHDOG_PID": "1"},
    ],
)
async def test_without_one_nothing_happens(environ: dict[str, str]) -> None:
    manager = ServiceManager(environ)
    with manager.watched():
        manager.ready("x")
        manager.stopping()
