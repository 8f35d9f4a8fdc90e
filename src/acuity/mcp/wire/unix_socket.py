"""The file of a Unix socket: made for its owner alone, told apart from a dead server's, removed at the end.

Needs none of the protocol's libraries, so that an address can be refused before any of them is loaded.
"""

from __future__ import annotations

import fcntl
import os
import socket
import stat
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from acuity.errors import SettingsError

LONGEST_PATH: Final = 107  # bytes, with a zero after them
_BACKLOG: Final = 128
_ATTEMPTS: Final = 10  # to be alone in a folder
_PAUSE: Final = 0.02  # seconds between them
_CREDENTIALS: Final = struct.Struct("3i")  # process, user and group, as Linux has them


@contextmanager
def listening(path: Path) -> Iterator[socket.socket]:
    """A socket that listens there; its file goes with it. Raises SettingsError."""
    length = len(os.fsencode(path))
    if length > LONGEST_PATH:
        raise SettingsError(
            f"the socket path '{path}' has {length} bytes, {LONGEST_PATH} are the most: shorten it"
        )
    with _alone_in(path.parent):
        _make_room(path)
        listener = _bound(path)
    ours, owner = os.stat(path), os.getpid()
    try:
        yield listener
    finally:
        listener.close()
        if os.getpid() == owner:  # a forked child has a copy of this block, not of the server
            _remove(path, ours)


def peer_may_connect(client: socket.socket) -> bool:
    """Whether the process at the other end runs as this process's user, or as root.

    The file's mode says the same, unless somebody changes it.
    """
    if not hasattr(socket, "SO_PEERCRED"):
        return True
    found = client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    _, user, _ = _CREDENTIALS.unpack(found)
    return user in (0, os.geteuid())


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Keep other servers that start at the same time from taking each other's file for a dead one's."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise SettingsError(f"the socket's folder '{folder}' can't be used: {error.strerror}") from None
    try:
        if not _locked(descriptor):
            raise SettingsError(f"another server is just starting in '{folder}': try again")
        yield
    finally:
        os.close(descriptor)


def _locked(descriptor: int) -> bool:
    """Whether the lock could be had; others hold it for a moment only."""
    for attempt in range(_ATTEMPTS):
        if attempt:
            time.sleep(_PAUSE)
        with suppress(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
    return False


def _make_room(path: Path) -> None:
    """Remove what a dead server left behind."""
    try:
        kind = os.lstat(path).st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(kind):
        raise SettingsError(f"'{path}' exists and is no socket: choose another path")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink(missing_ok=True)  # nobody listens
            return
        except FileNotFoundError:
            return
        except BlockingIOError:
            pass  # somebody does, and has a full queue
        except PermissionError:
            raise SettingsError(f"'{path}' belongs to somebody else: choose another path") from None
    raise SettingsError(f"'{path}' is in use by another server: stop it or choose another path")


def _bound(path: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        # Its file is made with this mode. The umask would do as well, but belongs to the whole process.
        os.fchmod(listener.fileno(), 0o700)
        listener.bind(str(path))
        listener.listen(_BACKLOG)
        listener.setblocking(False)
    except OSError as error:
        listener.close()
        raise SettingsError(f"can't make the socket '{path}': {error.strerror}") from None
    return listener


def _remove(path: Path, ours: os.stat_result) -> None:
    """Remove the file unless it is another server's by now."""
    try:
        found = os.lstat(path)
        if (found.st_dev, found.st_ino) == (ours.st_dev, ours.st_ino):
            path.unlink()
    except OSError:
        pass
