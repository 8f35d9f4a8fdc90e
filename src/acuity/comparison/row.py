"""CompareRow: one encode of a comparison, with its figures, or why it has none."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from acuity.errors import AcuityError, Remedy
from acuity.report.document import plain
from acuity.scoring.report import ScoreReport
from acuity.scoring.request import Request
from acuity.video.notes import Note

FINISHED: Final = "finished"
PARTIAL: Final = "partial"  # interrupted, with the figures of the frames before
NOT_FINISHED: Final = "not finished"  # interrupted, without figures
FAILED: Final = "failed"
_PARTIAL_NOTE: Final = "partial"  # the code of a report's note, which is said once for all rows


@dataclass(frozen=True, eq=False)
class CompareRow:
    name: str
    reference: str
    distorted: str
    encoder: str | None = None
    size: int | None = None  # of the encode's file, in bytes
    kbps: float | None = None  # of its video stream, as far as it is scored; of the file if it is raw
    seconds: float | None = None  # of video, that the bitrate is of
    report: ScoreReport | None = None
    remembered: bool = False  # whether an earlier run made the figures
    failure: Exception | None = None
    copy: bool = False  # of the reference, by the digests of both
    unfinished: bool = False  # without figures, because the comparison was interrupted

    @property
    def error(self) -> str | None:
        """Why there are no figures, in one sentence."""
        return self.spelled(Remedy.plain)

    def spelled(self, spell: Callable[[Remedy], str]) -> str | None:
        """The error with its remedies as `spell` writes them."""
        if isinstance(self.failure, AcuityError):
            return self.failure.spelled(spell)
        return None if self.failure is None else str(self.failure) or type(self.failure).__name__

    @property
    def score(self) -> float | None:
        """Mean of the first model, or of the first metric if no model was asked for."""
        if self.report is None:
            return None
        return self.report.score if self.report.models else next(iter(self.report.metrics.values()), None)

    @property
    def column(self) -> str | None:
        if self.report is None:
            return None
        if self.report.models:
            return self.report.scores[0]
        return self.report.headlines[0].key if self.report.headlines else None

    @property
    def figures(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The numbers of the frames that have a figure, and these figures, which the score is the mean of."""
        if self.report is None or self.column is None:
            return np.empty(0, np.int64), np.empty(0)
        results = self.report.results
        values = np.asarray(results.columns[self.column], np.float64)
        known = np.isfinite(values)
        return np.asarray(results.frames, np.int64)[known], values[known]

    @property
    def notes(self) -> list[Note]:
        """The notes on its figures; that they are partial is said of all rows together."""
        found = [] if self.report is None else self.report.notes
        return [note for note in found if note.code != _PARTIAL_NOTE]

    @property
    def partial(self) -> bool:
        return self.report is not None and self.report.partial is not None

    @property
    def status(self) -> str:
        if self.unfinished:
            return NOT_FINISHED
        return PARTIAL if self.partial else FINISHED if self.report is not None else FAILED

    @property
    def ranked(self) -> bool:
        return self.score is not None and not math.isnan(self.score)

    def to_document(
        self,
        *,
        per_frame: bool = False,
        pools: Sequence[str] = (),
        spell: Callable[[Remedy], str] = Remedy.plain,
    ) -> dict[str, Any]:
        """The entry of the pair: plain values, with null for what JSON can't hold."""
        report = self.report
        document: dict[str, Any] = {
            **{name: getattr(self, name) for name in ("name", "reference", "distorted", "encoder")},
            "bytes": self.size,
            "kbps": self.kbps,
            "score": self.score,
            "summary": report and report.summary(pools=pools),
            "about": report and report.about(),
            "remembered": self.remembered,
            "status": self.status,
            "error": self.spelled(spell),
        }
        if per_frame and report is not None:
            document["per_frame"] = self.frames_document(report.results.columns)
        return dict(plain(document))

    def frames_document(self, columns: Iterable[str]) -> dict[str, Any]:
        """The figures of all frames in these columns, as far as there are any."""
        if self.report is None:
            return {}
        results = self.report.results
        known = {name: results.columns[name].tolist() for name in columns if name in results.columns}
        return dict(plain({"frame": results.frames, **known}))


def is_part(scoring: Request) -> bool:
    """Whether only some of an encode's frames are scored, whose bits are counted then."""
    return bool(scoring.frames or scoring.skip_dis)


def with_rate(row: CompareRow) -> CompareRow:
    """The row with the bitrate of a raw file, which is known when its frames and their rate are."""
    if row.kbps is not None or row.size is None or row.report is None:
        return row
    about = row.report.input["distorted"]
    frames, rate = about.get("frames"), about.get("frame_rate")
    if about.get("kind") not in ("raw", "y4m") or not frames or not rate:
        return row
    seconds = float(frames / Fraction(rate))
    return replace(row, seconds=seconds, kbps=row.size * 8 / seconds / 1000)
