"""ScoreReport: the result of scoring a pair of videos, and its document for programs.

The document is a contract, described in docs/output.md: `acuity score --json` prints it as it is.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from acuity.arrays import np
from acuity.errors import InputError, MissingExtra, Remedy
from acuity.measure.pooling import POOLS, Bound, Method
from acuity.measure.results import Results
from acuity.models.choose import ModelChoice
from acuity.models.inputs import AnyModel
from acuity.models.model import Model, ModelCollection
from acuity.records import Record, field
from acuity.report.document import plain
from acuity.video.notes import Note
from acuity.video.pairs.clock import PairTimes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from acuity.report.page.page_document import PagePicture
    from acuity.scoring.metrics import Headline
    from acuity.scoring.request import Request
    from acuity.scoring.resume import Partial
    from acuity.scoring.watched import FileIdentity
    from acuity.tiny.tiny_model import TinyModel

SCHEMA: Final = "acuity.score/1"
PERCENTILES: Final = (1, 5, 10, 25, 50, 75, 90, 95, 99)
TINY_ESTIMATE: Final = "tiny-estimate"  # the code of the note about how far a tiny model can be trusted
_EACH: Final = 1 / 25  # seconds of a frame, where no rate is known
_INTERVAL: Final = ("bagging", "stddev", "ci_p95_lo", "ci_p95_hi")


class ScoreReport(Record, eq=False):
    """The figures of every frame, and how they were computed."""

    results: Results
    models: list[AnyModel]  # those that predicted, in the order given, the tiny one last
    choice: ModelChoice | None  # of the model that 'auto' stood for
    notes: list[Note]
    input: dict[str, Any]  # the two videos and how they were compared, ready for JSON
    bitdepth: int  # of the pictures as they were compared
    timeline: PairTimes
    threads: int
    instruction_set: str
    seconds: float  # of wall time, for decoding and scoring
    backend: str = "cpu"  # the preferred device
    computed_by: dict[str, str] = field(default_factory=dict)  # which device computed each extractor
    card: str | None = None  # the name of the graphics card, if one was used
    headlines: list[Headline] = field(default_factory=list)  # of the metrics asked for, in order
    restored: int = 0  # frames whose figures come from the partial report of an earlier run
    partial: Partial | None = None  # the part of the clip that was measured, if the run was interrupted
    tiny_model: TinyModel | None = None
    no_reference: bool = False  # whether the distorted video was scored alone
    request: Request | None = None  # what was scored; None for a report that was kept
    files: tuple[FileIdentity, ...] | None = None  # of the videos before they were read

    def __str__(self) -> str:
        shown = [
            f"{self.results.held_by(name)}"
            if self.results.shared(name)
            else f"{self.results.label(name)} {self.pool(name):.2f}"
            for name in self.scores
        ]
        scored = len(self.results.frames)
        frames = f"{scored} frames" if scored == self.pairs else f"{scored} of {self.pairs} frames"
        counted = f"{frames} of {self.results.width}x{self.results.height}"
        warned = [f"{len(self.warnings)} warning{'s' * (len(self.warnings) > 1)}"] if self.warnings else []
        others = [f"{name} {value:.6g}" for name, value in self.metrics.items()]
        return ", ".join([*(shown or others or self.results.columns), counted, *warned])

    def __repr__(self) -> str:
        return f"<ScoreReport: {self}>"

    def _repr_html_(self) -> str:
        """The page of the report, without pictures, in a frame of its own: what notebooks show."""
        from html import escape

        from acuity.report import render_report

        why = "there are no pictures: acuity.write_page() makes a page with them"
        page = "".join(render_report(self.results, "html", extra=self._entries("html", no_pictures=why)))
        style = "width: 100%; height: 44em; border: 0"
        return f'<iframe sandbox="allow-scripts" style="{style}" srcdoc="{escape(page)}"></iframe>'

    @property
    def score(self) -> float:
        """Mean of the first model; NaN without one, or if several contributed to its score."""
        return self.results.pool() if self.models else float("nan")

    @property
    def model(self) -> str | None:
        """Version or path of the first model; 'vmaf (steered)' if several contributed to its score."""
        return self.results.label(self.scores[0]) if self.models else None

    @property
    def on_vmaf_scale(self) -> bool:
        """Whether the first model's scores go from 0 to 100, as those of VMAF do."""
        first = self.models[0] if self.models else None
        base = first.base if isinstance(first, ModelCollection) else first
        return isinstance(base, Model) and base.clip == (0, 100)

    @property
    def scores(self) -> list[str]:
        """The columns that are scores: one a model, and each output of the tiny model."""
        tiny = self.tiny_model
        return [
            name
            for model in self.models
            for name in (tiny.output_names() if tiny and model.name == tiny.name else [model.name])
        ]

    @property
    def pairs(self) -> int:
        """The pairs of frames that were looked at, those that subsampling left out included."""
        return int(self.input["pairs"])

    @property
    def subsample(self) -> int | None:
        """One frame in so many was scored; None if steering changed that on the way."""
        return self.results.subsample

    @property
    def warnings(self) -> list[Note]:
        """The notes that cast doubt on the score."""
        return [note for note in self.notes if note.level == "warning"]

    @property
    def speed(self) -> float:
        """Frames of the clip in a second, those that subsampling left out included."""
        return (self.pairs - self.restored) / max(self.seconds, 1e-9)

    def pool(
        self, name: str | None = None, method: Method = "mean", first: Bound = None, last: Bound = None
    ) -> float:
        """One figure for many frames, of the first model's score unless named: see Results.pool()."""
        return self.results.pool(name, method, first, last)

    def write(
        self,
        path: str | os.PathLike[str],
        format: str | None = None,
        precision: str | int = "legacy",
        *,
        command: str | None = None,
        spell: Callable[[Remedy], str] = Remedy.plain,
        pictures: Sequence[PagePicture] = (),
        no_pictures: str | None = None,
    ) -> None:
        """Write a report as `acuity score -o` does; the name says the format, unless it is given.

        `command` is the command line that made it, and `spell` writes the options that notes name as it has
        them. A page shows `pictures`, or says why there are none.
        """
        from acuity.report import format_of, write_report

        format = format or format_of(path)
        extra = self._entries(format, spell, command, pictures=pictures, no_pictures=no_pictures)
        write_report(self.results, path, format, precision, extra=extra)

    def _entries(
        self,
        format: str,
        spell: Callable[[Remedy], str] = Remedy.plain,
        command: str | None = None,
        **page: Any,
    ) -> dict[str, Any]:
        from acuity.report import SHOWN

        said = {} if command is None else {"command": command}
        extra = {"acuity": {**self.about(spell), **said, **self.resumption()}, **self.tiny_marks()}
        if format in SHOWN:
            extra |= {**self.page_entries(), "pictures": (), **page}
        return extra

    def page_entries(self) -> dict[str, Any]:
        """The entries for pages and plots besides those of reports: times, scores and metrics."""
        return {
            "times": [self.time_of(frame) for frame in self.results.frames],
            "scores": self.scores,
            "labels": {name: self.results.label(name) for name in self.scores},
            "metrics": [headline.key for headline in self.headlines] or None,
        }

    def to_numpy(self) -> NDArray[np.void]:
        """The figures as a structured array: `frame`, `time` in seconds (NaN: not known), and each column."""
        frames = self.results.frames
        times = [math.nan if (time := self.time_of(frame)) is None else time for frame in frames]
        columns = {"frame": frames, "time": times, **self.results.columns}
        kinds = [(name, np.int64 if name == "frame" else np.float64) for name in columns]
        table = np.empty(len(frames), kinds)
        for name, values in columns.items():
            table[name] = values
        return table

    def to_pandas(self) -> Any:
        """The figures as a pandas DataFrame with `frame` as its index; MissingExtra without pandas."""
        try:
            from pandas import DataFrame
        except ImportError:
            raise MissingExtra("to_pandas() needs pandas: pip install 'acuity-vmaf[pandas]'") from None
        return DataFrame(self.to_numpy()).set_index("frame")

    @property
    def metrics(self) -> dict[str, float]:
        """The means of the metrics that were asked for, by name; by column where a name has several."""
        names = [headline.metric.name for headline in self.headlines]
        keys = [headline.key for headline in self.headlines]
        named = zip(names, keys, strict=True)
        return {name if names.count(name) == 1 else key: self.pool(key) for name, key in named}

    def worst(self, count: int = 5) -> list[tuple[int, float]]:
        """Frame numbers and scores of the lowest frames, the worst first."""
        return self.results.worst(count)

    def time_of(self, frame: int) -> float | None:
        """The presentation time of a reference frame, in seconds; None if no rate is known.

        Raises InputError for a frame that wasn't compared.
        """
        if not 0 <= frame < self.pairs:
            raise InputError(f"there is no frame {frame}: {self.pairs} were compared, counted from 0")
        return self.timeline.at(frame)

    def to_dict(
        self, *, pools: Sequence[str] = (), worst: int = 5, per_frame: bool = False
    ) -> dict[str, Any]:
        """The document `acuity.score/1`: plain values, with null for what JSON can't hold."""
        summary = self.summary(pools=pools, worst=worst)
        document: dict[str, Any] = {
            "schema": SCHEMA,
            "score": summary["score"],
            **self.about(),
            **self.tiny_marks(),
            "models": summary["models"],
            "metrics": summary.get("metrics", []),
            "worst": summary["worst"],
            "features": self.results.pooled(),
        }
        if self.results.steered:
            document["steering"] = self.results.marks()
        if per_frame:
            columns = {name: values.tolist() for name, values in self.results.columns.items()}
            document["per_frame"] = {"frame": self.results.frames, **columns}
        found: dict[str, Any] = plain(document)
        return found

    def summary(self, *, pools: Sequence[str] = (), worst: int = 5) -> dict[str, Any]:
        """The summary of the scores in the document; `metrics` only if some were requested."""
        metrics = [self._headline(headline, pools) for headline in self.headlines]
        found: dict[str, Any] = plain(
            {
                "score": self.score,
                "model": self.model,
                "models": [
                    {"name": name, "label": self.results.label(name), **self._figures(name, pools)}
                    for name in self.scores
                ],
                "worst": [
                    {"frame": frame, "time": self.time_of(frame), "score": score}
                    | ({"model": models[0]} if (models := self.model_at(frame)) else {})
                    for frame, score in (self.worst(worst) if self.models else ())
                ],
                "worst_segments": self.worst_segments(),
                **({"metrics": metrics} if metrics else {}),
            }
        )
        return found

    def worst_segments(self, count: int = 3, seconds: float = 10.0) -> list[dict[str, Any]]:
        """The stretches of the clip with the lowest means of the first model, the worst first.

        They are so long, or a quarter of a shorter clip, and don't overlap. None if several models scored.
        """
        if not self.models or len(self.results.holders()) > 1:
            return []
        frames, scores = self.results.frames, self.results.columns[self.results.models[0]]
        rows = np.flatnonzero(np.isfinite(scores))
        times = [self.time_of(frames[row]) for row in rows]
        known = [time for time in times if time is not None]
        each = (known[-1] - known[0]) / (len(known) - 1) if len(known) > 1 else 0.0
        length = max(min(round(seconds / (each if each > 0 else _EACH)), len(rows) // 4), 1)
        sums = np.concatenate([[0.0], np.cumsum(scores[rows])])
        means = (sums[length:] - sums[:-length]) / length
        found: list[dict[str, Any]] = []
        while len(found) < count and len(means) and np.isfinite(means).any():
            at = int(np.nanargmin(means))
            part = rows[at : at + length]
            ends = {"first": frames[part[0]], "last": frames[part[-1]]}
            ends |= {"start": times[at], "end": times[at + length - 1]}
            found.append({**ends, "mean": float(means[at]), "min": float(scores[part].min())})
            means[max(at - length + 1, 0) : at + length] = np.nan
        return found

    def about(self, spell: Callable[[Remedy], str] = Remedy.plain) -> dict[str, Any]:
        """The part of the document that says what was compared and how, without the figures."""
        from acuity import __version__

        choice, labels = self.choice, [model.label for model in self.models]
        unnamed = self.request is not None and self.request.default_model
        by: str = choice.by if choice is not None else "default" if unnamed else "caller"
        if any(map(self.results.is_steered, self.results.models)) or (choice and choice.model not in labels):
            choice, by = None, "steering"
        found: dict[str, Any] = plain(
            {
                "version": __version__,
                "model": self.model,
                "model_chosen_by": by,
                "model_reason": None if choice is None else choice.reason,
                "frames": len(self.results.frames),
                "width": self.results.width,
                "height": self.results.height,
                "bitdepth": self.bitdepth,
                "input": self.input,
                "subsample": self.subsample,
                "notes": [note.to_dict(spell) for note in self.notes],
                "backend": self.backend,
                **({} if self.card is None else {"card": self.card}),
                "computed_by": self.computed_by,
                "instruction_set": self.instruction_set,
                "threads": self.threads,
                "seconds": round(self.seconds, 3),
                "fps": round(self.speed, 3),
                **self.marks(),
            }
        )
        return found

    def marks(self) -> dict[str, Any]:
        partial = {} if self.partial is None else {"partial": self.partial.to_document()}
        return {**partial, **({"steering": self.results.marks()} if self.results.steered else {})}

    def tiny_marks(self) -> dict[str, Any]:
        alone = {"no_reference": True} if self.no_reference else {}
        return alone if self.tiny_model is None else {**alone, "tiny_model": self.tiny_model.describe()}

    def resumption(self) -> dict[str, Any]:
        """The entry of a partial JSON report from which another run can go on; empty if none can."""
        return {"resume": self.partial.resume} if self.partial and self.partial.resume else {}

    def model_at(self, frame: int) -> list[str]:
        """The model behind the first score of a frame, if not all frames have the same; else none."""
        shared = len(self.results.holders()) > 1
        return [part.model for part in self.results.holders(None, frame, frame)] if shared else []

    def _headline(self, headline: Headline, pools: Sequence[str]) -> dict[str, Any]:
        """One metric and the figures of its column; null if no frame has one."""
        metric = headline.metric
        about: dict[str, Any] = {"name": metric.name, "key": headline.key, "label": headline.label}
        about |= {"unit": metric.unit or None, "better": metric.better}
        if not self.results.known(headline.key):
            return {**about, **dict.fromkeys(("clip", *POOLS, "percentiles"))}
        figures = {"clip": self.results.aggregate.get(metric.clip), **self._figures(headline.key, pools)}
        figures.pop("bootstrap", None)  # it is in `models`
        if not metric.harmonic:
            figures["harmonic_mean"] = None
        return {**about, **figures}

    def _figures(self, name: str, pools: Sequence[str]) -> dict[str, Any]:
        pool = self.results.pool
        figures: dict[str, Any] = {method: pool(name, method) for method in POOLS}
        figures["percentiles"] = {f"p{p}": pool(name, ("percentile", p)) for p in PERCENTILES}
        if pools:
            figures["pools"] = {method: pool(name, method) for method in pools}
        if interval := self.interval(name):
            figures["bootstrap"] = interval
        return figures

    def interval(self, name: str) -> dict[str, float]:
        """Bagging, stddev and the 95 % interval of a bootstrap collection; empty for other scores."""
        keys = {part: f"{name}_{part}" for part in _INTERVAL}
        if self.results.shared(name) or not all(key in self.results.columns for key in keys.values()):
            return {}
        return {part: self.results.pool(key) for part, key in keys.items()}
