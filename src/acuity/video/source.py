"""The bytes of a video, from a regular file or from a pipe that can only be read once."""

from __future__ import annotations

import os
import re
import select
import stat
import threading
from typing import Final

from acuity.errors import InputError, PathError
from acuity.video.local_file import open_local, restricted

STDIN: Final = "-"
# What Y4M begins with; here, so that looking at the first bytes of raw video loads no Y4M reader.
Y4M_MAGIC: Final = b"YUV4MPEG2"

# How long a read from a pipe may keep close() in another thread waiting.
_POLL_MS: Final = 50

_ADDRESS: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")


class Source:
    """One open input. `size` is None for pipes, which can't seek either.

    Another thread may call close(), which makes a read in progress fail and waits for it.
    """

    def __init__(self, path: str, fd: int, size: int | None) -> None:
        self.path = path
        self.size = size
        self._fd = fd
        self._closed = False
        self._held = b""  # bytes put back by unread()
        self._lock = threading.Lock()  # held while the descriptor is in use
        self._poll = _poller(fd) if size is None else None

    @property
    def seekable(self) -> bool:
        return self.size is not None

    def readinto(self, view: memoryview) -> int:
        """Fill `view`; fewer bytes only at the end of the input."""
        done = 0
        if self._held:
            done = min(len(self._held), len(view))
            view[:done] = self._held[:done]
            self._held = self._held[done:]
        while done < len(view):
            count = self._read_some(view[done:])
            if count == 0:
                break
            done += count
        return done

    def read(self, count: int) -> bytes:
        buffer = bytearray(count)
        return bytes(buffer[: self.readinto(memoryview(buffer))])

    def unread(self, data: bytes) -> None:
        """Put bytes back: the next read returns them again."""
        self._held = data + self._held

    def peek(self, count: int) -> bytes:
        data = self.read(count)
        self.unread(data)
        return data

    def seek(self, position: int) -> None:
        if not self.seekable:
            raise InputError(f"'{self.path}' is a pipe, so it can only be read from its start to its end")
        with self._lock:
            self._check_open()
            self._held = b""
            os.lseek(self._fd, position, os.SEEK_SET)

    def detach(self) -> int:
        """The descriptor, at the start of the file; the caller has to close it."""
        if self.seekable:
            self.seek(0)
        with self._lock:
            self._check_open()
            self._closed = True
            fd, self._fd = self._fd, -1
            return fd

    def close(self) -> None:
        self._closed = True
        with self._lock:
            if self._fd >= 0:
                os.close(self._fd)
                self._fd = -1

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _check_open(self) -> None:
        if self._closed:
            raise InputError(f"'{self.path}' was closed, so it cannot be read any more")

    def _read_some(self, view: memoryview) -> int:
        with self._lock:
            # Poll, so that a reader that waits for a slow writer can still be closed.
            while self._poll is not None and not self._closed and not self._poll.poll(_POLL_MS):
                pass
            self._check_open()
            try:
                return os.readv(self._fd, [view])
            except OSError as error:
                raise InputError(f"cannot read '{self.path}': {error.strerror}") from error


def _poller(fd: int) -> select.poll:
    poller = select.poll()
    poller.register(fd, select.POLLIN)
    return poller


def open_source(path: str | os.PathLike[str]) -> Source:
    """Open a local file, a named pipe or '-' for standard input."""
    name = os.fspath(path)
    if name == STDIN:
        if restricted():
            raise PathError(f"standard input ('{STDIN}') is not read here: name a file")
        return _from_descriptor("standard input", os.dup(0))
    try:
        fd = open_local(name)
    except PathError:
        raise
    except (OSError, ValueError) as error:
        raise InputError(_why_not(name, error)) from error
    return _from_descriptor(name, fd)


def _from_descriptor(name: str, fd: int) -> Source:
    try:
        status = os.fstat(fd)
        if stat.S_ISDIR(status.st_mode):
            raise InputError(f"'{name}' is a directory: pass a video file")
        regular = stat.S_ISREG(status.st_mode)
        return Source(name, fd, status.st_size if regular else None)
    except BaseException:
        os.close(fd)
        raise


def _why_not(name: str, error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        if _ADDRESS.match(name):
            return f"'{name}' is not a local file: only local files are read, so download it first"
        return f"'{name}' does not exist: check the path"
    if isinstance(error, PermissionError):
        return f"'{name}' may not be read: check its permissions"
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return f"cannot open '{name}': {reason}"
