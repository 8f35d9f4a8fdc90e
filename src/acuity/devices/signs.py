"""Signs of a graphics card, told without loading anything."""

from __future__ import annotations

import os
from collections.abc import Collection
from importlib.util import find_spec
from typing import Final

# One of these is there if a driver of NVIDIA is: on a PC or server, in WSL, on a Jetson.
_TRACES: Final = ("/dev/nvidiactl", "/dev/nvidia0", "/dev/dxg", "/dev/nvmap")


def has_traces(paths: Collection[str] = _TRACES) -> bool:
    """Whether this machine seems to have a driver of NVIDIA; starts and loads nothing."""
    return any(os.path.exists(path) for path in paths)


def is_installed() -> bool:
    """Whether CuPy is installed; imports nothing."""
    return find_spec("cupy_backends") is not None
