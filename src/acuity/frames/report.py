"""WorstReport: the worst frames of a comparison, and its document for programs.

The document is a contract, described in docs/worst-frames.md: worst.json and `acuity worst --json` are it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from acuity.frames.artefacts.cells import Box
from acuity.report.document import plain
from acuity.scoring.report import ScoreReport
from acuity.video.notes import Note

SCHEMA: Final = "acuity.worst/1"


@dataclass(frozen=True, slots=True)
class WorstFrame:
    """One of the worst frames: its score, its pictures and what is wrong with it."""

    index: int  # the number of the pair, from 0 on, as in reports
    time: float | None  # seconds; None: no rate is known
    score: float
    distorted: Path
    reference: Path
    heat: Path
    region: Box  # where the loss is greatest
    loss: float  # the mean of the heat map, 0 to 1
    description: str  # measured, without any model
    artefacts: Sequence[dict[str, Any]] = ()  # what was measured, the worst first
    narration: str | None = None  # by a vision-language model, if there is one
    narration_error: str | None = None  # why there is one and it said nothing

    def to_document(self) -> dict[str, Any]:
        """The entry of the document."""
        return {
            "frame_index": self.index,
            "time": self.time,
            "vmaf": self.score,
            "png": str(self.distorted),
            "reference_png": str(self.reference),
            "heat_png": str(self.heat),
            "region": self.region.to_document(),
            "loss": self.loss,
            "description": self.description,
            "artefacts": list(self.artefacts),
            "narration": self.narration,
            "narration_error": self.narration_error,
        }


@dataclass(frozen=True, slots=True)
class WorstReport:
    """The worst frames, ascending by score, with the score of the clip."""

    scoring: ScoreReport
    frames: list[WorstFrame]
    contact_sheet: Path | None  # None: there are no frames
    cropped: bool  # whether the pictures show the region alone
    colours: str  # how samples became red, green and blue
    notes: list[Note] = field(default_factory=list)  # those of the score, and those about the frames
    model_id: str | None = None  # of the vision-language model

    def to_document(self) -> dict[str, Any]:
        """The document `acuity.worst/1`: plain values, with null for what JSON can't hold."""
        report = self.scoring
        found: dict[str, Any] = plain(
            {
                "schema": SCHEMA,
                "model_id": self.model_id,
                "frames": [frame.to_document() for frame in self.frames],
                "contact_sheet": None if self.contact_sheet is None else str(self.contact_sheet),
                "score": report.score,
                "model": report.model,
                "reference": report.input["reference"]["path"],
                "distorted": report.input["distorted"]["path"],
                "frames_scored": len(report.results.frames),
                "width": report.results.width,
                "height": report.results.height,
                "cropped": self.cropped,
                "colours": self.colours,
                "notes": [note.to_dict() for note in self.notes],
            }
        )
        return found
