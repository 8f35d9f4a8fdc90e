"""A worker put together: the socket that it listens on, its signals, and the parent that it ends with."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final, get_args

from mcp.server.lowlevel import Server

from longwire.contract import writing
from longwire.contract.envelopes import PARENT_VARIABLE, SOCKET_VARIABLE, Bye, NotifyOutcome
from longwire.errors import SettingsError
from longwire.guard.access import Access
from longwire.settings import WireLimits
from longwire.supervised_process import end_with
from longwire.wire.listeners import listening
from longwire.wire.replies import notification_payload
from longwire.wire.serving import Serving, shared_lifespan
from longwire.wire.tasks import collect_rarely, loop_factory
from longwire.worker.link import RuntimeLink
from longwire.worker.service import Introduction, Service

logger: Final = logging.getLogger(__name__)

GRACE: Final = 5.0  # seconds that calls may take after SIGTERM


class Listening:
    """A worker that listens: its connections, and its end."""

    def __init__(self, service: Service) -> None:
        self.service: Final = service
        self._links: set[RuntimeLink] = set()

    def connected(self) -> RuntimeLink:
        link = RuntimeLink(self.service, self._links.discard)
        self._links.add(link)
        return link

    @property
    def is_busy(self) -> bool:
        """Whether calls run that end by themselves."""
        return any(link.is_answering for link in self._links)

    async def notify(
        self, session_id: str | None, method: str, params: Mapping[str, Any] | None
    ) -> NotifyOutcome | None:
        """Send a notification outside of a call to one session or (None) to all; None: nobody answers.

        In a cluster one node is told, which tells the others.
        """
        links = {link.cluster or id(link): link for link in self._links if link.greeted}
        payload = notification_payload(method, params)
        told = await asyncio.gather(*(link.notify(session_id, payload) for link in links.values()))
        return min(filter(None, told), key=get_args(NotifyOutcome).index, default=None)

    def say(self, frame: bytes) -> None:
        for link in self._links:
            link.write(frame)

    async def finish(self, reason: str, grace: float) -> None:
        """Take no more calls, let those that run end, and close the connections."""
        self.say(writing.envelope(Bye(reason)))
        with suppress(TimeoutError):
            async with asyncio.timeout(grace):
                while self.is_busy:
                    await asyncio.sleep(_LOOK)
        for link in list(self._links):
            link.close()
        await self.service.close()


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
    limits: WireLimits | None = None,
    grace: float = GRACE,
    on_ready: Callable[[Listening], object] = lambda _: None,
) -> None:
    """Serve a server of the SDK until `stop` is set; raises SettingsError."""
    async with shared_lifespan(server) as state:
        serving = Serving(server, limits or WireLimits(), state, Access())
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
    on_ready: Callable[[Listening], object] = lambda _: None,
) -> None:
    """Serve until SIGTERM, SIGINT or the end of the parent; raises SettingsError."""
    if not isinstance(server, Server):
        raise SettingsError(
            f"a '{type(server).__name__}' can't be a worker: use longwire.worker.App, "
            "or a Server of mcp.server.lowlevel"
        )

    async def serve(stop: asyncio.Event) -> None:
        collect_rarely()
        await serve_worker(server, introduction, path, stop=stop, on_ready=on_ready)

    run_until_stopped(serve)


def run_until_stopped(serve: Callable[[asyncio.Event], Coroutine[Any, Any, None]]) -> None:
    """Run a worker on an event loop; SIGTERM, SIGINT or the end of the parent set the event that it gets."""

    async def main() -> None:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop.set)
        if (parent := parent_of()) is not None:
            end_with(parent, lambda: loop.call_soon_threadsafe(stop.set), grace=GRACE)
        await serve(stop)

    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(main())


def parent_of() -> int | None:
    """The process that this one ends with, by its environment; raises SettingsError."""
    text = os.environ.get(PARENT_VARIABLE)
    if not text:
        return None
    if not text.isascii() or not text.isdigit():
        raise SettingsError(f"{PARENT_VARIABLE} is '{text}': it should be the id of a process")
    return int(text)


def socket_of(given: str | None) -> Path:
    """The path at which the worker should listen; raises SettingsError."""
    text = given or os.environ.get(SOCKET_VARIABLE)
    if not text:
        raise SettingsError(f"a worker needs a socket: use --socket PATH, or set {SOCKET_VARIABLE}")
    return Path(text)
