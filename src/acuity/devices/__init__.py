"""The table of devices that compute extractors, and the choice among them.

Every device and instruction set gives the same digits; they differ in speed only. A new device is a module
with an implementation of Device, and a line in DEVICES.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Collection
from typing import Any, Final, NamedTuple

from acuity.devices.cpu import CpuDevice, available_threads, describe_cpu, usable_instruction_sets
from acuity.devices.device import Backend, Device, device_for
from acuity.errors import BackendError

__all__ = [
    "BACKENDS",
    "Backend",
    "Device",
    "available_threads",
    "describe_engine",
    "device_for",
    "list_backends",
    "open_devices",
    "start_backend",
    "usable_instruction_sets",
]


class _Entry(NamedTuple):
    """A device in the table."""

    describe: Callable[[], Backend]
    open: Callable[[str | None], Device]  # called with the CPU's instruction set


DEVICES: Final[dict[str, _Entry]] = {
    "cpu": _Entry(describe_cpu, CpuDevice),
}

# All backends by name, also those of other VMAF tools that this version lacks.
BACKENDS: Final = ("cpu", "cuda", "sycl", "hip", "metal")


def list_backends() -> list[Backend]:
    """All backends by name, those of this version first."""
    there = [entry.describe() for entry in DEVICES.values()]
    missing = [Backend(n, False, False, "not in this version") for n in BACKENDS if n not in DEVICES]
    return [*there, *missing]


def start_backend(wanted: str, excluded: Collection[str] = ()) -> str:
    """The backend to use; raises BackendError if the wanted one can't start, without falling back."""
    candidates = [b for b in list_backends() if b.name == wanted or wanted == "auto"]
    usable = [b.name for b in candidates if b.usable and b.name not in excluded]
    if usable:
        return usable[0]
    left_out = bool(candidates) and wanted in excluded
    why = "it is excluded" if left_out else candidates[0].init_status if candidates else "unknown"
    there = ", ".join(b.name for b in list_backends() if b.usable)
    raise BackendError(f"the backend '{wanted}' can't start ({why}): use one of {there}")


def open_devices(
    backend: str, excluded: Collection[str] = (), instruction_set: str | None = None
) -> list[Device]:
    """The devices of one measurement, the preferred one first.

    The last is always the CPU: it computes what the others lack, and the report names the device of each.
    """
    chosen = start_backend(backend, excluded)
    names = [chosen] if chosen == "cpu" else [chosen, "cpu"]
    return [DEVICES[name].open(instruction_set) for name in names]


def describe_engine() -> dict[str, Any]:
    """The engine's version, instruction set, threads and system, for reproducible reports."""
    from acuity import __version__, _native

    return {
        "name": "acuity",
        "version": __version__,
        "instruction_set": _native.select_instruction_set(),
        "instruction_sets": usable_instruction_sets(),
        "threads": available_threads(),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
    }
