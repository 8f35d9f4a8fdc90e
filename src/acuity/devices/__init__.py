"""What this machine can compute with: the table of devices, and the choice among them.

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
    open: Callable[[str | None], Device]  # with the instruction set of what runs on the CPU


DEVICES: Final[dict[str, _Entry]] = {
    "cpu": _Entry(describe_cpu, CpuDevice),
}

# Every backend that may be asked for by name; other VMAF tools have those that this version lacks.
BACKENDS: Final = ("cpu", "cuda", "sycl", "hip", "metal")


def list_backends() -> list[Backend]:
    """All backends that can be named, those that work first."""
    there = [entry.describe() for entry in DEVICES.values()]
    missing = [Backend(n, False, False, "not in this version") for n in BACKENDS if n not in DEVICES]
    return [*there, *missing]


def start_backend(wanted: str, excluded: Collection[str] = ()) -> str:
    """The backend to use; BackendError if the one asked for can't start: never another in its place."""
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

    The last is always the CPU: it computes what the others lack, and the report says which computed what.
    """
    chosen = start_backend(backend, excluded)
    names = [chosen] if chosen == "cpu" else [chosen, "cpu"]
    return [DEVICES[name].open(instruction_set) for name in names]


def describe_engine() -> dict[str, Any]:
    """What this engine is and runs on, for reports that others should be able to reproduce."""
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
