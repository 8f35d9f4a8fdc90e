"""Servers that run in this process: stopped when it exits, forgotten in children that it forks."""

from __future__ import annotations

import atexit
import os
import weakref
from typing import Final, Protocol


class Living(Protocol):
    def stop(self) -> None: ...

    def forget(self) -> None: ...


_servers: Final[weakref.WeakSet[Living]] = weakref.WeakSet()
_forgotten: Final[list[object]] = []  # by a child: taking them apart is for their own process


def begin(server: Living) -> None:
    """It has started."""
    _servers.add(server)


def end(server: Living) -> None:
    """It has stopped."""
    _servers.discard(server)


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
