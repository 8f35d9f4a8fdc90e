"""A worker put together: the socket that it listens on, its signals, and the parent that it ends with."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final

from mcp.server.lowlevel import Server

from acuity.child_process import end_with
from acuity.errors import SettingsError
from acuity.mcp.contract import writing
from acuity.mcp.contract.launch import PARENT_VARIABLE, SOCKET_VARIABLE
from acuity.mcp.runtime.replies import notification_payload
from acuity.mcp.settings import WireLimits
from acuity.mcp.wire.listeners import listening
from acuity.mcp.wire.serving import Serving, shared_lifespan
from acuity.mcp.wire.tasks import collect_rarely, loop_factory
from acuity.mcp.worker.link import Link
from acuity.mcp.worker.service import Introduction, Service

logger: Final = logging.getLogger(__name__)

GRACE: Final = 5.0  # seconds that calls may take after SIGTERM
_WIRE_LIMITS: Final = WireLimits()


class Listening:
    """A worker that listens: its connections, and its end."""

    def __init__(self, service: Service) -> None:
        self.service: Final = service
        self._links: set[Link] = set()

    def connected(self) -> Link:
        """The protocol of a new connection."""
        link = Link(self.service, self._lost)
        self._links.add(link)
        return link

    @property
    def is_busy(self) -> bool:
        """Whether calls run that end by themselves."""
        return any(link.is_answering for link in self._links)

    async def notify(self, method: str, params: Mapping[str, Any] | None) -> None:
        """Send a notification to all sessions, outside of a call."""
        self.say(writing.notify(None, [notification_payload(method, params)]))
        for link in list(self._links):
            await link.room()

    def say(self, frame: bytes) -> None:
        """Send a frame to every connected runtime."""
        for link in self._links:
            link.send(frame)

    async def finish(self, reason: str, grace: float) -> None:
        """Take no more calls, let those that run end, and close the connections."""
        self.say(writing.bye(reason))
        with suppress(TimeoutError):
            async with asyncio.timeout(grace):
                while self.is_busy:
                    await asyncio.sleep(_LOOK)
        for link in list(self._links):
            link.close()
        await self.service.close()

    def _lost(self, link: Link) -> None:
        self._links.discard(link)


_LOOK: Final = 0.02  # seconds between two looks at whether calls still run


@asynccontextmanager
async def worker_listening(
    serving: Serving, introduction: Introduction, path: Path
) -> AsyncIterator[Listening]:
    """A worker on a Unix socket while the block lasts; raises SettingsError."""
    worker = Listening(Service(serving, introduction))
    with listening(path) as listener:
        server = await asyncio.get_running_loop().create_unix_server(worker.connected, sock=listener)
        try:
            yield worker
        finally:
            server.close()
            await worker.finish("the worker ends", 0.0)


async def serve_worker(
    server: Server[Any],
    introduction: Introduction,
    path: Path,
    *,
    stop: asyncio.Event,
    limits: WireLimits = _WIRE_LIMITS,
    grace: float = GRACE,
    on_ready: Callable[[Listening], object] = lambda _: None,
) -> None:
    """Serve a server of the SDK until `stop` is set; raises SettingsError."""
    async with shared_lifespan(server) as state:
        serving = Serving(server, limits, state)
        async with worker_listening(serving, introduction, path) as worker:
            logger.info("the worker '%s' listens at %s", introduction.name, path)
            on_ready(worker)
            await stop.wait()
            await worker.finish("the worker was told to end", grace)


def run_worker(
    server: Server[Any],
    introduction: Introduction,
    path: Path,
    *,
    limits: WireLimits = _WIRE_LIMITS,
    on_ready: Callable[[Listening], object] = lambda _: None,
    environ: Mapping[str, str] = os.environ,
) -> None:
    """Serve until SIGTERM, SIGINT or the end of the parent; raises SettingsError."""
    if not isinstance(server, Server):
        raise SettingsError(
            f"a '{type(server).__name__}' can't be a worker: use acuity.worker.App, "
            "or a Server of mcp.server.lowlevel"
        )

    async def serve(stop: asyncio.Event) -> None:
        collect_rarely()
        await serve_worker(server, introduction, path, stop=stop, limits=limits, on_ready=on_ready)

    run_until_stopped(serve, environ)


def run_until_stopped(
    serve: Callable[[asyncio.Event], Coroutine[Any, Any, None]], environ: Mapping[str, str] = os.environ
) -> None:
    """Run a worker on an event loop; what it is given is set by SIGTERM, SIGINT or the end of the parent."""

    async def main() -> None:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop.set)
        if (parent := parent_of(environ)) is not None:
            end_with(parent, lambda: loop.call_soon_threadsafe(stop.set), grace=GRACE)
        await serve(stop)

    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(main())


def parent_of(environ: Mapping[str, str] = os.environ) -> int | None:
    """The process that this one ends with, by its environment; raises SettingsError."""
    text = environ.get(PARENT_VARIABLE)
    if not text:
        return None
    if not text.isascii() or not text.isdigit():
        raise SettingsError(f"{PARENT_VARIABLE} is '{text}': it should be the id of a process")
    return int(text)


def socket_of(given: str | None, environ: Mapping[str, str] = os.environ) -> Path:
    """Where the worker should listen; raises SettingsError."""
    text = given or environ.get(SOCKET_VARIABLE)
    if not text:
        raise SettingsError(f"a worker needs a socket: use --socket PATH, or set {SOCKET_VARIABLE}")
    return Path(text)
