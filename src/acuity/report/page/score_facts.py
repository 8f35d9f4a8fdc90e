"""The facts of a page beside its figures: what was compared and how, the times of frames, events."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from acuity import __version__
from acuity.report.document import ReportSource
from acuity.report.page.page_document import PageEvent, PageNote


def mapping(value: object) -> Mapping[str, Any]:
    """The value if it is an object, otherwise an empty one: reports may come from anywhere."""
    return value if isinstance(value, Mapping) else {}


def entries(value: object) -> Iterator[Mapping[str, Any]]:
    """The objects in a list; none if the value is no list."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        yield from (entry for entry in value if isinstance(entry, Mapping))


def frame_times(about: Mapping[str, Any], frames: NDArray[np.int64]) -> NDArray[np.float64] | None:
    """The seconds of frames from the rate of the reference; None if it varies or isn't known."""
    video = mapping(about.get("input"))
    reference, distorted = mapping(video.get("reference")), mapping(video.get("distorted"))
    if reference.get("variable_rate") or (not reference and distorted.get("variable_rate")):
        return None
    rate = _rate(reference) or _rate(distorted)
    if rate is None or not len(frames):
        return None
    side = "ref" if reference else "dis"
    step, skip = video.get(f"frame_step_{side}", 1), video.get(f"frame_skip_{side}", 0)
    if not (isinstance(step, int) and isinstance(skip, int) and step > 0 and skip >= 0):
        return None
    # The quotient is rounded once, as for exact times; the product of whole numbers is exact.
    return np.asarray((frames * step + skip) * rate.denominator / rate.numerator, np.float64)


def _rate(video: Mapping[str, Any]) -> Fraction | None:
    text = video.get("frame_rate")
    try:
        rate = Fraction(text) if isinstance(text, str | int) else None
    except (ValueError, ZeroDivisionError):
        return None
    return rate if rate is not None and 0 < rate < 1_000_000 else None


def score_facts(
    source: ReportSource, extra: Mapping[str, Any], labels: Mapping[str, str]
) -> list[tuple[str, str]]:
    """Names and texts, in the order of the page."""
    about = mapping(extra.get("acuity"))
    video = mapping(about.get("input"))
    size = f"at {source.width}x{source.height}" if source.width and source.height else ""
    speed = f"{source.fps:.1f} fps" if 0 < source.fps < math.inf else ""
    found = [
        *((role, _video(mapping(video.get(role)))) for role in ("reference", "distorted")),
        ("compared", _compared(video) or size),
        ("model", ", ".join(dict.fromkeys(labels.values()))),
        ("why this model", _text(about.get("model_reason"))),
        ("tiny model", _text(mapping(extra.get("tiny_model")).get("path"))),
        ("pairing", _pairing(video)),
        ("frames", _frames(source, about)),
        ("computed by", _machine(about) or speed),
        ("command", _text(about.get("command"))),
        ("report", _text(extra.get("name"))),
        ("versions", _versions(about, extra)),
    ]
    return [(name, text) for name, text in found if text]


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _video(video: Mapping[str, Any]) -> str:
    if not video:
        return ""
    size = f"{video['width']}x{video['height']}" if video.get("width") and video.get("height") else ""
    rate, frames = _rate(video), f"{video['frames']} frames" if video.get("frames") else ""
    speed = f"{float(rate):.6g} fps" if rate else ""
    kept = (video.get("path"), size, _pixels(video), speed, video.get("codec"), frames)
    return ", ".join(str(part) for part in kept if part)


def _pixels(video: Mapping[str, Any]) -> str:
    return f"{video.get('pixel_format', '')} {video['bitdepth']}-bit".strip() if video.get("bitdepth") else ""


def _compared(video: Mapping[str, Any]) -> str:
    if not video.get("width"):
        return ""
    display = video.get("display")
    shown = "" if display in (None, "native") else f"as on a display of {display}"
    conversions = video.get("conversions")
    made = map(str, conversions) if isinstance(conversions, list) else ()
    parts = (f"at {video.get('width')}x{video.get('height')}", _pixels(video), shown)
    return ", ".join([*filter(None, parts), *made])


def _pairing(video: Mapping[str, Any]) -> str:
    words = {"index": "frame by frame", "time": "by presentation time"}
    parts = [words[video["pair_by"]]] if video.get("pair_by") in words else []
    for side, of in (("ref", "the reference"), ("dis", "the distorted video")):
        if skipped := video.get(f"frame_skip_{side}"):
            parts.append(f"{skipped} frames of {of} skipped")
    if decided := len(list(entries(mapping(video.get("alignment")).get("decisions")))):
        parts.append(f"aligned, {decided} decision{'s' * (decided > 1)} marked on the curve")
    return ", ".join(parts)


def _frames(source: ReportSource, about: Mapping[str, Any]) -> str:
    scored = len(source.frames)
    pairs = mapping(about.get("input")).get("pairs")
    of = f" of {pairs:,}" if isinstance(pairs, int) and pairs != scored else ""
    text = f"{scored:,}{of} scored"
    every = about.get("subsample")
    if isinstance(every, int) and every > 1:
        text += f", one in {every}"
    if partial := mapping(about.get("partial")):
        whole = partial.get("of")
        text += f", partial: interrupted{f' before {whole:,}' if isinstance(whole, int) else ''}"
    return text


def _machine(about: Mapping[str, Any]) -> str:
    parts = [str(about[key]) for key in ("backend", "card", "instruction_set") if about.get(key)]
    if about.get("threads"):
        parts.append(f"{about['threads']} threads")
    if isinstance(about.get("seconds"), int | float):
        parts.append(f"{about['seconds']} s")
    if isinstance(about.get("fps"), int | float):
        parts.append(f"{about['fps']:.1f} fps")
    return ", ".join(parts)


def _versions(about: Mapping[str, Any], extra: Mapping[str, Any]) -> str:
    """The version that measured, and the one that made the page if it is another."""
    measured, libvmaf = _text(about.get("version")), _text(extra.get("libvmaf"))
    if measured == __version__:
        return f"acuity {__version__}"
    by = f"acuity {measured}" if measured else f"libvmaf {libvmaf}" if libvmaf else ""
    page = f"page made by acuity {__version__}"
    return f"measured by {by}; {page}" if by else page


_MOST: Final = 200  # events of a page


def score_events(
    frames: NDArray[np.int64], about: Mapping[str, Any]
) -> tuple[list[PageEvent], list[PageNote]]:
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


def _steering(about: Mapping[str, Any]) -> Iterator[PageEvent]:
    steering = mapping(about.get("steering"))
    for segment in entries(steering.get("segments")):
        first, label = segment.get("first"), segment.get("label")
        options = f" ({segment['options']})" if segment.get("options") else ""
        if isinstance(first, int) and first > 0:
            yield PageEvent(first, f"{segment.get('name')} is {label}{options} from here on")
    for step in entries(steering.get("subsample")):
        first, every = step.get("first"), step.get("every")
        if isinstance(first, int) and isinstance(every, int) and first > 0:
            rate = "every frame" if every == 1 else f"one frame in {every}"
            yield PageEvent(first, f"{rate} is scored from here on")
    stopped = steering.get("stopped_after")
    if isinstance(stopped, int):
        yield PageEvent(stopped, "the measurement was stopped after this frame")
    measured = mapping(about.get("partial")).get("frames")
    if isinstance(measured, int) and measured > 0:
        yield PageEvent(measured - 1, "the measurement was interrupted after this frame")


def _alignment(about: Mapping[str, Any]) -> Iterator[PageEvent]:
    alignment = mapping(mapping(about.get("input")).get("alignment"))
    for decision in entries(alignment.get("decisions")):
        pair, statement = decision.get("pair"), decision.get("statement")
        if isinstance(pair, int) and isinstance(statement, str):
            yield PageEvent(pair, statement)


def _gaps(frames: NDArray[np.int64], about: Mapping[str, Any]) -> Iterator[PageEvent]:
    """Where frame numbers are missing, except those that sampling leaves out."""
    if len(frames) < 2:
        return
    steps = np.diff(frames)
    allowed = _widest_step(about) or int(np.median(steps))
    for row in np.flatnonzero(steps > max(allowed, 1)).tolist():
        first, last = int(frames[row]), int(frames[row + 1])
        yield PageEvent(first, f"no figures between frame {first} and frame {last}")


def _widest_step(about: Mapping[str, Any]) -> int | None:
    """The widest distance of two scored frames that the report's sampling allows; None if it doesn't say."""
    steps = [step.get("every") for step in entries(mapping(about.get("steering")).get("subsample"))]
    found = [step for step in (*steps, about.get("subsample")) if isinstance(step, int)]
    return max(found, default=None)
