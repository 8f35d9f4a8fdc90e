"""acuity.score(): two videos in, one report out."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from acuity.errors import NotReady
from acuity.measure.boundary import BoundarySnapshot
from acuity.measure.measurement import Measurement
from acuity.measure.pooling import Method
from acuity.measure.results import Results

if TYPE_CHECKING:
    from acuity.models import Model, ModelCollection
    from acuity.video.notes import Note
    from acuity.video.pair_options import PairOptions
    from acuity.video.pairing import Pairing

StrPath = str | os.PathLike[str]

# Told after each frame: pairs fed, how many there are in all if known, and the mean score so far if known.
ProgressCallback = Callable[[int, int | None, float | None], None]

AUTO: Final = "auto"
# The first line whose size the reference reaches; a 4K display is watched from nearer than a 1080p one.
_MODEL_BY_SIZE: Final = ((3840, 2160, "vmaf_4k_v0.6.1"), (0, 0, "vmaf_v0.6.1"))


def model_for_size(width: int, height: int) -> str:
    """The default model for pictures of that size."""
    return next(name for w, h, name in _MODEL_BY_SIZE if width >= w or height >= h)


@dataclass(frozen=True, eq=False)
class ScoreReport:
    """What scoring a pair of videos found out."""

    score: float  # mean of the first model
    model: str  # its version or path
    results: Results
    notes: list[Note] = field(default_factory=list)
    input: dict[str, Any] = field(default_factory=dict)  # about the two videos, ready for JSON

    def pool(
        self,
        name: str | None = None,
        method: Method = "mean",
        first: int | None = None,
        last: int | None = None,
    ) -> float:
        """One figure for many frames; of the first model's score unless named."""
        return self.results.pool(name, method, first, last)

    def worst(self, count: int = 5) -> list[tuple[int, float]]:
        """Frame numbers and scores of the lowest frames, the worst first."""
        return self.results.worst(count)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "score": self.score,
            "model": self.model,
            "frames": len(self.results.frames),
            "width": self.results.width,
            "height": self.results.height,
            "fps": self.results.fps,
            "percentiles": {f"p{p}": self.pool(method=("percentile", p)) for p in (1, 5, 10, 25, 50, 75, 90)},
            "pooled": self.results.pooled(),
            "worst": [{"frame": frame, "score": score} for frame, score in self.worst()],
            "notes": [{"level": n.level, "code": n.code, "text": n.text} for n in self.notes],
            "input": self.input,
        }


def score(
    ref: StrPath,
    dis: StrPath,
    *,
    model: str | Model | ModelCollection | Sequence[str | Model | ModelCollection] = AUTO,
    features: Iterable[str] = (),
    threads: int | None = None,
    subsample: int = 1,
    progress: ProgressCallback | None = None,
    width: int | None = None,
    height: int | None = None,
    pixel_format: str | None = None,
    bitdepth: int | None = None,
    pairing: PairOptions | None = None,
    instruction_set: str | None = None,
) -> ScoreReport:
    """Score a distorted video against its reference.

    `model` is a name, a spec such as 'version=vmaf_v0.6.1:name=first', a loaded model, several of those, or
    'auto', which goes by the reference's size. Raw files need width, height, pixel_format and bitdepth.
    Raises AcuityError.
    """
    from acuity.video.open import open_video
    from acuity.video.pairing import pair_videos

    geometry = {"width": width, "height": height, "pixel_format": pixel_format, "bitdepth": bitdepth}
    with Measurement(threads, subsample, instruction_set) as measurement:
        first = open_video(ref, luma_only=True, **geometry)  # type: ignore[arg-type]
        try:
            second = open_video(dis, luma_only=True, **geometry)  # type: ignore[arg-type]
        except BaseException:
            first.close()
            raise
        with pair_videos(first, second, options=pairing) as pairs:
            for wanted in _models(model, pairs):
                measurement.add_model(wanted)
            for feature in features:
                measurement.add_feature(feature)
            return _measure(measurement, pairs, progress)


def _models(
    model: str | Model | ModelCollection | Sequence[str | Model | ModelCollection], pairs: Pairing
) -> list[str | Model | ModelCollection]:
    several = [model] if isinstance(model, str) or not isinstance(model, Sequence) else list(model)
    return [model_for_size(pairs.width, pairs.height) if wanted == AUTO else wanted for wanted in several]


def _measure(measurement: Measurement, pairs: Pairing, progress: ProgressCallback | None) -> ScoreReport:
    if progress is not None:
        measurement.boundary.on_frame(_Progress(measurement, pairs.length, progress))
    for ref, dis in pairs:
        measurement.add(ref, dis)
    measurement.flush()
    if progress is not None:
        _Progress(measurement, pairs.length, progress)(measurement.snapshot())
    results = measurement.results()
    name = results.models[0] if results.models else None
    return ScoreReport(
        score=results.pool() if name is not None else float("nan"),
        model=results.model_labels[name] if name is not None else "",
        results=results,
        notes=pairs.notes,
        input=pairs.description,
    )


class _Progress:
    """Tells a callback at every frame boundary how far the work is, with the mean score so far."""

    def __init__(self, measurement: Measurement, total: int | None, callback: ProgressCallback) -> None:
        self._measurement = measurement
        self._total = total
        self._callback = callback
        self._sum = 0.0
        self._count = 0

    def __call__(self, snapshot: BoundarySnapshot) -> None:
        if self._measurement.models:
            self._add_known_scores(snapshot.frames_fed)
        mean = self._sum / self._count if self._count else None
        self._callback(snapshot.frames_done, self._total, mean)

    def _add_known_scores(self, fed: int) -> None:
        step = self._measurement.subsample
        while self._count * step < fed:
            try:
                self._sum += self._measurement.score_at(self._count * step)
            except NotReady:
                return
            self._count += 1
