"""Scores and features of a running measurement, as clients ask for them: the newest, one frame, many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from acuity.errors import FeatureError, InputError, NoFramesError, NotReady
from acuity.mcp.embedded.running import RunningScores
from acuity.measure.pooling import POOLS, percentile

if TYPE_CHECKING:
    from acuity.mcp.embedded.state import Live, Version
    from acuity.measure.results import Results

ALL: Final = "all"  # stands for every feature
_MOST_FRAMES: Final = 500  # in one answer
_MOST_FIGURES: Final = 5000
_RECENT: Final = 100  # frames that the resource shows by itself

_Column = tuple[NDArray[np.int64], NDArray[np.float64]]  # frames and their figures, without gaps in either


class Scores:
    """Answers questions for figures. For the server's thread."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self._name: str | None = None  # of the first model
        self._running: RunningScores | None = None
        self._last: tuple[Version, dict[str, Any]] | None = None

    def newest(self) -> dict[str, Any]:
        """The newest score, and what all of them pool to; takes no longer the more there are."""
        version = self._live.version
        if self._last is None or self._last[0] != version:
            self._last = version, self._newest(self._main(), ())
        return self._last[1]

    def answer(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """What vmaf.score says; raises AcuityError."""
        name = asked.get("name") or self._main()
        percents = asked.get("percentiles", ())
        if "first" in asked or "last" in asked:
            if "index" in asked:
                raise InputError(
                    "index is for one frame, first and last are for a range: give one or the other"
                )
            document = self._range(name, asked, percents)
        elif "index" in asked:
            document = self._one(name, int(asked["index"]), percents)
        else:
            document = self._newest(name, percents)
        features = asked.get("features")
        return self._with_features(document, features) if features else document

    def worst(self, count: int, name: str | None) -> dict[str, Any]:
        """The lowest frames so far, the worst first."""
        name = name or self._main()
        frames, values = self._column(name)
        order = np.argsort(values, kind="stable")[:count]
        return {
            "name": name,
            "frames": [{"frame": int(frames[i]), "score": float(values[i])} for i in order],
            "frames_compared": len(frames),
        }

    def recent(self, wanted: range | None) -> dict[str, Any]:
        """The newest scores, or those of the frames wanted, oldest first; no error where there are none."""
        try:
            name = self._main()
            frames, values = self._column(name)
        except (FeatureError, NotReady):
            return {"name": None, "count": 0, "aggregate": None, "frames": []}
        first, last = max(len(frames) - _RECENT, 0), len(frames)
        if wanted is not None:
            first, last = np.searchsorted(frames, [wanted.start, wanted.stop])
            last = min(last, first + _MOST_FRAMES)
        rows = zip(frames[first:last].tolist(), values[first:last].tolist(), strict=True)
        return {
            "name": name,
            "count": len(frames),
            "aggregate": self._aggregate(name, ()),
            "frames": [{"frame": frame, "score": value} for frame, value in rows],
        }

    # ---- the three kinds of question --------------------------------------------------------

    def _newest(self, name: str, percents: Sequence[float]) -> dict[str, Any]:
        if self._is_main(name):
            latest = self._live.latest()
            if latest is None:
                raise _nothing_yet(name)
            frame, value = latest
        else:
            frames, values = self._column(name)
            frame, value = int(frames[-1]), float(values[-1])
        return self._document(name, frame, value, self._aggregate(name, percents))

    def _one(self, name: str, index: int, percents: Sequence[float]) -> dict[str, Any]:
        measurement = self._live.measurement
        self._check_fed(index)
        try:
            value = measurement.feature_at(index, name)
        except NotReady as error:
            raise NotReady(str(error).replace("feed more frames or flush", "ask again in a moment")) from None
        try:
            aggregate = self._aggregate(name, percents)
        except NotReady:  # threads may be done with this frame before they are with the first
            aggregate = None
        return self._document(name, index, value, aggregate)

    def _range(self, name: str, asked: Mapping[str, Any], percents: Sequence[float]) -> dict[str, Any]:
        first = int(asked.get("first", 0))
        last = int(asked.get("last", max(self._live.measurement.frames - 1, first)))
        if first > last:
            raise InputError(f"first {first} is behind last {last}: swap them")
        self._check_fed(first)
        frames, values = self._column(name)
        start, stop = np.searchsorted(frames, [first, last + 1])
        if start == stop:
            raise NotReady(f"no frame from {first} to {last} has {name} yet: ask again in a moment")
        frames, values = frames[start:stop], values[start:stop]
        limit = min(_MOST_FRAMES, _MOST_FIGURES // (1 + len(self._names(asked.get("features", ())))))
        rows = zip(frames[:limit].tolist(), values[:limit].tolist(), strict=True)
        document = self._document(name, int(frames[-1]), float(values[-1]), _pooled(frames, values, percents))
        document["frames"] = [{"frame": frame, "score": value} for frame, value in rows]
        document["next_first"] = int(frames[limit]) if len(frames) > limit else None
        return document

    # ---- pieces -----------------------------------------------------------------------------

    def _document(
        self, name: str, frame: int, value: float, aggregate: dict[str, Any] | None
    ) -> dict[str, Any]:
        return {
            "name": name,
            "model": self._model_at(name, frame),
            "frame": frame,
            "score": value,
            "aggregate": aggregate,
        }

    def _with_features(self, document: dict[str, Any], features: Sequence[str]) -> dict[str, Any]:
        results = self._results(document["name"])
        columns = {name: results.columns[name] for name in self._names(features)}
        numbers = np.asarray(results.frames)

        def figures(frame: int) -> dict[str, float]:
            row = int(np.searchsorted(numbers, frame))
            if row >= len(numbers) or numbers[row] != frame:
                return {}
            found = {name: float(values[row]) for name, values in columns.items()}
            return {name: value for name, value in found.items() if value == value}

        if "frames" in document:
            rows = [{**row, "features": figures(row["frame"])} for row in document["frames"]]
            return {**document, "frames": rows}
        return {**document, "features": figures(document["frame"])}

    def _names(self, features: Sequence[str]) -> list[str]:
        """Columns of the report; raises FeatureError for one that isn't there."""
        if not features:
            return []
        results = self._results(features[0])
        if ALL in features:
            return list(results.columns)
        for name in features:
            results.values(name, 0, -1)  # has the sentence
        return list(dict.fromkeys(features))

    def _aggregate(self, name: str, percents: Sequence[float]) -> dict[str, Any]:
        running = self._run() if self._is_main(name) else None
        if running is None or percents:
            return _pooled(*self._column(name), percents)
        found = running.aggregate
        if found is None:
            raise _nothing_yet(name)
        return {"first": running.first, "last": running.last, "frames": len(running), **found}

    def _column(self, name: str) -> _Column:
        """What is known of a column; raises NotReady where that is nothing."""
        if self._is_main(name):
            frames, values = self._run().column()
        else:
            results = self._results(name)
            results.values(name, 0, -1)  # has the sentence for one that isn't there
            column = results.columns[name]
            known = ~np.isnan(column)
            frames, values = np.asarray(results.frames, np.int64)[known], column[known]
        if not len(frames):
            raise _nothing_yet(name)
        return frames, values

    def _run(self) -> RunningScores:
        if self._running is None:
            self._running = RunningScores(self._live.measurement, self._main())
        self._running.advance()
        return self._running

    def _results(self, name: str) -> Results:
        try:
            return self._live.results()
        except NoFramesError:
            raise _nothing_yet(name) from None

    def _main(self) -> str:
        """The column that counts."""
        if self._name is None:
            models = self._live.measurement.models
            if not models:
                there = ", ".join(self._live.measurement.features) or "none"
                raise FeatureError(f"no model is measured, so there are no scores: name a feature of {there}")
            self._name = models[0].name  # whatever model takes its place goes by the same
        return self._name

    def _is_main(self, name: str) -> bool:
        try:
            return name == self._main()
        except FeatureError:
            return False

    def _model_at(self, name: str, frame: int) -> str | None:
        segments = self._live.measurement.segments
        return next((s.label for s in segments if s.name == name and s.first <= frame <= s.last), None)

    def _check_fed(self, index: int) -> None:
        fed = self._live.measurement.frames
        if index < fed:
            return
        if not self._live.over:
            newest = f"the newest is {fed - 1}" if fed else "none was"
            raise NotReady(f"frame {index} was not read yet: {newest}")
        raise InputError(f"there is no frame {index}: {fed} were measured, and no more come")


def _pooled(
    frames: NDArray[np.int64], values: NDArray[np.float64], percents: Sequence[float]
) -> dict[str, Any]:
    found: dict[str, Any] = {"first": int(frames[0]), "last": int(frames[-1]), "frames": len(frames)}
    found |= {method: function(values) for method, function in POOLS.items()}
    if percents:
        found["percentiles"] = {f"p{percent:g}": percentile(values, percent) for percent in percents}
    return found


def _nothing_yet(name: str) -> NotReady:
    return NotReady(f"no frame has {name} yet: ask again after a frame or two")
