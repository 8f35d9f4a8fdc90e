"""The clip that trial encodes are made of: the whole source, or pieces of it that stand for all of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from acuity.errors import TuneError, to_give
from acuity.tune.clip import Clip
from acuity.tune.points.point import Point
from acuity.tune.points.workbench import Workbench
from acuity.tune.request import TuneRequest
from acuity.tune.search.target import Target
from acuity.tune.shots.detect import Detection, known_shots
from acuity.tune.shots.sampling import SampledPieces, sample


@dataclass(frozen=True, slots=True)
class Material:
    """The clip to encode for trials, and the whole of which it is a sample."""

    clip: Clip
    whole: Clip
    sample: SampledPieces | None  # None: the clip is the whole

    def target(self, target: Target) -> Target:
        """The target for trials: a size of the whole becomes the bitrate that keeps it."""
        if self.sample is None or target.kind != "size":
            return target
        seconds = float(self.sample.total_frames / self.whole.rate)
        return replace(target, kind="bitrate", value=target.value * 8 / seconds / 1000)

    def document(self, point: Point, target: Target) -> dict[str, Any] | None:
        if self.sample is None:
            return None
        return {
            **self.sample.document(),
            "score": self._score(point, target).document(),
            "bitrate_kbps": self.sample.bitrate_kbps(point).document(),
        }

    def range(self, point: Point) -> dict[str, Any]:
        return covered(self.whole, point.frames if self.sample is None else self.sample.total_frames)

    def notes(self, point: Point, target: Target) -> list[str]:
        said = part_notes(self.whole)
        if self.sample is not None:
            said.append(self.sample.note(self._score(point, target)))
            said.append(self.sample.note(self.sample.bitrate_kbps(point), "kbit/s", 0))
        return said

    def _score(self, point: Point, target: Target) -> Any:
        assert self.sample is not None
        if target.kind != "quality":
            return self.sample.score(point)
        return self.sample.score(point, target.column, target.pool)


def covered(clip: Clip, frames: int) -> dict[str, Any]:
    """The frames that an answer is about, up to but without `end_frame`, and their times."""
    end = frames if clip.parts is None else clip.parts[-1].end
    return {
        "start_frame": 0,
        "end_frame": end,
        "start_seconds": 0.0,
        "end_seconds": round(float(end / clip.rate), 6),
        "whole": clip.parts is None,
    }


def part_notes(clip: Clip) -> list[str]:
    if clip.parts is None:
        return []
    end, total = clip.parts[-1].end, clip.info.frames
    of = "" if total is None else f" of {'' if clip.info.frames_exact else 'about '}{total}"
    return [
        f"only the first {float(end / clip.rate):.4g} s of '{clip.path}' were encoded and scored, "
        f"frames 0 to {end - 1}{of}: figures of the whole may differ"
    ]


def material(request: TuneRequest, bench: Workbench) -> Material:
    """The material of a request: shots are looked for only if it is to be sampled."""
    whole = request.clip()
    if request.sample is None:
        return Material(whole, whole, None)
    if request.subsample > 1:
        raise TuneError(to_give("sample", "subsample", verb="choose one of"), ": both leave frames out")
    shots = known_shots(bench.cache, whole, Detection(), progress=bench.check)
    found = sample(shots, whole.rate, request.sample)
    return Material(found.of(whole), whole, None if found.whole else found)
