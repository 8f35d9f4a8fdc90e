"""The bytes of a video, from a regular file, from a pipe that can only be read once, or from the network."""

from __future__ import annotations

import os
import re
import select
import stat
import threading
from typing import Final, TypeAlias

from acuity.errors import InputError, PathError, Remedy, to_set
from acuity.video.local_file import open_local, restricted

STDIN: Final = "-"
# What Y4M begins with; here, so that looking at the first bytes of raw video loads no Y4M reader.
Y4M_MAGIC: Final = b"YUV4MPEG2"

# How long a read from a pipe may keep close() in another thread waiting.
_POLL_MS: Final = 50

_ADDRESS: Final = r"[A-Za-z][A-Za-z0-9+.-]+:"
_WEB_ADDRESSES: Final = ("http://", "https://")


class Source:
    """One open input. `size` is None if it can't seek.

    Another thread may call close(), which makes a read in progress fail and waits for it; where several
    threads read at once, the last one to finish closes the file.
    """

    def __init__(self, path: str, size: int | None) -> None:
        self.path = path
        self.size = size
        self.closed = False
        self._held = b""  # bytes put back by unread()
        self._lock = threading.Lock()  # held while the descriptor or connection is in use

    @property
    def seekable(self) -> bool:
        return self.size is not None

    @property
    def reopenable(self) -> bool:
        """Whether reopen() works."""
        return self.seekable

    @property
    def concurrent(self) -> bool:
        """Whether several threads may call read_at() at once."""
        return False

    @property
    def identity(self) -> tuple[int, ...] | None:
        """A key that stays the same as long as the file does; None if there is none."""
        return None

    def duplicate(self) -> int:
        """One more descriptor of the open file, which the caller closes; only where it is concurrent."""
        raise NotImplementedError

    def reopen(self) -> Source:
        """The same input, opened once more at its start."""
        if not self.reopenable:
            raise InputError(f"'{self.path}' can only be read once, from its start to its end")
        return self._open_again()

    def readinto(self, view: memoryview) -> int:
        """Fill `view`; fewer bytes only at the end of the input."""
        done = 0
        while done < len(view) and (count := self.readinto_some(view[done:])):
            done += count
        return done

    def read_at(self, position: int, view: memoryview) -> int:
        """Fill `view` with the bytes from there on; fewer only at the end of the input."""
        self.seek(position)
        return self.readinto(view)

    def readinto_some(self, view: memoryview) -> int:
        """Put the bytes that are there into `view`; waits for the first one, and 0 is the end."""
        if not self._held:
            with self._lock:
                return self._receive(view)
        count = min(len(self._held), len(view))
        view[:count] = self._held[:count]
        self._held = self._held[count:]
        return count

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
            self._move(position)

    def close(self) -> None:
        self.closed = True
        self._interrupt()
        with self._lock:
            self._held = b""
            self._release()

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _check_open(self) -> None:
        if self.closed:
            raise InputError(f"'{self.path}' was closed, so it cannot be read any more")

    def _receive(self, view: memoryview) -> int:
        raise NotImplementedError

    def _move(self, position: int) -> None:
        raise NotImplementedError

    def _open_again(self) -> Source:
        raise NotImplementedError

    def _interrupt(self) -> None:
        """End a read in progress, if it doesn't look at `_closed` by itself."""

    def _release(self) -> None:
        """Close what is open; may be called again."""
        raise NotImplementedError


# A path, or a source that is open already, which is then closed by its reader.
Place: TypeAlias = str | os.PathLike[str] | Source


class _LocalSource(Source):
    """A file, a pipe or a device behind a descriptor."""

    def __init__(self, path: str, fd: int, size: int | None, *, named: bool = True) -> None:
        super().__init__(path, size)
        self._fd = fd
        self._named = named  # whether `path` leads to it, so that it can be opened again
        self._reading = 0  # threads in read_at()
        self._poll = _poller(fd) if size is None else None

    @property
    def reopenable(self) -> bool:
        return self.seekable and self._named

    @property
    def concurrent(self) -> bool:
        return self.seekable

    @property
    def identity(self) -> tuple[int, ...] | None:
        if not self.seekable:
            return None
        with self._lock:
            self._check_open()
            status = os.fstat(self._fd)
        return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns

    def duplicate(self) -> int:
        with self._lock:
            self._check_open()
            return os.dup(self._fd)

    def read_at(self, position: int, view: memoryview) -> int:
        if not self.concurrent:
            return super().read_at(position, view)
        with self._lock:
            self._check_open()
            self._reading += 1
        try:
            done = 0
            while done < len(view) and (count := os.preadv(self._fd, [view[done:]], position + done)):
                done += count
            return done
        except OSError as error:
            raise self._broken(error) from error
        finally:
            with self._lock:
                self._reading -= 1
                if self.closed:
                    self._release()

    def _receive(self, view: memoryview) -> int:
        # Poll, so that a reader that waits for a slow writer can still be closed.
        while self._poll is not None and not self.closed and not self._poll.poll(_POLL_MS):
            pass
        self._check_open()
        try:
            return os.readv(self._fd, [view])
        except OSError as error:
            raise self._broken(error) from error

    def _broken(self, error: OSError) -> InputError:
        return InputError(f"cannot read '{self.path}': {error.strerror}")

    def _open_again(self) -> Source:
        return open_source(self.path)

    def _move(self, position: int) -> None:
        os.lseek(self._fd, position, os.SEEK_SET)

    def _release(self) -> None:
        if self._fd >= 0 and not self._reading:
            os.close(self._fd)
            self._fd = -1


def _poller(fd: int) -> select.poll:
    poller = select.poll()
    poller.register(fd, select.POLLIN)
    return poller


def reason(error: Exception) -> str:
    """The short reason that the system or FFmpeg gives."""
    return str(getattr(error, "strerror", None) or str(error) or type(error).__name__).strip().lower()


def name_of(place: Place) -> str:
    return place.path if isinstance(place, Source) else os.fspath(place)


def is_web_address(name: str) -> bool:
    return name[:8].lower().startswith(_WEB_ADDRESSES)


def open_source(place: Place) -> Source:
    """Open a local file, a named pipe or '-' for standard input."""
    if isinstance(place, Source):
        return place
    name = os.fspath(place)
    if name == STDIN:
        if restricted():
            raise PathError(f"standard input ('{STDIN}') is not read here: name a file")
        return _from_descriptor("standard input", os.dup(0), named=False)
    try:
        fd = open_local(name)
    except PathError:
        raise
    except (OSError, ValueError) as error:
        raise InputError(*_why_not(name, error)) from error
    return _from_descriptor(name, fd)


def _from_descriptor(name: str, fd: int, *, named: bool = True) -> Source:
    try:
        status = os.fstat(fd)
        if stat.S_ISDIR(status.st_mode):
            raise InputError(f"'{name}' is a directory: pass a video file")
        regular = stat.S_ISREG(status.st_mode)
        return _LocalSource(name, fd, status.st_size if regular else None, named=named)
    except BaseException:
        os.close(fd)
        raise


def _why_not(name: str, error: Exception) -> tuple[str | Remedy, ...]:
    if isinstance(error, FileNotFoundError):
        if is_web_address(name) and not restricted():
            remedy = to_set("allow_network", True)
            return f"'{name}' is on the network, and only local files are read: pass ", remedy
        if re.match(_ADDRESS, name):
            return (f"'{name}' is not a local file: only local files are read, so download it first",)
        return (f"'{name}' does not exist: check the path",)
    if isinstance(error, PermissionError):
        return (f"'{name}' may not be read: check its permissions",)
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return (f"cannot open '{name}': {reason}",)
