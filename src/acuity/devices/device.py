"""The interface of devices that compute extractors. The CPU is one implementation, a GPU another.

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
        """Prepare a frame for this device's runners; refuses samples that exceed the bit depth.

        `planes` is the number of planes that are read; None: all. A GPU uploads here.
        """
        ...

    def runner(self, kind: type[Extractor], members: Sequence[Extractor]) -> DeviceRunner:
        """The runner for these extractors, which are of one kind and share work."""
        ...


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
