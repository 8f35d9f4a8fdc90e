"""What this machine can compute with: the backends, and the processor's instruction sets.

Every backend and instruction set gives the same digits; they differ in speed only.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final

from acuity.errors import BackendError

# Every backend that may be asked for by name; other VMAF tools have those that this version lacks.
BACKENDS: Final = ("cpu", "cuda", "sycl", "hip", "metal")


@dataclass(frozen=True, slots=True)
class Backend:
    """A backend, whether this build has it, and whether it starts on this machine."""

    name: str
    compiled: bool
    usable: bool
    init_status: str  # "ok", or why it can't be used
    instruction_sets: list[dict[str, object]] = field(default_factory=list)
    threads: int = 0


def list_backends() -> list[Backend]:
    """All backends that can be named, those that work first."""
    from acuity import _native
    from acuity.measure import available_threads

    sets: list[dict[str, object]] = [{"name": n, "usable": ok} for n, ok in _native.instruction_sets()]
    cpu = Backend("cpu", True, True, "ok", sets, available_threads())
    return [cpu, *(Backend(name, False, False, "not in this version") for name in BACKENDS[1:])]


def usable_instruction_sets() -> list[str]:
    """What this processor runs, fastest first."""
    from acuity import _native

    return [name for name, usable in _native.instruction_sets() if usable]


def start_backend(wanted: str, excluded: Collection[str] = ()) -> str:
    """The backend to use; BackendError if the one asked for can't start: never another in its place."""
    candidates = [b for b in list_backends() if b.name == wanted or wanted == "auto"]
    usable = [b.name for b in candidates if b.usable and b.name not in excluded]
    if usable:
        return usable[0]
    why = candidates[0].init_status if candidates else "unknown"
    there = ", ".join(b.name for b in list_backends() if b.usable)
    raise BackendError(f"the backend '{wanted}' can't start ({why}): use one of {there}")
