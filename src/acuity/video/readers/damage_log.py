"""What FFmpeg's decoders log about damaged pictures, counted for all decoders of this process.

A decoder with several threads marks damaged pictures, but it may hand one out before the thread that decodes
it has come to the damage. What that thread logs is counted by then.
"""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path
from typing import Final

import av

_LIBRARY: Final = "libavutil"
_MAPS: Final = Path("/proc/self/maps")  # the files of this process's libraries


def listen() -> bool:
    """Count from now on; False if somebody else listens to FFmpeg, or its library isn't found."""
    library = _library()
    if library is None or av.logging.get_level() is not None:
        return False
    from acuity import _native

    library.av_log_set_callback(ctypes.c_void_p(_native.DAMAGE_LOG))
    return True


def count() -> int:
    """How often damage was logged so far."""
    from acuity import _native

    return _native.damage_logged()


@cache
def _library() -> ctypes.CDLL | None:
    """The library that PyAV has loaded."""
    try:
        lines = _MAPS.read_text().splitlines()
        return next((ctypes.CDLL(line.split()[-1]) for line in lines if _LIBRARY in line), None)
    except OSError:
        return None
