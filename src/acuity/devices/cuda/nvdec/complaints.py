"""What the decoder's library prints, caught: its words about damage are nowhere else.

PyNvVideoCodec says `Decode Error occurred for picture 7` with C's printf and returns the picture as if it
were whole. C's `stdout` is a variable, which is another file while decoders are at work: what Python writes,
and whatever else uses the descriptor, goes where it always went.
"""

from __future__ import annotations

import ctypes
import os
import re
import threading
from typing import Final

_DAMAGE: Final = re.compile(rb"error|fail|unsupported|not supported|corrupt", re.IGNORECASE)
_UNBUFFERED: Final = 2  # C's _IONBF


class Complaints:
    """Catches C's output while somebody listens; any thread may ask."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._listeners = 0
        self._file = -1  # descriptor of the file in memory
        self._stream: int | None = None  # C's FILE of it
        self._before: int | None = None  # what C's stdout was
        self._read = 0
        self._count = 0

    def listen(self) -> None:
        """Begin to catch; each call needs its leave()."""
        with self._lock:
            self._listeners += 1
            if self._listeners == 1:
                self._swap_in()

    def leave(self) -> None:
        """A listener has ended; after the last one C writes where it wrote before."""
        with self._lock:
            self._look()
            self._listeners -= 1
            if self._listeners == 0:
                self._swap_out()

    def count(self) -> int:
        """How many lines about damage there were so far."""
        with self._lock:
            self._look()
            return self._count

    def _look(self) -> None:
        if self._file < 0 or os.fstat(self._file).st_size == self._read:
            return
        new = os.pread(self._file, 1 << 20, self._read)
        self._read += len(new)
        self._count += sum(1 for line in new.splitlines() if _DAMAGE.search(line))

    def _swap_in(self) -> None:
        library = ctypes.CDLL(None)
        library.fdopen.restype = ctypes.c_void_p
        library.fdopen.argtypes = [ctypes.c_int, ctypes.c_char_p]
        library.setvbuf.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]
        stdout = ctypes.c_void_p.in_dll(library, "stdout")
        if self._stream is None:
            self._file = os.memfd_create("acuity-complaints", os.MFD_CLOEXEC)
            # It stays open for good: C code in another thread may still be writing into it.
            self._stream = library.fdopen(os.dup(self._file), b"a")
            if self._stream is None:
                return
            library.setvbuf(self._stream, None, _UNBUFFERED, 0)
        self._before, stdout.value = stdout.value, self._stream

    def _swap_out(self) -> None:
        if self._before is None:
            return
        ctypes.c_void_p.in_dll(ctypes.CDLL(None), "stdout").value = self._before
        self._before = None


COMPLAINTS: Final = Complaints()
