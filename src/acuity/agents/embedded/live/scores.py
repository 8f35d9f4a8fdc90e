"""Scores and features of a running measurement: the newest frame, one frame, a range, the worst.

The scores of the first model are read as they come, each frame once. Pools are made as the report makes them,
so they have its digits.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from acuity.agents.embedded.live.state import LiveState, Revision
from acuity.errors import FeatureError, InputError, NoFramesError, NotReady, ScoreError
from acuity.measure.pooling import POOLS, percentiles
from acuity.measure.results import Results
from acuity.measure.segments import Segment

ALL: Final = "all"  # stands for every feature
MAX_FRAMES: Final = 500  # in one answer
_MAX_FIGURES: Final = 5000
_RECENT: Final = 100  # frames that the resource shows by itself

MAX_POINTS: Final = 5000  # frames in one answer of vmaf.curve
MAX_ROWS: Final = 500  # frames in one notification, or in one answer of vmaf.watch

Row = dict[str, Any]  # frame, score
_NO_COMMON_SCALE: Final = "scores of different models have no common scale: see parts"
_Frames = NDArray[np.int64]
_Figures = NDArray[np.float64]


class Scores:
    """Reads figures of one measurement. For the server's thread."""

    def __init__(self, live: LiveState) -> None:
        self._live = live
        self._last: tuple[Revision, dict[str, Any]] | None = None
        self._restart()

    def _restart(self) -> None:
        self._repredictions = self._live.measurement.repredictions
        self._frames = array("q")
        self._scores = array("d")
        self._next = 0  # the frame to look at

    def newest(self) -> dict[str, Any]:
        revision = self._live.revision
        if self._last is None or self._last[0] != revision:
            self._last = revision, self._newest(self._named(None), ())
        return self._last[1]

    def answer(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        name = self._named(asked.get("name"))
        percents = asked.get("percentiles", ())
        if "first" in asked or "last" in asked:
            if "index" in asked:
                raise InputError("index is for one frame, first and last for a range: give one or the other")
            document = self._range(name, asked, percents)
        elif "index" in asked:
            document = self._one(name, int(asked["index"]), percents)
        else:
            document = self._newest(name, percents)
        features = asked.get("features")
        return self._with_features(document, features) if features else document

    def worst(self, count: int, name: str | None, apart: int = 0) -> dict[str, Any]:
        """The lowest frames so far, the worst first; no two of them are less than `apart` frames apart."""
        name = self._named(name)
        frames, values = self._column(name)
        parts = self._parts(name, frames, values)
        rows = []
        for model, some, figures in parts or [("", frames, values)]:
            order = _lowest(figures, count) if apart <= 1 else _lowest_places(some, figures, count, apart)
            by = {"model": model} if model else {}
            rows += [{"frame": int(some[i]), "score": float(figures[i]), **by} for i in order]
        models = {"models": _models(parts)} if parts else {}
        return {"name": name, "frames": rows, "frames_compared": len(frames), **models}

    def curve(self, first: int, name: str | None, *, times: bool = False) -> dict[str, Any]:
        """The known frames from `first` on as two lists, and where to go on; where none are, empty ones."""
        repredictions, over = self._live.measurement.repredictions, self._live.over  # before looking
        name = self.check(name)
        rows, _ = self.since(name, first, most=MAX_POINTS + 1)
        frames, values = [row["frame"] for row in rows], [row["score"] for row in rows]
        more = len(rows) > MAX_POINTS
        time_of = self._live.watched.time_of
        shown = {"times": [time_of(frame) for frame in frames[:MAX_POINTS]]} if times else {}
        return {
            "name": name,
            **shown,
            "frames": frames[:MAX_POINTS],
            "scores": values[:MAX_POINTS],
            "next_first": frames[MAX_POINTS] if more else frames[-1] + 1 if frames else first,
            "more": more,
            "aggregate": self._aggregate(name, ()),
            "models": [{"model": part.model, "first": part.first} for part in self._holders(name)],
            "repredictions": repredictions,
            "over": over and not more,
        }

    @property
    def newest_read(self) -> tuple[int, float] | None:
        """The newest frame among those read by now, and its score: nothing is predicted for it."""
        return (self._frames[-1], self._scores[-1]) if self._frames else None

    def score_of(self, frame: int) -> float | None:
        """The first model's score of a frame, if it was read by now."""
        place = bisect_left(self._frames, frame)
        return self._scores[place] if frame in self._frames[place : place + 1] else None

    def recent(self, wanted: range | None) -> dict[str, Any]:
        """The newest scores, or those of the frames wanted, oldest first; no error where there are none."""
        try:
            name = self._named(None)
            frames, values = self._column(name)
        except (FeatureError, NotReady):
            return {"name": None, "count": 0, "aggregate": None, "frames": []}
        first, last = max(len(frames) - _RECENT, 0), len(frames)
        if wanted is not None:
            first, last = np.searchsorted(frames, [wanted.start, wanted.stop])
            last = min(last, first + MAX_FRAMES)
        aggregate, rows = self._told(name, frames, values, ()), _rows(frames[first:last], values[first:last])
        return {"name": name, "count": len(frames), "aggregate": aggregate, "frames": rows}

    def headline(self) -> tuple[int, float] | None:
        """The newest frame that has a score of the first model, and that score."""
        if self._main is not None:
            self._advance()
        return self.newest_read

    def check(self, name: str | None) -> str:
        """The column of that name, by default the first model's; raises FeatureError where there is none."""
        measurement = self._live.measurement
        known = [*measurement.agenda.outputs(), *measurement.features]
        if name is not None and name not in known:
            raise FeatureError(f"nothing named '{name}' is measured: there are {', '.join(known)}")
        return self._named(name)

    def since(
        self, name: str, first: int, below: float | None = None, most: int | None = None
    ) -> tuple[list[Row], int]:
        """The known frames from `first` on, so many at most, or those below a figure; and where to go on."""
        try:
            frames, values = self._column(name)
        except NotReady:
            return [], first
        start = int(np.searchsorted(frames, first))
        frames, values = frames[start:][:most], values[start:][:most]
        following = int(frames[-1]) + 1 if len(frames) else first
        low = np.full(len(values), True) if below is None else values < below
        return _rows(frames[low], values[low]), following

    def count_below(self, name: str | None, below: float) -> int:
        """How many known frames are below a figure."""
        try:
            _, values = self._column(self.check(name))
        except NotReady:
            return 0
        return int(np.count_nonzero(values < below))

    def newest_rows(self, name: str, first: int, below: float | None = None) -> tuple[dict[str, Any], int]:
        """The rows of since() in a document that is never too long: the newest, with the number left out."""
        rows, following = self.since(name, first, below)
        shown = rows[-MAX_ROWS:]
        document = {
            "name": name,
            "first": shown[0]["frame"] if shown else None,
            "last": shown[-1]["frame"] if shown else None,
            "frames": shown,
            "omitted": len(rows) - len(shown),
        }
        return (document if below is None else {**document, "below": below}), following

    def _newest(self, name: str, percents: Sequence[float]) -> dict[str, Any]:
        frames, values = self._column(name)
        aggregate = self._told(name, frames, values, percents)
        return self._document(name, int(frames[-1]), float(values[-1]), aggregate)

    def _one(self, name: str, index: int, percents: Sequence[float]) -> dict[str, Any]:
        measurement = self._live.measurement
        self._check_fed(index)
        try:
            value = measurement.feature_at(index, name)
        except NotReady as error:
            raise NotReady(str(error).replace("feed more frames or flush", "ask again in a moment")) from None
        return self._document(name, index, value, self._aggregate(name, percents))

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
        limit = min(MAX_FRAMES, _MAX_FIGURES // (1 + len(self._names(asked.get("features", ())))))
        aggregate = self._told(name, frames, values, percents)
        document = self._document(name, int(frames[-1]), float(values[-1]), aggregate)
        document["frames"] = _rows(frames[:limit], values[:limit])
        document["next_first"] = int(frames[limit]) if len(frames) > limit else None
        return document

    def _document(
        self, name: str, frame: int, value: float, aggregate: dict[str, Any] | None
    ) -> dict[str, Any]:
        held = [part.model for part in self._holders(name) if part.first <= frame <= part.last]
        model = held[0] if held else None
        return {"name": name, "model": model, "frame": frame, "score": value, "aggregate": aggregate}

    def _aggregate(self, name: str, percents: Sequence[float]) -> dict[str, Any] | None:
        """The pools of all known frames; None if no frame is known."""
        with suppress(NotReady):
            return self._told(name, *self._column(name), percents)
        return None

    def _told(
        self, name: str, frames: _Frames, values: _Figures, percents: Sequence[float]
    ) -> dict[str, Any]:
        """The pools of these frames; if several models scored them, the pools of each model's frames."""
        if not (parts := self._parts(name, frames, values)):
            return {**_range(frames), **_pooled(values, percents)}
        figures = [
            {"model": model, **_range(some), **_pooled(scores, percents)} for model, some, scores in parts
        ]
        nothing: dict[str, Any] = dict.fromkeys(POOLS)
        if percents:
            nothing["percentiles"] = {f"p{percent:g}": None for percent in percents}
        several = {"models": _models(parts), "parts": figures, "reason": _NO_COMMON_SCALE}
        return {**_range(frames), **nothing, **several}

    def _parts(self, name: str, frames: _Frames, values: _Figures) -> list[tuple[str, _Frames, _Figures]]:
        """The frames of each model and their figures, where several models scored them; else none."""
        parts = []
        for segment in self._holders(name):
            start, stop = np.searchsorted(frames, [segment.first, segment.last + 1])
            if start < stop:
                parts.append((segment.model, frames[start:stop], values[start:stop]))
        return parts if len(parts) > 1 else []

    def _holders(self, name: str) -> list[Segment]:
        return [segment for segment in self._live.measurement.segments if segment.name == name]

    def _with_features(self, document: dict[str, Any], features: Sequence[str]) -> dict[str, Any]:
        results = self._results(document["name"])
        columns = {name: results.columns[name] for name in self._names(features)}
        numbers = np.asarray(results.frames)

        def figures(frames: list[int]) -> list[dict[str, float]]:
            """The figures of each of these frames; a frame that isn't counted has none."""
            rows = np.minimum(np.searchsorted(numbers, frames), len(numbers) - 1)
            table = np.column_stack([values[rows] for values in columns.values()]).tolist()
            there = numbers[rows] == frames
            return [
                {name: value for name, value in zip(columns, row, strict=True) if known and value == value}
                for row, known in zip(table, there, strict=True)
            ]

        if "frames" in document:
            found = figures([row["frame"] for row in document["frames"]])
            pairs = zip(document["frames"], found, strict=True)
            return {**document, "frames": [{**row, "features": some} for row, some in pairs]}
        return {**document, "features": figures([document["frame"]])[0]}

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

    def _column(self, name: str) -> tuple[_Frames, _Figures]:
        """The known figures of a column, without gaps; raises NotReady if there are none."""
        if name == self._main:
            self._advance()
            frames, values = np.array(self._frames, np.int64), np.array(self._scores, np.float64)
        else:
            results = self._results(name)
            results.values(name, 0, -1)  # has the sentence for one that isn't there
            column = results.columns[name]
            known = ~np.isnan(column)
            frames, values = np.asarray(results.frames, np.int64)[known], column[known]
        if not len(frames):
            raise _nothing_yet(name)
        return frames, values

    def _advance(self) -> None:
        """Read the first model's scores that have come since the last call."""
        measurement = self._live.measurement
        while True:
            if self._repredictions != measurement.repredictions:
                self._restart()
            if measurement.snapshot().frames_done - self._next > 1:
                # At once, which takes a tenth of the time that each by itself would.
                measurement.predict_known(self._next)
            while (frame := measurement.next_counted(self._next)) < measurement.frames:
                try:
                    score = measurement.score_at(frame, self._main)
                except NotReady:
                    break
                except ScoreError:  # it has no score, and never will: a model can't judge a blank picture
                    self._next = frame + 1
                    continue
                self._frames.append(frame)
                self._scores.append(score)
                self._next = frame + 1
            if self._repredictions == measurement.repredictions:
                return

    def _results(self, name: str) -> Results:
        try:
            return self._live.results()
        except NoFramesError:
            raise _nothing_yet(name) from None

    @property
    def _main(self) -> str | None:
        """The column of the first model; a model that takes its place goes by the same name."""
        models = self._live.measurement.models
        return models[0].name if models else None

    def _named(self, name: str | None) -> str:
        """The column of that name; None: the first model's."""
        if found := name or self._main:
            return found
        there = ", ".join(self._live.measurement.features) or "none"
        raise FeatureError(f"no model is measured, so there are no scores: name a feature of {there}")

    def _check_fed(self, index: int) -> None:
        if index < (fed := self._live.measurement.frames):
            return
        if not self._live.over:
            newest = f"the newest is {fed - 1}" if fed else "none was"
            raise NotReady(f"frame {index} was not read yet: {newest}")
        raise InputError(f"there is no frame {index}: {fed} were measured, and no more come")


def _lowest(values: _Figures, count: int) -> NDArray[np.intp]:
    """The places of the lowest values, in their order; of equal ones the first."""
    candidates = np.arange(len(values))
    if len(values) > 4 * count:  # to sort all of a film takes ten times as long
        candidates = np.flatnonzero(values <= np.partition(values, count)[count])
    return candidates[np.argsort(values[candidates], kind="stable")[:count]]


def _lowest_places(frames: _Frames, values: _Figures, count: int, apart: int) -> list[int]:
    """The lowest value, then the lowest of those so many frames away from it, and so on."""
    left = values.copy()
    found: list[int] = []
    while len(found) < count:
        place = int(np.argmin(left))
        if left[place] == np.inf:  # all are taken, or near to one that is
            break
        found.append(place)
        near = np.searchsorted(frames, [frames[place] - apart + 1, frames[place] + apart])
        left[near[0] : near[1]] = np.inf
    return found


def _models(parts: Sequence[tuple[str, _Frames, _Figures]]) -> list[str]:
    return list(dict.fromkeys(model for model, _, _ in parts))


def _rows(frames: _Frames, values: _Figures) -> list[Row]:
    pairs = zip(frames.tolist(), values.tolist(), strict=True)
    return [{"frame": frame, "score": value} for frame, value in pairs]


def _range(frames: _Frames) -> dict[str, Any]:
    return {"first": int(frames[0]), "last": int(frames[-1]), "frames": len(frames)}


def _pooled(values: _Figures, percents: Sequence[float]) -> dict[str, Any]:
    found: dict[str, Any] = {method: function(values) for method, function in POOLS.items()}
    if percents:
        values_at = percentiles(values, percents)
        found["percentiles"] = {f"p{p:g}": value for p, value in zip(percents, values_at, strict=True)}
    return found


def _nothing_yet(name: str) -> NotReady:
    return NotReady(f"no frame has {name} yet: ask again after a frame or two")
