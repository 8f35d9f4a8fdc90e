"""The progress of finding the worst frames, by stage."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

Stage: TypeAlias = Literal["scoring", "comparing", "drawing", "describing"]

# How much of the whole each stage is, about: scoring takes longest; a narrator is rare.
_PARTS: Final[dict[Stage, tuple[float, float]]] = {
    "scoring": (0.0, 0.7),
    "comparing": (0.7, 0.75),  # only where scores don't tell which frames are the worst
    "drawing": (0.75, 0.97),
    "describing": (0.97, 1.0),
}


@dataclass(frozen=True, slots=True)
class WorstProgress:
    """A moment of it: a stage, and how many of its frames are done."""

    stage: Stage
    done: int
    total: int | None = None  # None: not known
    mean: float | None = None  # the mean score so far

    @property
    def share(self) -> float:
        """How much of the whole is done, from 0 to 1."""
        start, end = _PARTS[self.stage]
        return start + (end - start) * (min(self.done / self.total, 1.0) if self.total else 0.0)

    def line(self) -> str:
        """`scoring: 12 of 48 frames, mean 76.67`, without the unknown parts."""
        of = "" if self.total is None else f" of {self.total}"
        mean = "" if self.mean is None else f", mean {self.mean:.2f}"
        return f"{self.stage}: {self.done}{of} frames{mean}"

    def details(self) -> dict[str, Any]:
        """The progress as plain values, for programs."""
        return {"stage": self.stage, "frames": self.done, "total": self.total, "mean": self.mean}


# Called often; what it raises ends the work, and leaves no file.
Listener: TypeAlias = Callable[[WorstProgress], None]
