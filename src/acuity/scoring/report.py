"""ScoreReport: the result of scoring a pair of videos, and its document for programs.

The document is a contract, described in docs/output.md: `acuity score --json` prints it as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from acuity.measure.pooling import POOLS, Method
from acuity.measure.results import Results
from acuity.models.choose import Choice
from acuity.report.plain import plain
from acuity.video.notes import Note
from acuity.video.pairs.clock import Timeline

if TYPE_CHECKING:
    from acuity.models import Model, ModelCollection
    from acuity.scoring.metrics import Headline

AnyModel: TypeAlias = "Model | ModelCollection"

SCHEMA: Final = "acuity.score/1"
PERCENTILES: Final = (1, 5, 10, 25, 50, 75, 90, 95, 99)
_INTERVAL: Final = ("bagging", "stddev", "ci_p95_lo", "ci_p95_hi")


@dataclass(frozen=True, eq=False)
class ScoreReport:
    """The figures of every frame, and how they were computed."""

    results: Results
    models: list[AnyModel]  # those that predicted, in the order given
    choice: Choice | None  # of the model that 'auto' stood for
    notes: list[Note]
    input: dict[str, Any]  # the two videos and how they were compared, ready for JSON
    bitdepth: int  # of the pictures as they were compared
    timeline: Timeline
    threads: int
    instruction_set: str
    seconds: float  # of wall time, for decoding and scoring
    backend: str = "cpu"  # the preferred device
    computed_by: dict[str, str] = field(default_factory=dict)  # which device computed each extractor
    headlines: list[Headline] = field(default_factory=list)  # of the metrics asked for, in order

    @property
    def score(self) -> float:
        """Mean of the first model; NaN without one."""
        return self.results.pool() if self.models else float("nan")

    @property
    def model(self) -> str | None:
        """Version or path of the first model; 'vmaf (steered)' if several contributed to its score."""
        return self.results.label(self.models[0].name) if self.models else None

    @property
    def pairs(self) -> int:
        """The pairs of frames that were looked at, those that subsampling left out included."""
        return int(self.input["pairs"])

    @property
    def subsample(self) -> int:
        """One frame in so many was scored, from the first frame on."""
        return self.results.steps[0][1] if self.results.steps else 1

    @property
    def warnings(self) -> list[Note]:
        """The notes that cast doubt on the score."""
        return [note for note in self.notes if note.level == "warning"]

    @property
    def speed(self) -> float:
        """Frames of the clip in a second, those that subsampling left out included."""
        return self.pairs / max(self.seconds, 1e-9)

    def pool(
        self,
        name: str | None = None,
        method: Method = "mean",
        first: int | None = None,
        last: int | None = None,
    ) -> float:
        """One figure for many frames, of the first model's score unless named: see Results.pool()."""
        return self.results.pool(name, method, first, last)

    def worst(self, count: int = 5) -> list[tuple[int, float]]:
        """Frame numbers and scores of the lowest frames, the worst first."""
        return self.results.worst(count)

    def time_of(self, frame: int) -> float | None:
        """The presentation time of a reference frame, in seconds; None if no rate is known."""
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
            "models": summary["models"],
            "metrics": summary.get("metrics", []),
            "worst": summary["worst"],
            "features": self.results.pooled(),
        }
        if self.results.steered:
            document["steering"] = self.results.marks(figures=True)
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
                    {
                        "name": model.name,
                        "label": self.results.label(model.name),
                        **self._figures(model.name, pools),
                    }
                    for model in self.models
                ],
                "worst": [
                    {"frame": frame, "time": self.time_of(frame), "score": score}
                    for frame, score in (self.worst(worst) if self.models else ())
                ],
                **({"metrics": metrics} if metrics else {}),
            }
        )
        return found

    def about(self) -> dict[str, Any]:
        """The part of the document that says what was compared and how, without the figures."""
        from acuity import __version__

        choice = self.choice
        if choice is not None and self.results.steered and choice.model not in [m.label for m in self.models]:
            choice = None  # steering has replaced the chosen model
        found: dict[str, Any] = plain(
            {
                "version": __version__,
                "model": self.model,
                "model_chosen_by": "caller" if choice is None else choice.by,
                "model_reason": None if choice is None else choice.reason,
                "frames": len(self.results.frames),
                "width": self.results.width,
                "height": self.results.height,
                "bitdepth": self.bitdepth,
                "input": self.input,
                "subsample": self.subsample,
                "notes": [note.to_dict() for note in self.notes],
                "backend": self.backend,
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
        """The steering entries for reports; empty if the measurement wasn't steered."""
        return {"steering": self.results.marks()} if self.results.steered else {}

    def _headline(self, headline: Headline, pools: Sequence[str]) -> dict[str, Any]:
        """One metric and the figures of its column; null if no frame has one."""
        metric = headline.metric
        about: dict[str, Any] = {"name": metric.name, "key": headline.key, "label": headline.label}
        about |= {"unit": metric.unit or None, "better": metric.better}
        if not len(self.results.values(headline.key)):
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
        """Bagging, stddev and the 95 % interval of a bootstrap collection; empty for a single model."""
        keys = {part: f"{name}_{part}" for part in _INTERVAL}
        if not all(key in self.results.columns for key in keys.values()):
            return {}
        return {part: self.results.pool(key) for part, key in keys.items()}
