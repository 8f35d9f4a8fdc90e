"""CompareReport: the scores of many encodes side by side, and its document for programs."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Final

from acuity import __version__
from acuity.comparison.analysis import Analysis, analyse
from acuity.comparison.row_status import FAILED, FINISHED, NOT_FINISHED, PARTIAL
from acuity.errors import AcuityError, Remedy
from acuity.report.plain import plain
from acuity.scoring.report import ScoreReport
from acuity.video.notes import Level, Note

SCHEMA: Final = "acuity.compare/1"
_PARTIAL_NOTE: Final = "partial"  # the code of a report's note, which is said once for all rows


@dataclass(frozen=True, eq=False)
class CompareRow:
    """One encode: its figures, or why it has none."""

    name: str
    reference: str
    distorted: str
    encoder: str | None = None
    size: int | None = None  # of the encode's file, in bytes
    kbps: float | None = None  # of its video stream; of the file if it is raw
    seconds: float | None = None  # of video
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
        if self.report.models:
            return self.report.score
        return next(iter(self.report.metrics.values()), None)

    @property
    def column(self) -> str | None:
        """The column that the score is the mean of."""
        if self.report is None:
            return None
        if self.report.models:
            return self.report.scores[0]
        return self.report.headlines[0].key if self.report.headlines else None

    @property
    def notes(self) -> list[Note]:
        """The notes on its figures; that they are partial is said of all rows together."""
        found = [] if self.report is None else self.report.notes
        return [note for note in found if note.code != _PARTIAL_NOTE]

    @property
    def partial(self) -> bool:
        """Whether the figures are those of the frames before an interruption."""
        return self.report is not None and self.report.partial is not None

    @property
    def status(self) -> str:
        """What became of it, as row_status.py names it."""
        if self.unfinished:
            return NOT_FINISHED
        return PARTIAL if self.partial else FINISHED if self.report is not None else FAILED

    @property
    def ranked(self) -> bool:
        """Whether there is a score to rank it by."""
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
            "name": self.name,
            "reference": self.reference,
            "distorted": self.distorted,
            "encoder": self.encoder,
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
        found: dict[str, Any] = plain(document)
        return found

    def frames_document(self, columns: Iterable[str]) -> dict[str, Any]:
        """The figures of all frames in these columns, as far as there are any."""
        if self.report is None:
            return {}
        results = self.report.results
        known = {name: results.columns[name].tolist() for name in columns if name in results.columns}
        found: dict[str, Any] = plain({"frame": results.frames, **known})
        return found


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


@dataclass(frozen=True, eq=False)
class CompareReport:
    """All encodes, in the order given."""

    rows: list[CompareRow]
    seconds: float  # of wall time
    notes: list[str] = field(default_factory=list)  # about the comparison as a whole
    interrupted: bool = False  # rows without figures may only lack the time
    against: str | None = None  # the encoder that others are compared with; None: the first

    def __str__(self) -> str:
        failed = self.count(FAILED)
        scores = [f"{row.name} {row.score:.2f}" for row in self.ranking if row.ranked]
        return ", ".join([*scores, *([f"{failed} failed"] if failed else [])])

    def __repr__(self) -> str:
        return f"<CompareReport: {self}>"

    @property
    def scores(self) -> dict[str, float]:
        """The scores by the names of the encodes, the best first; those that failed are not there."""
        return {row.name: row.score for row in self.ranking if row.ranked and row.score is not None}

    @property
    def errors(self) -> dict[str, str]:
        """Why encodes have no score, by their names."""
        return {row.name: row.error for row in self.rows if row.error is not None}

    def write(self, path: str | os.PathLike[str], format: str | None = None) -> None:
        """Write the comparison as .html, .json or .csv; raises OutputError."""
        from acuity.comparison.write import write_comparison

        write_comparison(self, path, format)

    @property
    def ranking(self) -> list[CompareRow]:
        """The rows, the best of each reference first; those without a place come last, in the order given.

        Scores of different references say nothing about each other, so references stay in the order given.
        """
        return [standing.row for standing in self.analysis.standings]

    @property
    def references(self) -> list[str]:
        """The references, in the order given."""
        return list(dict.fromkeys(row.reference for row in self.rows))

    @cached_property
    def analysis(self) -> Analysis:
        """Places and ties, differences of two encodes, BD-rates of encoders."""
        return analyse(self.rows, lower_is_better=self.lower_is_better, against=self.against)

    @property
    def lower_is_better(self) -> bool:
        """Whether a low score is a good one, as of some metrics."""
        report = next((row.report for row in self.rows if row.report is not None), None)
        if report is None or report.models or not report.headlines:
            return False
        return report.headlines[0].metric.better == "lower"

    def notes_by_encode(self, spell: Callable[[Remedy], str]) -> dict[tuple[Level, str], list[str]]:
        """The notes on all pairs, warnings first, each with the names of the encodes that it is about."""
        found: dict[tuple[Level, str], list[str]] = {}
        for row in self.rows:
            for note in row.notes:
                found.setdefault((note.level, note.spelled(spell)), []).append(row.name)
        return dict(sorted(found.items(), key=lambda entry: entry[0][0] != "warning"))

    def count(self, status: str) -> int:
        """How many rows have this status."""
        return sum(row.status == status for row in self.rows)

    @property
    def all_notes(self) -> list[str]:
        """The notes about the comparison as a whole, about its places, and about what wasn't finished."""
        return [*self.notes, *self.analysis.notes, *self._about_unfinished()]

    def _about_unfinished(self) -> Iterator[str]:
        partial, none = self.count(PARTIAL), self.count(NOT_FINISHED)
        if not partial + none:
            return
        parts = [f"{partial} with figures of a part of the frames"] if partial else []
        parts += [f"{none} without figures"] if none else []
        yield (
            f"interrupted: {partial + none} of {len(self.rows)} encodes are not finished "
            f"({', '.join(parts)}), and are not remembered; the same command scores them"
        )

    @property
    def model(self) -> str | None:
        """The model of the scores; None if pairs have different ones, or none."""
        models = {row.report.model for row in self.rows if row.report is not None}
        return models.pop() if len(models) == 1 else None

    def to_document(
        self,
        *,
        per_frame: bool = False,
        pools: Sequence[str] = (),
        command: str | None = None,
        spell: Callable[[Remedy], str] = Remedy.plain,
    ) -> dict[str, Any]:
        """The document `acuity.compare/1`."""
        found = self.analysis
        return {
            "schema": SCHEMA,
            "version": __version__,
            **({"command": command} if command is not None else {}),
            "model": self.model,
            "seconds": round(self.seconds, 3),
            "interrupted": self.interrupted,
            "pairs": [row.to_document(per_frame=per_frame, pools=pools, spell=spell) for row in self.rows],
            "ranking": [row.name for row in self.ranking],
            "ranked_on": [
                {"reference": entry.reference, "frames": len(entry.frames), "most_frames": entry.most}
                for entry in found.rankings
            ],
            "places": {standing.row.name: standing.place for standing in found.standings},
            "differences": plain([entry.to_document() for entry in found.differences]),
            "bd_rates": plain([entry.to_document() for entry in found.rates]),
            "notes": self.all_notes,
        }
