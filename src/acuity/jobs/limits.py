"""What a worker gives up at its start, so that the server stays quick and alive whatever the work does."""

from __future__ import annotations

import os
import resource
from contextlib import suppress
from pathlib import Path
from typing import Final

_AUTOGROUP: Final = Path("/proc/self/autogroup")
_OOM: Final = Path("/proc/self/oom_score_adj")
_OOM_STEP: Final = 500  # of 1000: half of all memory counts as if it were the worker's


def step_back(nice: int, memory: int | None) -> None:
    """Yield to the server: processor time, memory, and who goes first when memory runs out."""
    with suppress(OSError):
        os.nice(nice)
    with suppress(OSError):
        # A session of its own is a scheduling group of its own, within which alone nice would count.
        _AUTOGROUP.write_text(str(nice))
    with suppress(OSError, ValueError):
        _OOM.write_text(str(min(1000, int(_OOM.read_text()) + _OOM_STEP)))
    if memory is not None:
        _, most = resource.getrlimit(resource.RLIMIT_AS)
        allowed = memory if most == resource.RLIM_INFINITY else min(memory, most)
        resource.setrlimit(resource.RLIMIT_AS, (allowed, most))
