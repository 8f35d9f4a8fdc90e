"""WorstRequest: which worst frames of a comparison to show, and where to put their pictures; its progress."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal, Self, TypeAlias

from acuity.errors import InputError, to_set
from acuity.scoring.request import Request, is_whole

MAX_FRAMES: Final = 32
DEFAULT_FRAMES: Final = 5
DEFAULT_APART: Final = 1.0  # seconds
MAX_APART: Final = 86_400.0
# How commands and tools align where the user didn't say: frozen and lost frames should be seen.
ALIGN: Final = "warn"


@dataclass(frozen=True, slots=True)
class WorstRequest:
    """A comparison, how many of its worst frames are wanted, and the folder for their pictures."""

    scoring: Request
    output: str | os.PathLike[str]  # a folder, which is created
    n: int = DEFAULT_FRAMES
    apart: float = DEFAULT_APART  # seconds between two of the frames at least; 0 allows neighbours
    region: bool = False  # pictures of the worst region alone, not of the whole frame
    start: float | None = None  # seconds of the reference: only frames from there on
    end: float | None = None  # and up to there

    def __post_init__(self) -> None:
        if not is_whole(self.n) or not 1 <= self.n <= MAX_FRAMES:
            raise InputError(to_set("n", str(self.n)), f" can't be: ask for 1 to {MAX_FRAMES} frames")
        number = isinstance(self.apart, int | float) and not isinstance(self.apart, bool)
        if not (number and math.isfinite(self.apart) and 0 <= self.apart <= MAX_APART):
            raise InputError(
                to_set("apart", str(self.apart)),
                " can't be: give the seconds between two of the frames, from 0 (neighbours allowed) on",
            )
        if self.start is not None and self.end is not None and self.end <= self.start:
            raise InputError(
                to_set("end", f"{self.end:g}"), f" can't be: it has to be after {self.start:g} s"
            )
        if not os.fspath(self.output):
            raise InputError("the folder for the pictures has no name: give one")

    def to_document(self) -> dict[str, Any]:
        """The request as JSON can hold it; TypeError for readers and loaded models."""
        about = {name: getattr(self, name) for name in ("region", "start", "end")}
        numbers = {"n": int(self.n), "apart": float(self.apart)}
        return {"scoring": self.scoring.to_document(), "output": os.fspath(self.output), **numbers, **about}

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Self:
        """The request from its document; raises TypeError for an unknown field."""
        return cls(**{**document, "scoring": Request.from_document(document["scoring"])})


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
    """A moment of the work: a stage, and how many of its frames are done."""

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
