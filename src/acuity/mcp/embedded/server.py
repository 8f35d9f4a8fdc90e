"""EmbeddedServer: an MCP server inside a process that measures, so that agents can watch and steer it.

    measurement = Measurement()
    measurement.add_model("vmaf_v0.6.1")
    with EmbeddedServer(measurement) as server:
        print(server.start_sse().url)
        feed(measurement, pairs)

One thread serves every client of a server. The thread that feeds the measurement looks in at each frame
boundary, takes a few commands if there are any, and never waits.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, Self, TypeVar

from acuity._native import Bridge
from acuity.errors import EmbeddedError
from acuity.mcp.embedded import life
from acuity.mcp.embedded.bridge import McpSide, MeasuringSide
from acuity.mcp.embedded.commands import Luggage
from acuity.mcp.embedded.config import EmbeddedConfig
from acuity.mcp.embedded.descriptors import check_descriptor, serve_copies
from acuity.mcp.embedded.loop_thread import LoopThread
from acuity.mcp.embedded.models import ModelLoader
from acuity.mcp.embedded.state import Live
from acuity.mcp.paths import AllowedPaths
from acuity.mcp.settings import Settings, SettingsError
from acuity.mcp.transports.framing import FRAMINGS, FramingName

if TYPE_CHECKING:
    from acuity.mcp.embedded.front import Front
    from acuity.measure import Measurement

logger: Final = logging.getLogger(__name__)

Transport = Literal["sse", "uds", "stdio", "http"]
_Value = TypeVar("_Value")

_PATIENCE: Final = 4.0  # seconds for last answers when the server stops


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """Where clients of a port find the server."""

    host: str
    port: int
    url: str


def transport_available(name: str) -> bool:
    """Whether a server here can be reached in this way: 'sse', 'uds', 'stdio' or 'http'."""
    return name in ("sse", "stdio", "http") or (name == "uds" and hasattr(socket, "AF_UNIX"))


class EmbeddedServer:
    """A server for one measurement. Raises EmbeddedError for whatever can't be.

    Start it before the first frame, on as many transports as are wanted, each once; it stays until stop(),
    also when the measurement is over, so that results can be read. Methods may be called from any thread.
    """

    def __init__(
        self,
        measurement: Measurement,
        config: EmbeddedConfig | None = None,
        *,
        paths: AllowedPaths | None = None,
        total: int | None = None,
    ) -> None:
        """`paths` are the folders that clients may name files in, by default those of a standalone server.

        `total` says how many frames there will be, where that is known.
        """
        self.config: Final = config or EmbeddedConfig()
        self.measurement: Final = measurement
        self._check_unstarted()
        self._lock = threading.RLock()
        self._native = Bridge(self.config.queue_depth)
        self._luggage = Luggage()
        self._given_paths = paths
        self._total = total
        self._thread: LoopThread | None = None
        self._side: MeasuringSide | None = None
        self._steer: McpSide | None = None
        self._front: Front | None = None
        self._started: dict[Transport, str] = {}  # with where
        self._stopped = False

    # ---- transports -------------------------------------------------------------------------

    def start_sse(self, port: int = 0, path: str = "/mcp/sse") -> ServerAddress:
        """Serve events and messages over HTTP on 127.0.0.1; port 0 is any that is free."""
        _check_port(port)
        if (
            not path.startswith("/")
            or not path.isascii()
            or not path.isprintable()
            or set(path) & set(" ?#{}")
        ):
            raise EmbeddedError(f"'{path}' is no path of a URL: write it as in /mcp/sse")
        found = self._start("sse", lambda front: front.sse(port, path), lambda found: found.url)
        return ServerAddress(found.address.host, found.address.port, found.url)

    def start_http(self, port: int = 0) -> ServerAddress:
        """Serve Streamable HTTP at /mcp on 127.0.0.1; port 0 is any that is free."""
        _check_port(port)
        found = self._start("http", lambda front: front.http(port), lambda found: found.url)
        return ServerAddress(found.address.host, found.address.port, found.url)

    def start_uds(self, path: str | os.PathLike[str]) -> None:
        """Serve a Unix socket, a message a line, whose file is for this user alone."""
        place = Path(path).absolute()
        self._start("uds", lambda front: front.uds(place), lambda _: str(place))

    def start_stdio(self, fd_in: int, fd_out: int, framing: FramingName = "lines") -> None:
        """Serve a client at two descriptors, which stay the caller's; never stdin, stdout or stderr.

        With the framing 'auto' messages are told apart as the client does it.
        """
        if framing not in FRAMINGS:
            raise EmbeddedError(f"the framing '{framing}' is unknown: use {' or '.join(FRAMINGS)}")
        check_descriptor(fd_in, "in")
        check_descriptor(fd_out, "out")
        self._start(
            "stdio",
            lambda front: serve_copies(front, fd_in, fd_out, framing),
            lambda _: f"descriptors {fd_in} and {fd_out}",
        )

    @staticmethod
    def transport_available(name: str) -> bool:
        """Whether a server here can be reached in this way: 'sse', 'uds', 'stdio' or 'http'."""
        return transport_available(name)

    # ---- the end ----------------------------------------------------------------------------

    def stop(self) -> None:
        """Answer what was asked, disconnect everybody and let the measurement alone; may be called again."""
        with self._lock:
            if self._stopped:
                return
            self._stopped = True
            if self._side is not None:
                self._side.detach()
            if self._thread is not None:
                if self._steer is not None:  # whoever waits for a frame boundary need not any more
                    self._thread.loop.call_soon_threadsafe(self._steer.detach)
                self._thread.stop(_PATIENCE)
                self._thread = None
            self._native.close()
            life.end(self)

    def close(self) -> None:
        """The same as stop(), for those who expect it to be there."""
        self.stop()

    def forget(self) -> None:
        """In a forked child: the server is the parent's."""
        self._lock = threading.RLock()  # another thread may have held it
        self._stopped = True
        if self._side is not None:
            self._side.detach()
        if self._thread is not None:
            self._thread.forget()
        self._native.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def started(self) -> dict[Transport, str]:
        """The transports that were started, each with where it is."""
        return dict(self._started)

    # ---- starting ---------------------------------------------------------------------------

    def _start(
        self,
        name: Transport,
        opening: Callable[[Front], AbstractAsyncContextManager[_Value]],
        where: Callable[[_Value], str],
    ) -> _Value:
        with self._lock:
            if self._stopped:
                raise EmbeddedError("the server was stopped already: make another one")
            if name in self._started:
                raise EmbeddedError(f"'{name}' was already started, at {self._started[name]}")
            if not transport_available(name):
                raise EmbeddedError(f"'{name}' is not available on this system: use another transport")
            self._check_unstarted()
            try:
                thread, front = self._running()
                found = thread.enter(opening(front))
            except SettingsError as error:
                raise EmbeddedError(str(error)) from None
            self._started[name] = where(found)
            logger.info(
                "listening on %s",
                self._started[name],
                extra={"event": "listening", "transport": name, "address": self._started[name]},
            )
            return found

    def _running(self) -> tuple[LoopThread, Front]:
        """The thread, and what it serves; both made for the first transport."""
        from acuity.mcp.embedded.serving import serving

        if self._thread is not None and self._front is not None:
            return self._thread, self._front
        if self.measurement.boundary.waiter is not None:
            raise EmbeddedError("another server steers this measurement already: stop that one first")
        paths = self._given_paths or AllowedPaths.from_settings(Settings.from_environment())
        thread = LoopThread("acuity-mcp")
        try:
            steer = McpSide(
                self.measurement,
                self._native,
                self._luggage,
                ModelLoader(paths),
                timeout=self.config.command_timeout,
            )
            side = MeasuringSide(
                self.measurement,
                self._native,
                self._luggage,
                most=self.config.max_drain_per_frame,
                on_end=steer.ended,
            )
            self._side, self._steer = side, steer
            live = Live(self.measurement, self._native, side, total=self._total)
            self._front = thread.enter(serving(live, steer, paths, self.config))
        except BaseException:
            if self._side is not None:
                self._side.detach()
            thread.stop(_PATIENCE)
            raise
        self._thread = thread
        life.begin(self)
        return thread, self._front

    def _check_unstarted(self) -> None:
        if self.measurement.over:
            raise EmbeddedError("the measurement is over: start the server before its first frame")
        if self.measurement.frames:
            raise EmbeddedError("the measurement has begun already: start the server before its first frame")


def _check_port(port: int) -> None:
    if not isinstance(port, int) or isinstance(port, bool) or not 0 <= port <= 65535:
        raise EmbeddedError(f"{port!r} is no port: pass 0 to 65535, 0 for any that is free")
