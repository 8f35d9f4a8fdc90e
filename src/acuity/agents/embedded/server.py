"""EmbeddedServer: an MCP server inside a process that measures, so that agents can watch and steer it.

    measurement = Measurement()
    measurement.add_model("vmaf_v0.6.1")
    with EmbeddedServer(measurement) as server:
        print(server.start_sse().url)
        feed(measurement, pairs)

One thread serves every client of a server; what it needs for that is loaded when the first one connects. The
thread that feeds the measurement looks in at each frame boundary, takes a few commands if there are any, and
never waits.
"""

from __future__ import annotations

import asyncio
import atexit
import logging
import os
import socket
import threading
import weakref
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, Self
from urllib.parse import urlsplit

from acuity._native import Bridge
from acuity.access.paths import AllowedPaths
from acuity.agents import check_installed
from acuity.agents.embedded.config import (
    STEERED,
    EmbeddedConfig,
    check_kinds,
    check_port,
    check_seconds,
    check_url_path,
    default_paths,
    given_paths,
)
from acuity.agents.embedded.live.state import LiveState
from acuity.agents.embedded.presence import EMPTY, EndSignals, Presence, Watchers
from acuity.agents.embedded.server_thread import LazyEndpoints, LoopThread, PendingEndpoint
from acuity.agents.embedded.steering.bridge import BoundaryListener, CommandSender
from acuity.agents.embedded.steering.commands import Handoff, ModelLoader
from acuity.agents.standalone.acuity_product import declare_acuity
from acuity.errors import EmbeddedError
from acuity.scoring.watched import WatchedRun
from longwire.errors import LongwireError
from longwire.wire.descriptors import check_descriptor, copied
from longwire.wire.framing import FRAMINGS, FramingName
from longwire.wire.listeners import LOOPBACK, Address, bind, bound, listening

if TYPE_CHECKING:
    from acuity.agents.embedded.assembly import Endpoints
    from acuity.measure import Measurement

logger: Final = logging.getLogger(__name__)

Transport = Literal["sse", "uds", "stdio", "http"]
# Binds an address until the stack is closed; returns what serves it, and what to call the place.
_Binding = Callable[[ExitStack], tuple[PendingEndpoint, str]]

_HTTP_PATH: Final = "/mcp"
_PATIENCE: Final = 4.0  # seconds for last answers when the server stops
_RELOAD: Final = 2.0  # seconds in which a page that is loaded anew comes back


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """The address of a port that the server listens at."""

    host: str
    port: int
    url: str


def transport_available(name: str) -> bool:
    """Whether a server here can be reached in this way: 'sse', 'uds', 'stdio' or 'http'."""
    return name in ("sse", "stdio", "http") or (name == "uds" and hasattr(socket, "AF_UNIX"))


class EmbeddedServer:
    """A server for one measurement. Raises EmbeddedError for what can't be done.

    Start it before the first frame, on as many transports as are wanted, each once; it stays until stop(),
    also when the measurement is over, so that results can be read. Methods may be called from any thread.
    """

    def __init__(
        self,
        measurement: Measurement,
        config: EmbeddedConfig | None = None,
        *,
        paths: Sequence[str | os.PathLike[str]] | AllowedPaths | None = None,
        total: int | None = None,
        watched: WatchedRun | None = None,
    ) -> None:
        """`paths` are the folders that clients may name files in, by default those of a standalone server.

        `total` says how many frames there will be, where that is known; `watched` says that and more.
        """
        check_installed()  # the protocol is loaded for the first client, which would be late to find out
        check_kinds(measurement, config, total, watched)
        declare_acuity()  # whose errors are sentences for clients, in whatever program this is
        self.config: Final = config or EmbeddedConfig()
        self.measurement: Final = measurement
        self._check_unstarted()
        self._lock = threading.RLock()
        self._native = Bridge(self.config.queue_depth)
        self._paths = given_paths(paths)
        self._watched = watched or WatchedRun(total=total)
        self._endpoints: LazyEndpoints | None = None
        self._listener: BoundaryListener | None = None
        self._sender: CommandSender | None = None
        self._over: Callable[[], None] = lambda: None  # tells clients of the end
        self._presence = Presence()
        self._watchers = Watchers()  # the live pages
        self._bound = ExitStack()  # addresses, until the server stops
        self._started: dict[Transport, str] = {}  # with where
        self._stopped = False

    # ---- transports -------------------------------------------------------------------------

    def start_sse(self, port: int = 0, path: str = "/mcp/sse") -> ServerAddress:
        """Serve events and messages over HTTP on 127.0.0.1; port 0 is any that is free."""
        check_port(port)
        check_url_path(path)
        return self._start_port("sse", port, path)

    def start_http(self, port: int = 0) -> ServerAddress:
        """Serve Streamable HTTP at /mcp on 127.0.0.1; port 0 is any that is free."""
        check_port(port)
        return self._start_port("http", port, _HTTP_PATH)

    def start_uds(self, path: str | os.PathLike[str]) -> None:
        """Serve a Unix socket, a message a line, whose file is for this user alone."""
        if not isinstance(path, str | os.PathLike):
            raise EmbeddedError(f"{path!r} is no path of a socket: name a file, as in ./vmaf.sock")
        if not os.fspath(path):
            raise EmbeddedError("the socket's path is empty: name a file, as in ./vmaf.sock")
        place = Path(path).absolute()

        def binding(stack: ExitStack) -> tuple[PendingEndpoint, str]:
            listener = stack.enter_context(listening(place))
            serve = PendingEndpoint(listener.fileno(), lambda endpoints: endpoints.uds(place, listener))
            return serve, str(place)

        self._start("uds", binding)

    def start_stdio(self, fd_in: int, fd_out: int, framing: FramingName = "lines") -> None:
        """Serve a client at two descriptors, which stay the caller's; never stdin, stdout or stderr.

        With the framing 'auto' messages are told apart as the client does it.
        """
        if not isinstance(framing, str) or framing not in FRAMINGS:
            raise EmbeddedError(f"the framing '{framing}' is unknown: use {' or '.join(FRAMINGS)}")
        try:
            check_descriptor(fd_in, "in")
            check_descriptor(fd_out, "out")
        except LongwireError as error:
            raise EmbeddedError(str(error)) from None

        def binding(stack: ExitStack) -> tuple[PendingEndpoint, str]:
            read, write = stack.enter_context(copied(fd_in, fd_out))

            def serve(endpoints: Endpoints) -> AbstractAsyncContextManager[Any]:
                return endpoints.pair(read, write, framing, self._pair_left)

            return PendingEndpoint(read, serve, listens=False), f"descriptors {fd_in} and {fd_out}"

        self._start("stdio", binding)

    transport_available = staticmethod(transport_available)

    # ---- waiting for clients ----------------------------------------------------------------

    def wait_for_client(self, timeout: float | None = None) -> bool:
        """Wait until a client has sent a request, `timeout` seconds at most; returns whether one has.

        Call it before the first frame: a client that subscribes then misses nothing. A handshake doesn't
        count as a request.
        """
        if timeout is not None:
            check_seconds("timeout", timeout)
        endpoints = self._serving()
        endpoints.thread.loop.call_soon_threadsafe(endpoints.begin)  # there is nothing better to do meanwhile
        return self._presence.wait_for_client(timeout)

    def stay(self, seconds: float | None = None, *, empty: float | None = EMPTY) -> None:
        """Go on serving for so many seconds; None: until the last client has left.

        Where none is connected, one may come within `empty` seconds (None: at any time) and is waited for.
        """
        for name, value in (("seconds", seconds), ("empty", empty)):
            if value is not None:
                check_seconds(name, value)
        thread = self._serving().thread
        thread.call(asyncio.sleep(seconds) if seconds is not None else self._presence.everybody_left(empty))

    def stay_for_pages(self, before: Callable[[], object] = lambda: None) -> None:
        """Go on serving while a live page is open; `before` is called first, if one is."""
        if self._endpoints is None or not len(self._watchers):
            return
        before()
        self._endpoints.thread.call(self._watchers.everybody_left(_RELOAD))

    # ---- the end ----------------------------------------------------------------------------

    def stop(self, linger: float | None = None) -> None:
        """Notify clients of the end, answer what they asked, disconnect them and leave the measurement.

        When the measurement is over or has failed, connected clients get `linger` seconds at most (None: as
        configured) to read the report; less if they leave or fall silent. May be called again.
        """
        if linger is not None:
            check_seconds("linger", linger)
        with self._lock:
            if self._stopped:
                return
            self._stopped = True
            try:
                if self._endpoints is not None:
                    seconds = self.config.linger if linger is None else linger
                    ended = self.measurement.over or self.measurement.failure is not None
                    if ended:
                        self._over()  # an open measurement that failed hasn't told it
                    last = seconds if ended else 0.0
                    self._endpoints.thread.call(self._endpoints.finish(last))
            finally:  # whatever interrupts the waiting
                self._tear_down()

    def _tear_down(self) -> None:
        if self._listener is not None:
            self._listener.detach()
        if self._endpoints is not None:
            thread = self._endpoints.thread
            if self._sender is not None:  # commands that wait for a frame boundary are refused
                thread.loop.call_soon_threadsafe(self._sender.detach)
            thread.stop(_PATIENCE)
            self._endpoints = None
        self._bound.close()
        self._native.close()
        _servers.discard(self)

    close = stop

    def forget(self) -> None:
        """Let go of everything, in a forked child: the server is the parent's."""
        self._lock = threading.RLock()  # another thread may have held it
        self._stopped = True
        if self._listener is not None:
            self._listener.detach()
        if self._endpoints is not None:
            self._endpoints.thread.forget()
        self._native.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if error is not None:
            self.measurement.fail(error)
        self.close()

    @property
    def started(self) -> dict[Transport, str]:
        """The transports that were started, each with its address."""
        return dict(self._started)

    # ---- starting ---------------------------------------------------------------------------

    def _start_port(self, name: Literal["sse", "http"], port: int, path: str) -> ServerAddress:
        def binding(stack: ExitStack) -> tuple[PendingEndpoint, str]:
            listener = bind(Address(LOOPBACK, port))
            stack.callback(listener.close)
            serve = PendingEndpoint(
                listener.fileno(), lambda endpoints: endpoints.port(name, port, path, listener)
            )
            return serve, f"http://{bound(listener)}{path}"

        url = self._start(name, binding)
        return ServerAddress(LOOPBACK, urlsplit(url).port or 0, url)

    def _start(self, name: Transport, binding: _Binding) -> str:
        with self._lock:
            if self._stopped:
                raise EmbeddedError("the server was stopped already: make another one")
            if name in self._started:
                raise EmbeddedError(f"'{name}' was already started, at {self._started[name]}")
            self._check_unstarted()
            try:
                with ExitStack() as stack:
                    endpoints = self._running()
                    endpoint, place = binding(stack)
                    endpoints.thread.call(endpoints.add(endpoint))
                    self._bound.push(stack.pop_all())
            except LongwireError as error:
                raise EmbeddedError(str(error)) from None
            self._started[name] = place
            logger.info(
                "listening on %s", place, extra={"event": "listening", "transport": name, "address": place}
            )
            return place

    def _running(self) -> LazyEndpoints:
        """The endpoints, with the thread and the bridge, which are made for the first transport."""
        if self._endpoints is not None:
            return self._endpoints
        if self.measurement.boundary.waiter is not None:
            raise EmbeddedError(STEERED)
        paths = (self._paths or default_paths()).with_files(self._watched.files)
        end, both = EndSignals(), (self.measurement, self._native, Handoff())
        sender = CommandSender(*both, ModelLoader(paths), timeout=self.config.command_timeout)
        thread = LoopThread("acuity-mcp")

        def over() -> None:
            sender.ended()
            with suppress(RuntimeError):  # where the loop has ended before
                thread.loop.call_soon_threadsafe(end.over.set)

        thread.call(_on_loop(sender.attach, thread.loop))
        listener = BoundaryListener(*both, max_per_frame=self.config.max_drain_per_frame, on_end=over)
        live = LiveState(self.measurement, self._native, listener, watched=self._watched)

        def load() -> AbstractAsyncContextManager[Endpoints]:
            from acuity.agents.embedded.assembly import assembled

            return assembled(live, sender, paths, self.config, self._presence, end, self._watchers)

        self._listener, self._sender, self._over = listener, sender, over
        self._endpoints = LazyEndpoints(thread, load, self._presence, end)
        _servers.add(self)
        return self._endpoints

    def _serving(self) -> LazyEndpoints:
        if self._endpoints is None:
            raise EmbeddedError("the server listens nowhere: start it first")
        return self._endpoints

    def _pair_left(self) -> None:
        """Note that the client at the descriptors has gone, where no other can come."""
        if list(self._started) == ["stdio"]:
            self._presence.give_up()

    def _check_unstarted(self) -> None:
        if self.measurement.over:
            raise EmbeddedError("the measurement is over: start the server before its first frame")
        if self.measurement.frames:
            raise EmbeddedError("the measurement has begun already: start the server before its first frame")


async def _on_loop(work: Callable[..., None], *arguments: Any) -> None:
    work(*arguments)


# ---- the servers of this process ----------------------------------------------------------------

_servers: Final[weakref.WeakSet[EmbeddedServer]] = weakref.WeakSet()  # those that run
_forgotten: Final[list[EmbeddedServer]] = []  # kept in a forked child: only the parent may take them apart


def _stop_all() -> None:
    for server in list(_servers):
        server.stop()


def _forget_all() -> None:
    for server in list(_servers):
        server.forget()
        _forgotten.append(server)
    _servers.clear()


atexit.register(_stop_all)
os.register_at_fork(after_in_child=_forget_all)
