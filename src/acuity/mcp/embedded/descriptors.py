"""File descriptors that a host hands over: checked before, copied, and left to the host."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Literal

from acuity.errors import EmbeddedError

FIRST: Final = 3  # those below are stdin, stdout and stderr


def check_descriptor(
    number: int, direction: Literal["in", "out"], remedy: str = "pass one that is open"
) -> None:
    """Refuse a descriptor that messages can't come in or go out by."""
    if number < 0:
        raise EmbeddedError(f"{number} is no file descriptor: {remedy}")
    if number < FIRST:
        raise EmbeddedError(
            f"descriptor {number} is the host's own: use others than stdin, stdout and stderr"
        )
    try:
        mode = fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE
    except (OSError, OverflowError):
        raise EmbeddedError(f"descriptor {number} is not open: {remedy}") from None
    if mode == (os.O_WRONLY if direction == "in" else os.O_RDONLY):
        verb = "read from" if direction == "in" else "written to"
        raise EmbeddedError(f"descriptor {number} can't be {verb}: use the other end of the pipe")


@contextmanager
def copied(fd_in: int, fd_out: int) -> Iterator[tuple[int, int]]:
    """Copies of descriptors, so that whoever owns them may close them at any time."""
    read, write = (fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, FIRST) for number in (fd_in, fd_out))
    owner = os.getpid()
    try:
        yield read, write
    finally:
        if os.getpid() == owner:  # a forked child has let go of them already
            os.close(read)
            os.close(write)
