"""The CPU device: native kernels, chosen for the processor when the program starts."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from acuity.errors import InputError, PairingError

if TYPE_CHECKING:
    from acuity.features.extractor import Extractor, Frame, Geometry, Run


class CpuDevice:
    """All cores with one instruction set; it computes every extractor."""

    name = "cpu"

    def __init__(self, instruction_set: str | None = None) -> None:
        """Raises BackendError if this processor doesn't run the instruction set; None: its fastest one."""
        from acuity import _native

        self.instruction_set = _native.select_instruction_set(instruction_set or "")

    def describe(self) -> dict[str, Any]:
        return {"instruction_set": self.instruction_set}

    def workers(self, threads: int) -> int:
        return threads

    def computes(self, kind: type[Extractor]) -> bool:
        return True

    @property
    def allocate(self) -> None:
        return None

    def port(self) -> None:
        return None

    def window(self, geometry: Geometry) -> None:
        return None

    def containers(self, *, required: bool) -> None:
        return None

    def conveyor(self, geometry: Geometry) -> NoReturn:
        raise NotImplementedError("the CPU computes frames one after the other")

    def lane(self, geometry: Geometry) -> CpuLane:
        return CpuLane(geometry, self.instruction_set)


class CpuLane:
    """One thread's kernels, which share scratch memory."""

    def __init__(self, geometry: Geometry, instruction_set: str) -> None:
        from acuity._native import Workspace
        from acuity.features.extractor import CpuContext

        self._geometry = geometry
        self._context = CpuContext(Workspace(), instruction_set)

    def take(self, frame: Frame, planes: int | None) -> Frame:
        """The frame for runners; refuses samples that exceed the bit depth, in so many planes (None: all)."""
        check_samples(frame, planes)
        return frame

    def runner(self, kind: type[Extractor], members: Sequence[Extractor]) -> Run:
        """The runner for these extractors, which are of one kind and share work."""
        return kind.runner(members, self._geometry, self._context)


def check_samples(frame: Frame, planes: int | None) -> None:
    """Refuse samples that are deeper than the video says, and chroma planes that don't match."""
    check_layouts(frame, planes)
    check_depths(frame, planes)


def check_layouts(frame: Frame, planes: int | None) -> None:
    """Refuse chroma planes that don't match."""
    ours, theirs = (list(p.shapes[:planes]) for p in (frame.ref, frame.dis))
    if ours != theirs:
        raise PairingError(
            f"frame {frame.index} has planes of {ours} in the reference and {theirs} in the distorted video: "
            "both must have the same chroma layout"
        )


def check_depths(frame: Frame, planes: int | None) -> None:
    """Refuse samples that are deeper than the video says."""
    from acuity._native import samples_fit

    for picture, name in ((frame.ref, "reference"), (frame.dis, "distorted video")):
        depth = picture.format.depth
        for plane, samples in enumerate(picture.samples[:planes]):
            if not samples_fit(samples, depth):
                largest = picture.planes[plane].max()
                raise InputError(
                    f"frame {frame.index} of the {name} has the sample {largest}, and {depth} bits hold "
                    f"at most {(1 << depth) - 1}: pass the bit depth it really has"
                )


def available_threads() -> int:
    """The number of threads that this process may run at once."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def usable_instruction_sets() -> list[str]:
    """The instruction sets that this processor runs, fastest first."""
    from acuity import _native

    return [name for name, usable in _native.instruction_sets() if usable]
