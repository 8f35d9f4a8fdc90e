"""Progress of tuning: which encode is under way, how far it is, and the best one so far."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

from acuity.errors import AcuityError


class Stopped(AcuityError):
    """The work was stopped on request; finished points are in the cache."""

    def __init__(self, message: str = "stopped: the encodes that were finished are in the cache") -> None:
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Progress:
    """A moment of tuning."""

    task: str  # what is encoded now, as "libx265 crf 28"
    encodes_done: int  # those taken from the cache included
    encodes_planned: int | None  # the most that are expected; a search may need fewer
    frames: int = 0  # of the encodes under way
    total: int | None = None
    fps: float | None = None
    eta_seconds: float | None = None
    best: str | None = None  # the best result so far, as "crf 27: VMAF 93.4 at 1,830 kbit/s"

    def line(self) -> str:
        """`2 of 5 encodes, libx265 crf 28: 120 of 480 frames, 84.2 fps, 0:04 left, best …`."""
        planned = "" if self.encodes_planned is None else f" of {self.encodes_planned}"
        parts = [f"{self.encodes_done}{planned} encodes"]
        of = f" of {self.total}" if self.total else ""
        parts.append(f"{self.task}: {self.frames}{of} frames" if self.frames or of else self.task)
        if self.fps is not None:
            parts.append(f"{self.fps:.1f} fps")
        if self.eta_seconds is not None:
            minutes, seconds = divmod(round(self.eta_seconds), 60)
            parts.append(f"{minutes}:{seconds:02d} left")
        if self.best is not None:
            parts.append(f"best {self.best}")
        return ", ".join(parts)

    def details(self) -> dict[str, Any]:
        """The progress as plain values, for programs."""
        return asdict(self)


Listener: TypeAlias = Callable[[Progress], None]
