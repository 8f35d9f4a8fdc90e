"""Device: what computes extractors. The CPU is one; a GPU is another implementation of the same few methods.

A measurement has one device or several, in order of preference: each group of extractors is computed by the
first device that has it. Every worker thread opens a Lane on each device that its frames need.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from acuity.features.extractor import Extractor, Frame, Geometry


class DeviceRunner(Protocol):
    """Computes a group of extractors on a frame that its lane has taken; used by one thread at a time."""

    def run(self, frame: Any) -> dict[str, float]:
        """Figures of the frame by key."""
        ...


class Lane(Protocol):
    """One worker thread's own part of a device: scratch memory, a stream, runners."""

    def take(self, frame: Frame, planes: int | None) -> Any:
        """The frame as this device's runners read it; refuses samples that are deeper than the video says.

        `planes` is how many planes of a picture are looked at; None: all. A GPU uploads here.
        """
        ...

    def runner(self, kind: type[Extractor], members: Sequence[Extractor]) -> DeviceRunner:
        """What computes these extractors, which are of one kind and share their work."""
        ...


class Device(Protocol):
    """A processor that computes extractors, with the same digits as every other."""

    @property
    def name(self) -> str:
        """As reports and options spell it: 'cpu', 'cuda'."""
        ...

    def describe(self) -> dict[str, Any]:
        """What reports say about it, ready for JSON."""
        ...

    def workers(self, threads: int) -> int:
        """How many worker threads it takes to keep it busy, where the caller allows so many."""
        ...

    def computes(self, kind: type[Extractor]) -> bool:
        """Whether it has this extractor."""
        ...

    def lane(self, geometry: Geometry) -> Lane:
        """A lane for pictures of this geometry; called by the thread that uses it."""
        ...


class Backend(NamedTuple):
    """A device by name: whether this build has it, and whether it starts on this machine."""

    name: str
    compiled: bool
    usable: bool
    init_status: str  # "ok", or why it can't be used
    instruction_sets: Sequence[dict[str, object]] = ()
    threads: int = 0


def device_for(devices: Sequence[Device], kind: type[Extractor]) -> Device:
    """The first device that computes this kind of extractor; the last one computes everything."""
    return next((device for device in devices if device.computes(kind)), devices[-1])
