"""Events on the curve of a score: steering, frames left out by alignment, frames that have no figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from acuity.report.page.page_document import Event, PageNote
from acuity.report.page.score_facts import entries, mapping

_MOST: Final = 200  # events of a page


def score_events(frames: NDArray[np.int64], about: Mapping[str, Any]) -> tuple[list[Event], list[PageNote]]:
    """The events in order, and notes on what is missing."""
    gaps = list(_gaps(frames, about))
    events = [*_steering(about), *_alignment(about), *gaps]
    notes = []
    if gaps:
        first = gaps[0].text
        more = f", and {len(gaps) - 1} more such gaps" if len(gaps) > 1 else ""
        notes.append(PageNote("warning", f"{first}{more}"))
    if len(events) > _MOST:
        notes.append(PageNote("info", f"only the first {_MOST} of {len(events):,} events are marked"))
    return sorted(events, key=lambda event: event.frame)[:_MOST], notes


def _steering(about: Mapping[str, Any]) -> Iterator[Event]:
    steering = mapping(about.get("steering"))
    for segment in entries(steering.get("segments")):
        first, label = segment.get("first"), segment.get("label")
        options = f" ({segment['options']})" if segment.get("options") else ""
        if isinstance(first, int) and first > 0:
            yield Event(first, f"{segment.get('name')} is {label}{options} from here on")
    for step in entries(steering.get("subsample")):
        first, every = step.get("first"), step.get("every")
        if isinstance(first, int) and isinstance(every, int) and first > 0:
            rate = "every frame" if every == 1 else f"one frame in {every}"
            yield Event(first, f"{rate} is scored from here on")
    stopped = steering.get("stopped_after")
    if isinstance(stopped, int):
        yield Event(stopped, "the measurement was stopped after this frame")
    partial = mapping(about.get("partial"))
    measured = partial.get("frames")
    if isinstance(measured, int) and measured > 0:
        yield Event(measured - 1, "the measurement was interrupted after this frame")


def _alignment(about: Mapping[str, Any]) -> Iterator[Event]:
    alignment = mapping(mapping(about.get("input")).get("alignment"))
    for decision in entries(alignment.get("decisions")):
        pair, statement = decision.get("pair"), decision.get("statement")
        if isinstance(pair, int) and isinstance(statement, str):
            yield Event(pair, statement)


def _gaps(frames: NDArray[np.int64], about: Mapping[str, Any]) -> Iterator[Event]:
    """Where frame numbers are missing, except those that sampling leaves out."""
    if len(frames) < 2:
        return
    steps = np.diff(frames)
    allowed = _widest_step(about) or int(np.median(steps))
    for row in np.flatnonzero(steps > max(allowed, 1)).tolist():
        first, last = int(frames[row]), int(frames[row + 1])
        yield Event(first, f"no figures between frame {first} and frame {last}")


def _widest_step(about: Mapping[str, Any]) -> int | None:
    """The widest distance of two scored frames that the report's sampling allows; None if it doesn't say."""
    steps = [step.get("every") for step in entries(mapping(about.get("steering")).get("subsample"))]
    found = [step for step in (*steps, about.get("subsample")) if isinstance(step, int)]
    return max(found, default=None)
