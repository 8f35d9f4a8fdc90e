"""Signs of a driver of NVIDIA, which are looked for before anything of CUDA is imported."""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import Final

# One of these is there if a driver is: on a PC or server, in WSL, on a Jetson.
_TRACES: Final = ("/dev/nvidiactl", "/dev/nvidia0", "/dev/dxg", "/dev/nvmap")


def has_traces(paths: Collection[str] = _TRACES) -> bool:
    """Whether this machine seems to have a driver of NVIDIA; starts nothing."""
    return any(os.path.exists(path) for path in paths)
