"""ShotPlan: which quality each shot of a clip is encoded with, what that gives, and its documents."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import numpy as np

from acuity.measure.pooling import pool
from acuity.tune.clip import Clip, Part
from acuity.tune.encoders.settings import Settings
from acuity.tune.material import covered
from acuity.tune.points.point import Point, Scoring
from acuity.tune.search.target import Target

Division = Literal["each", "mean", "bitrate"]

# How each division of bits is named in documents.
PREDICATES: Final[dict[Division, str]] = {
    "each": "search: the largest value with which each shot meets the target",
    "mean": "equal slope: the fewest bits with which the mean of all frames meets the target",
    "bitrate": "equal slope: the highest mean of all frames that the bitrate allows",
}

_CSV_COLUMNS: Final = (
    "shot",
    "start_frame",
    "end_frame",
    "crf",
    "predicted_vmaf",
    "bitrate_kbps",
    "bytes",
    "met",
)


@dataclass(frozen=True, slots=True)
class PlannedShot:
    """One shot, the point measured of it with the quality that is planned, and whether that is enough."""

    part: Part
    point: Point
    figure: float  # what the target is about, of this shot
    met: bool  # whether this shot alone meets the target

    @property
    def quality(self) -> float:
        return self.point.quality

    def document(self) -> dict[str, Any]:
        return {
            "start_frame": self.part.start,
            "end_frame": self.part.end,
            "crf": self.quality,
            "predicted_vmaf": round(self.point.pool("vmaf"), 6) if "vmaf" in self.point.scores else None,
            "bitrate_kbps": round(self.point.bitrate_kbps, 3),
            "bytes": self.point.bytes,
            "met": self.met,
        }


@dataclass(frozen=True, slots=True)
class Stitched:
    """The file that was made of a plan, as it was measured."""

    path: str
    bytes: int  # of the file
    video_bytes: int  # of the video's packets in it
    bitrate_kbps: float  # of the video
    figure: float
    frames: int
    keyframes: tuple[int, ...]  # frames that a player can seek to; every shot's first is among them
    notes: tuple[str, ...] = ()

    def document(self) -> dict[str, Any]:
        return {
            "path": self.path,
            "score": round(self.figure, 6),
            "bitrate_kbps": round(self.bitrate_kbps, 3),
            "bytes": self.bytes,
            "video_bytes": self.video_bytes,
            "frames": self.frames,
            "keyframes": list(self.keyframes),
            "notes": list(self.notes),
        }


@dataclass(frozen=True, slots=True)
class ShotPlan:
    """The shots of a clip with a quality for each, without gaps."""

    clip: Clip
    settings: Settings
    scoring: Scoring
    division: Division
    target: Target  # with a bitrate to keep, only its column and pool count
    limit_kbps: float | None
    shots: tuple[PlannedShot, ...]
    encodes: int  # made for the plan; points from the cache aren't counted
    points: int  # measured for the plan, those from the cache included
    met: bool
    notes: tuple[str, ...] = ()
    stitched: Stitched | None = None

    @property
    def frames(self) -> int:
        return sum(shot.point.frames for shot in self.shots)

    @property
    def bytes(self) -> int:
        return sum(shot.point.bytes for shot in self.shots)

    @property
    def bitrate_kbps(self) -> float:
        return float(self.bytes * 8 * self.clip.rate / self.frames / 1000)

    @property
    def predicted(self) -> float:
        """The target's figure of the whole clip: of all frames of all shots."""
        return pool(
            np.concatenate([shot.point.scores[self.target.column] for shot in self.shots]), self.target.pool
        )

    def made(self, stitched: Stitched) -> ShotPlan:
        """The plan with the file that was made of it."""
        return replace(self, stitched=stitched)

    def document(self) -> dict[str, Any]:
        """The plan as plain values: the entries that vmaf-tune's users know, and then the others."""
        from acuity.tune.shots.commands import concat_command, segment_commands

        by_vmaf = self.target.column == "vmaf" and self.division != "bitrate"
        return {
            "encoder": self.settings.encoder.name,
            "framerate": float(self.clip.rate),
            "predicate": PREDICATES[self.division],
            "target_vmaf": self.target.value if by_vmaf else None,
            "shots": [shot.document() for shot in self.shots],
            "segment_commands": segment_commands(self),
            "concat_command": concat_command(self),
            "allocation": self.division,
            "target": None
            if self.division == "bitrate"
            else {"value": self.target.value, "column": self.target.column, "pool": self.target.pool},
            "bitrate_limit_kbps": self.limit_kbps,
            "met": self.met,
            "predicted": {
                "score": round(self.predicted, 6),
                "column": self.target.column,
                "pool": self.target.pool,
                "bitrate_kbps": round(self.bitrate_kbps, 3),
                "bytes": self.bytes,
                "frames": self.frames,
            },
            "measured": None if self.stitched is None else self.stitched.document(),
            "knob": self.settings.encoder.knob,
            "settings": {**self.settings.document(), "options": self._options()},
            "encoder_version": self.shots[0].point.encoder_version,
            "model": self.shots[0].point.model,
            "encodes": self.encodes,
            "points": self.points,
            "range": covered(self.clip, self.frames),
            "notes": list(self.notes),
        }

    def _options(self) -> list[list[str]]:
        """The options that all shots' encoders get, those that they always get included."""
        encoder = self.settings.encoder
        options = self.settings.encoder_options(self.shots[0].quality)
        apart = (encoder.knob, *encoder.also, encoder.preset_option)
        return [[name, value] for name, value in options.items() if name not in apart]

    def csv(self) -> str:
        """A line for each shot, numbered from 1."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(_CSV_COLUMNS)
        for number, shot in enumerate(self.shots, 1):
            about = {"shot": number, **shot.document()}
            writer.writerow([about[column] for column in _CSV_COLUMNS])
        return text.getvalue()
