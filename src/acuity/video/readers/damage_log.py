"""Counts what FFmpeg's decoders log about damaged pictures, for all decoders of this process.

A decoder with several threads marks damaged pictures, but it may hand one out before the thread that decodes
it has come to the damage. What that thread logs is counted by then.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import av


def listen() -> bool:
    """Count from now on; False if PyAV listens to FFmpeg's log, or FFmpeg's function isn't found."""
    register = _registration()
    if register is None or av.logging.get_level() is not None:
        return False
    from acuity import _native

    register(ctypes.c_void_p(_native.DAMAGE_LOG))
    return True


def count() -> int:
    """How often damage was logged so far."""
    from acuity import _native

    return _native.damage_logged()


@cache
def _registration() -> Callable[..., Any] | None:
    """FFmpeg's function that sets the callback of its log, found in a module that is linked to FFmpeg."""
    try:
        return ctypes.CDLL(av.logging.__file__).av_log_set_callback
    except (OSError, AttributeError):
        return None
