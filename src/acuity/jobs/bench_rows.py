"""Rows of a benchmark: speed with its spread, and how far scores are from the CPU's."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal, TypeAlias

from acuity.jobs.engines import Engine, Run
from acuity.jobs.fixtures import Clip

Verdict: TypeAlias = Literal["BASE", "PASS", "WARN", "FAIL", "SKIP"]

# The first line whose limit the largest difference stays under; whatever is left has failed.
_VERDICTS: Final[tuple[tuple[float, Verdict], ...]] = ((0.01, "PASS"), (0.1, "WARN"), (math.inf, "FAIL"))


@dataclass(frozen=True, slots=True)
class Spread:
    """What several rounds came to."""

    median: float
    min: float
    max: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        return cls(*(round(f(values), 6) for f in (statistics.median, min, max)))


@dataclass(frozen=True, slots=True)
class Row:
    """One engine on one fixture. What wasn't measured is None."""

    fixture: str
    width: int
    height: int
    frames: int
    engine: str  # 'acuity' or 'external'
    backend: str
    verdict: Verdict
    reason: str | None = None  # why it was skipped, failed or is suspicious
    rounds: int = 0
    seconds: Spread | None = None
    fps: Spread | None = None
    vmaf: float | None = None  # the mean of all frames
    max_diff: float | None = None  # largest difference of a frame's score to the CPU's
    max_diff_frame: int | None = None

    @property
    def label(self) -> str:
        return f"{self.fixture} {self.engine} {self.backend}"

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def skipped(clip: Clip, engine: Engine, reason: str) -> Row:
    return _row(clip, engine, "SKIP", reason=reason)


def failed(clip: Clip, engine: Engine, reason: str) -> Row:
    return _row(clip, engine, "FAIL", reason=reason)


def measured(clip: Clip, engine: Engine, runs: Sequence[Run], expected: Sequence[float] | None) -> Row:
    """A row from its rounds; `expected` are the CPU's scores, None where these are they."""
    frames, scores = engine.frames(clip), runs[0].scores
    for run in runs:
        if len(run.scores) != frames or not all(map(math.isfinite, run.scores)):
            missing = frames - sum(map(math.isfinite, run.scores))
            return failed(clip, engine, f"{missing} of {frames} frames have no score")
    found = _compare(runs, scores if expected is None else expected)
    verdict: Verdict = next((word for limit, word in _VERDICTS if found.largest < limit), "FAIL")
    other = "in another round" if expected is None else "on the CPU"
    reason = f"frame {found.frame} scores {found.score:.6f}, and {other} {found.expected:.6f}"
    if expected is None and found.largest == 0.0:
        verdict = "BASE"
    return _row(
        clip,
        engine,
        verdict,
        reason=None if verdict in ("BASE", "PASS") else reason,
        rounds=len(runs),
        seconds=Spread.of([run.seconds for run in runs]),
        fps=Spread.of([frames / run.seconds for run in runs]),
        vmaf=statistics.fmean(scores),
        max_diff=None if verdict == "BASE" else found.largest,
        max_diff_frame=None if verdict == "BASE" else found.frame,
    )


@dataclass(frozen=True, slots=True, order=True)
class _Difference:
    largest: float
    frame: int
    score: float
    expected: float


def _compare(runs: Sequence[Run], expected: Sequence[float]) -> _Difference:
    """The largest difference of any frame in any round."""
    return max(
        _Difference(abs(score - wanted), frame, score, wanted)
        for run in runs
        for frame, (score, wanted) in enumerate(zip(run.scores, expected, strict=True))
    )


def _row(clip: Clip, engine: Engine, verdict: Verdict, **known: Any) -> Row:
    return Row(
        clip.name,
        clip.width,
        clip.height,
        engine.frames(clip),
        engine.maker,
        engine.backend,
        verdict,
        **known,
    )
