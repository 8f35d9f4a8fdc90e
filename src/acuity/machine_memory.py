"""The memory that this machine and this process may use."""

from __future__ import annotations

import os
import resource
from contextlib import suppress
from pathlib import Path
from typing import Final

_CGROUPS: Final = Path("/sys/fs/cgroup")
_OWN_CGROUP: Final = Path("/proc/self/cgroup")  # one line, as 0::/system.slice/acuity.service


def machine_memory() -> int:
    """Bytes of the machine's memory, or of the container's or service's that this process is in."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    own = _CGROUPS
    with suppress(OSError, IndexError):
        own /= _OWN_CGROUP.read_text().strip().split("::", 1)[1].lstrip("/")
    for folder in (own, *own.parents):
        if folder.is_relative_to(_CGROUPS):
            with suppress(OSError, ValueError):  # there is none, or one without a limit
                memory = min(memory, int((folder / "memory.max").read_text()))
    return memory


def process_memory() -> int | None:
    """Bytes of data that this process may have, if that is limited: see limit_memory()."""
    limit, _ = resource.getrlimit(resource.RLIMIT_DATA)
    return None if limit == resource.RLIM_INFINITY else limit


def limit_memory(most: int) -> None:
    """Let this process and its children have so many bytes of data each, and no more than before.

    Addresses that are only reserved, as CUDA reserves many, don't count.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    allowed = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (allowed, hard))
