"""A server inside `vmaf` and `acuity score`: the options, and its life around the scoring."""

from __future__ import annotations

import fcntl
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from acuity.measure import Measurement
    from acuity.scoring import AttachCallback

# Option, the name of its value (none: a switch), help.
OPTIONS: Final = (
    ("enable_mcp_sse", "PORT", "let agents watch and steer over HTTP+SSE at http://127.0.0.1:PORT/mcp/sse "
     "(0: any that is free)"),
    ("enable_mcp_uds", "PATH", "the same at a Unix socket, for you alone"),
    ("enable_mcp_stdio", "", "the same at file descriptors 3 (in) and 4 (out)"),
)  # fmt: skip
FD_IN: Final = 3
FD_OUT: Final = 4

_SIGNALS: Final = (signal.SIGTERM, signal.SIGHUP)


@dataclass(slots=True)
class Wanted:
    """Where a server was asked for."""

    sse: int | None = None
    uds: str | None = None
    stdio: bool = False

    def __bool__(self) -> bool:
        return self.sse is not None or self.uds is not None or self.stdio


def port(text: str) -> int:
    """A port from a command line; raises ValueError("should be …")."""
    if not text.isascii() or not text.isdigit() or int(text) > 65535:
        raise ValueError("should be a port from 0 to 65535")
    return int(text)


@contextmanager
def embedded(program: str, wanted: Wanted) -> Iterator[AttachCallback | None]:
    """What starts the server on a measurement; it runs until the block ends, however that comes about."""
    if not wanted:
        yield None
        return
    with ExitStack() as stack:
        stack.enter_context(_ending_on_signals())
        pair = stack.enter_context(_claimed()) if wanted.stdio else None

        def attach(measurement: Measurement, total: int | None) -> None:
            from acuity.mcp.embedded import EmbeddedServer

            server = EmbeddedServer(measurement, total=total)
            stack.callback(server.close)
            if pair is not None:
                server.start_stdio(*pair, framing="auto")
            if wanted.uds is not None:
                server.start_uds(wanted.uds)
            if wanted.sse is not None:
                server.start_sse(wanted.sse)
            for transport, where in server.started.items():
                if transport == "stdio":
                    continue  # who opened the descriptors knows
                print(f"{program}: agents may connect to {where}", file=sys.stderr, flush=True)

        yield attach


@contextmanager
def _claimed() -> Iterator[tuple[int, int]]:
    """The two descriptors that whoever started us opened, under numbers that no file will get.

    Before anything else is opened: a video that is read as descriptor 3 is no client.
    """
    from acuity.mcp.embedded.descriptors import check_descriptor

    check_descriptor(FD_IN, "in", "start the command with it, as in 3< and 4>")
    check_descriptor(FD_OUT, "out", "start the command with it, as in 3< and 4>")
    pair = [fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, 10) for number in (FD_IN, FD_OUT)]
    try:
        for number in (FD_IN, FD_OUT):
            os.close(number)
        yield pair[0], pair[1]
    finally:
        for number in pair:
            os.close(number)


@contextmanager
def _ending_on_signals() -> Iterator[None]:
    """Have signals that would end the process at once end it in order, so that no socket's file stays."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, _: FrameType | None) -> None:
        raise SystemExit(128 + number)

    before = {
        number: signal.signal(number, end)
        for number in _SIGNALS
        if signal.getsignal(number) is not signal.SIG_IGN
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
