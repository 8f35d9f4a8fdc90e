"""Tells systemd how the service is (sd_notify): ready, stopping, and alive while its event loop turns."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager, suppress
from typing import Final

_SHORTEST: Final = 0.1  # seconds between two signs of life


class ServiceManager:
    """The systemd that started this process, if one did. Nothing here fails or waits."""

    def __init__(self, environ: MutableMapping[str, str] = os.environ, pid: int | None = None) -> None:
        """`pid` is that of this process, for which alone the watchdog is meant.

        Its variables are taken out: workers that had them could speak for the server.
        """
        self._address = _address(environ.pop("NOTIFY_SOCKET", ""))
        own = environ.pop("WATCHDOG_PID", "") in ("", str(os.getpid() if pid is None else pid))
        microseconds = environ.pop("WATCHDOG_USEC", "")
        self._watchdog = _seconds(microseconds) if own else None

    def __bool__(self) -> bool:
        """Whether there is one."""
        return self._address is not None

    def ready(self, status: str) -> None:
        """Say that clients are served."""
        self._tell("READY=1", f"STATUS={' '.join(status.split())}")

    def stopping(self) -> None:
        """Say that it was asked to stop, and that this may take a while."""
        self._tell("STOPPING=1", "STATUS=finishing what is in flight")

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Give signs of life while the block lasts. A process that hangs gives none, and is restarted."""
        if self._address is None or self._watchdog is None:
            yield
            return
        rest = max(self._watchdog / 2, _SHORTEST)
        loop = asyncio.get_running_loop()
        timer: asyncio.TimerHandle | None = None

        def beat() -> None:
            nonlocal timer
            self._tell("WATCHDOG=1")
            timer = loop.call_later(rest, beat)

        beat()
        try:
            yield
        finally:
            if timer is not None:
                timer.cancel()

    def _tell(self, *states: str) -> None:
        if self._address is None:
            return
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.setblocking(False)  # rather no sign of life than a server that waits
            sender.sendto("\n".join(states).encode(), self._address)


def _address(given: str) -> str | None:
    """The address of its socket: a path, or a name that begins with '@'."""
    if given.startswith("@"):
        return "\0" + given[1:]
    return given if given.startswith("/") else None


def _seconds(microseconds: str) -> float | None:
    return int(microseconds) / 1e6 if microseconds.isascii() and microseconds.isdigit() else None
