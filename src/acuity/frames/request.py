"""WorstRequest: which worst frames of a comparison to show, and where to put their pictures."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import Any, Final, Self

from acuity.errors import InputError, to_set
from acuity.scoring.request import Request, is_whole

MAX_FRAMES: Final = 32
DEFAULT_FRAMES: Final = 5
DEFAULT_APART: Final = 1.0  # seconds
MAX_APART: Final = 86_400.0
# What commands and tools set where nobody said how to align: frozen and lost frames are what should be seen.
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
        return {
            "scoring": self.scoring.to_document(),
            "output": os.fspath(self.output),
            "n": int(self.n),
            "apart": float(self.apart),
            "region": self.region,
            "start": self.start,
            "end": self.end,
        }

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Self:
        """The request from its document; raises TypeError for an unknown field."""
        return cls(**{**document, "scoring": Request.from_document(document["scoring"])})
