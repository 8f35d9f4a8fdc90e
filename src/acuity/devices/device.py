"""The interface of devices that compute extractors. The CPU is one implementation, a GPU another.

A measurement has one device or several, in order of preference: each group of extractors is computed by the
first device that has it. A device computes either one frame after the other, on every worker thread, which
opens a lane on it; or batches of frames, on one thread, which opens a conveyor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

from acuity.errors import BackendError
from acuity.records import NamedTuple

WORKER_VARIABLE: Final = "ACUITY_WORKER"  # the number of a process among those that work side by side

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from acuity.devices.cpu import CpuLane
    from acuity.devices.cuda.card_arrays import CardArrays
    from acuity.devices.cuda.conveyor import CudaConveyor
    from acuity.features.extractor import Extractor, Geometry
    from acuity.video.readers.reader import BaseReader


class Device(Protocol):
    """A processor that computes extractors, with the same digits as every other."""

    @property
    def name(self) -> str:
        """The name in reports and options: 'cpu', 'cuda'."""
        ...

    def describe(self) -> dict[str, Any]:
        """The description for reports, as plain values for JSON."""
        ...

    def workers(self, threads: int) -> int:
        """The number of worker threads that keep it busy, at most `threads`."""
        ...

    def computes(self, kind: type[Extractor]) -> bool:
        """Whether the device computes this extractor."""
        ...

    def window(self, geometry: Geometry) -> int | None:
        """How many frames may be under way in batches; None: it computes one after the other, in lanes."""
        ...

    @property
    def allocate(self) -> Callable[[int], NDArray[np.uint8]] | None:
        """Allocates memory that it copies pictures from faster, by its size in bytes; None: any will do."""
        ...

    def port(self) -> CardArrays | None:
        """The object that takes arrays in the device's own memory; None: there is none."""
        ...

    def containers(self, *, required: bool) -> Callable[..., BaseReader] | None:
        """Opens containers as ContainerReader does, to decode them on the device; None: it can't.

        Raises BackendError if its decoder doesn't start.
        """
        ...

    def lane(self, geometry: Geometry) -> CpuLane:
        """A lane for pictures of this geometry; called by the thread that uses it."""
        ...

    def conveyor(self, geometry: Geometry) -> CudaConveyor:
        """A conveyor for pictures of this geometry."""
        ...


class Backend(NamedTuple):
    """A device by name: whether this build has it, and whether it starts on this machine."""

    name: str
    compiled: bool
    usable: bool
    init_status: str  # "ok", or why it can't be used
    instruction_sets: Sequence[dict[str, object]] = ()
    threads: int = 0
    cards: Sequence[dict[str, object]] = ()  # of a GPU: what each is, and its problem if it has one


class Signs(NamedTuple):
    """The facts about a device that are known without starting it."""

    installed: bool  # this installation has what it needs
    expected: bool  # this installation or machine suggests that it can be used
    problem: BackendError | None  # why it certainly can't be used


def device_for(devices: Sequence[Device], kind: type[Extractor], pictures: Geometry | None = None) -> Device:
    """The first device that computes this kind of extractor; the last one computes everything."""
    if pictures is not None and kind.reads_finer(pictures):
        return devices[-1]
    return next((device for device in devices if device.computes(kind)), devices[-1])
