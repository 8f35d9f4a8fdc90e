"""A Python process that works for this one and can be killed at any moment, seen from both sides.

Native code can't be interrupted: an encoder may take many seconds for a frame, a language model for a word. A
process can be killed at once, and one that crashes takes nothing with it.

The parent sends to standard input; `document()` is JSON with its length before it. Standard output has
messages: a kind, a length, and that many bytes.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import select
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, BinaryIO, Final, TypeAlias, cast

LENGTH: Final = struct.Struct("<I")
MESSAGE: Final = struct.Struct("<cI")  # kind, bytes that follow

# Runs a module. -P: don't import a numpy.py from the folder where this process was started.
PYTHON: Final = [sys.executable, "-P", "-m"]
_PIPE_BYTES: Final = 1 << 20
_WATCH: Final = 0.5  # seconds between two looks at whether the parent is there


class ChildProcess:
    """The parent's handle of a process that runs a module of this package."""

    def __init__(
        self, module: str, environment: Mapping[str, str] | None = None, files: Sequence[int] = ()
    ) -> None:
        """`environment`: variables that it has besides those of this process; `files`: descriptors that it
        inherits. Raises OSError."""
        self.child = subprocess.Popen(
            [*PYTHON, module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            env={**os.environ, **environment} if environment else None,
            pass_fds=files,
        )
        self.stdin, self.stdout = cast("io.RawIOBase", self.child.stdin), cast("BinaryIO", self.child.stdout)
        self._poll = select.poll()
        self._poll.register(self.stdout, select.POLLIN)
        with contextlib.suppress(OSError, ImportError, AttributeError):
            import fcntl

            for file in (self.stdin, self.stdout):
                fcntl.fcntl(file.fileno(), fcntl.F_SETPIPE_SZ, _PIPE_BYTES)

    def write(self, data: Any) -> None:
        """Send bytes; waits while the process doesn't take them."""
        view = memoryview(data).cast("B")
        while len(view):
            view = view[self.stdin.write(view) or 0 :]

    def ready(self, seconds: float) -> bool:
        """Wait for a message, or the end of the process."""
        return bool(self._poll.poll(seconds * 1000))

    def message(self) -> tuple[bytes, bytes]:
        """The next message, kind and content; EOFError if the process is gone."""
        kind, length = MESSAGE.unpack(self._exactly(MESSAGE.size))
        return kind, self._exactly(length)

    def kill(self) -> None:
        """End it now, in the middle of whatever it does."""
        self.child.kill()
        self.child.wait()

    def close(self) -> None:
        for file in (self.child.stdin, self.child.stdout):
            with contextlib.suppress(OSError, ValueError):
                if file is not None:
                    file.close()

    def ending(self) -> str:
        """How the process ended, for a sentence; waits for its end."""
        code = self.child.wait()
        if code >= 0:
            return f"its process ended with status {code}"
        name = next((known.name for known in signal.Signals if known == -code), "no name")
        return f"its process was ended by signal {-code} ({name})"

    def _exactly(self, count: int) -> bytes:
        data = bytearray()
        while len(data) < count:
            got = self.stdout.read(count - len(data))
            if not got:
                raise EOFError
            data += got
        return bytes(data)


def document(value: Any) -> bytes:
    """A JSON document as a child reads it."""
    data = json.dumps(value).encode()
    return LENGTH.pack(len(data)) + data


# What follows is for the process itself.

Tell: TypeAlias = Callable[..., None]  # a kind, and the pieces of the content


class Ended(Exception):
    """The parent is gone, or gave up the work."""


def begin() -> tuple[BinaryIO, Tell]:
    """Call this first: the input, and the function that sends messages.

    Standard output is for messages only: what a library prints goes to standard error. The process ends with
    its parent, and the parent decides what an interrupt means.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    messages = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    end_with(os.getppid())

    def tell(kind: bytes, *pieces: bytes) -> None:
        messages.write(MESSAGE.pack(kind, sum(map(len, pieces))))
        for piece in pieces:
            messages.write(piece)
        messages.flush()

    return os.fdopen(0, "rb", 0), tell


def read_document(file: BinaryIO) -> Any:
    """The next document; raises Ended."""
    return json.loads(exactly(file, LENGTH.unpack(exactly(file, LENGTH.size))[0]))


def exactly(file: BinaryIO, count: int) -> bytes:
    """That many bytes; raises Ended."""
    data = bytearray(count)
    fill(file, memoryview(data))
    return bytes(data)


def fill(file: BinaryIO, view: memoryview) -> None:
    """Fill the memory; raises Ended."""
    while len(view):
        got = cast("io.RawIOBase", file).readinto(view)
        if not got:
            raise Ended
        view = view[got:]


def end_with(parent: int, first: Callable[[], object] = lambda: None, grace: float = 0.0) -> None:
    """End this process once `parent` is gone: call `first`, and `grace` seconds later end at once.

    `parent` need not be the direct parent: there may be a shell between.
    """
    is_direct = os.getppid() == parent

    def is_there() -> bool:
        if is_direct:
            return os.getppid() == parent
        try:
            os.kill(parent, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            pass
        return True

    def watch() -> None:
        while is_there():
            time.sleep(_WATCH)
        with contextlib.suppress(RuntimeError):  # an event loop may have been closed
            first()
        time.sleep(grace)
        os._exit(1)

    threading.Thread(target=watch, name="parent watch", daemon=True).start()
