"""The clip that trial encodes are made of: the whole source, or pieces of it that stand for all of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from acuity.errors import TuneError, to_give
from acuity.tune.progress import Stopped
from acuity.tune.shots.detect import Detection, known_shots
from acuity.tune.shots.sampling import Sample, sample

if TYPE_CHECKING:
    from acuity.tune.clip import Clip
    from acuity.tune.points.point import Point
    from acuity.tune.points.workbench import Workbench
    from acuity.tune.request import TuneRequest
    from acuity.tune.search.target import Target


@dataclass(frozen=True, slots=True)
class Material:
    """The clip to encode for trials, and the whole of which it is a sample."""

    clip: Clip
    whole: Clip
    sample: Sample | None  # None: the clip is the whole

    def target(self, target: Target) -> Target:
        """The target for trials: a size of the whole becomes the bitrate that keeps it."""
        if self.sample is None or target.kind != "size":
            return target
        seconds = float(self.sample.total_frames / self.whole.rate)
        return replace(target, kind="bitrate", value=target.value * 8 / seconds / 1000)

    def document(self, point: Point, target: Target) -> dict[str, Any] | None:
        """What was sampled, and how far the point's figures may be from those of the whole."""
        if self.sample is None:
            return None
        return {
            **self.sample.document(),
            "score": self._score(point, target).document(),
            "bitrate_kbps": self.sample.bitrate_kbps(point).document(),
        }

    def notes(self, point: Point, target: Target) -> list[str]:
        """The same as sentences."""
        if self.sample is None:
            return []
        return [
            self.sample.note(self._score(point, target)),
            self.sample.note(self.sample.bitrate_kbps(point), "kbit/s", 0),
        ]

    def _score(self, point: Point, target: Target) -> Any:
        assert self.sample is not None
        if target.kind != "quality":
            return self.sample.score(point)
        return self.sample.score(point, target.column, target.pool)


def material(request: TuneRequest, bench: Workbench) -> Material:
    """The material of a request: shots are looked for only if it is to be sampled."""
    whole = request.clip()
    if request.sample is None:
        return Material(whole, whole, None)
    if request.subsample > 1:
        raise TuneError(to_give("sample", "subsample", verb="choose one of"), ": both leave frames out")

    def looked(done: int, total: int | None) -> None:
        if bench.stopped:
            raise Stopped

    shots = known_shots(bench.cache, whole, Detection(), progress=looked)
    found = sample(shots, whole.rate, seconds=request.sample)
    if found.whole:
        return Material(whole, whole, None)
    return Material(found.of(whole), whole, found)
