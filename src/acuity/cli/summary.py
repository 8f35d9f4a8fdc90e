"""What `acuity score` tells people at the end, as lines of text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from acuity.cli.plot import plot
from acuity.cli.scoring import Outcome
from acuity.cli.style import Style, clock, columns, count

PERCENTILES: Final = (1, 5, 10, 25, 50, 75, 90)
_MARKS: Final = {"warning": ("yellow", "warning: "), "info": ("dim", "")}


def summary(outcome: Outcome, style: Style, *, worst: int, pools: Sequence[str]) -> list[str]:
    """All of it: score, spread, chart, worst frames, remarks, speed."""
    parts = []
    if outcome.results.models:
        parts = [
            _headline(outcome, style),
            _spread(outcome, style, pools),
            _chart(outcome, style),
            _worst(outcome, style, worst),
        ]
    else:
        parts = [_features(outcome)]
    parts += [_notes(outcome, style), [_speed(outcome, style)]]
    return [line for part in parts if part for line in ("", *part)]


def _headline(outcome: Outcome, style: Style) -> list[str]:
    results = outcome.results
    rows = []
    for model in outcome.models:
        name = "VMAF" if model.name == "vmaf" else model.name
        rows.append((name, f"{results.pool(model.name):.2f}", model.label))
    names, numbers = (max(len(row[i]) for row in rows) for i in range(2))
    lines = [
        f"  {style('bold', f'{name:{names}}  {number:>{numbers}}')}   {style('dim', label)}"
        for name, number, label in rows
    ]
    return lines + [line for model in outcome.models if (line := _interval(outcome, model.name))]


def _interval(outcome: Outcome, name: str) -> str:
    low, high = f"{name}_ci_p95_lo", f"{name}_ci_p95_hi"
    pool = outcome.results.pool
    if low not in outcome.results.columns:
        return ""
    return f"  95 % of the bootstrap models say {pool(low):.2f} to {pool(high):.2f}"


def _spread(outcome: Outcome, style: Style, pools: Sequence[str]) -> list[str]:
    pool = outcome.results.pool
    wanted = [("lowest", "min"), ("harmonic mean", "harmonic_mean"), ("highest", "max")]
    line = "   ".join(f"{label} {pool(method=method):.2f}" for label, method in wanted)
    percentiles = "   ".join(f"p{p} {pool(method=('percentile', p)):.2f}" for p in PERCENTILES)
    asked = [style("bold", f"  {method} {pool(method=method):.2f}") for method in pools]
    return [*asked, f"  {line}", f"  {percentiles}"]


def _chart(outcome: Outcome, style: Style) -> list[str]:
    scores = outcome.results.values()
    if len(scores) < 2:
        return []
    frames = outcome.results.frames
    seconds = time_of(outcome, frames[-1] + 1)
    start = time_of(outcome, frames[0])
    duration = seconds - start if seconds is not None and start is not None else None
    width = min(style.columns - 12, 64)
    return [f"  {line}" for line in plot(scores, width=width, seconds=duration, unicode=style.unicode)]


def _worst(outcome: Outcome, style: Style, number: int) -> list[str]:
    rows = []
    for frame, score in outcome.results.worst(number):
        seconds = time_of(outcome, frame)
        rows.append((f"{frame:7d}", "" if seconds is None else f"at {clock(seconds, 3)}", f"{score:.2f}"))
    return [style("dim", "  worst frames"), *columns(rows)] if rows else []


def _features(outcome: Outcome) -> list[str]:
    pooled = outcome.results.pooled()
    return columns([(name, f"mean {methods['mean']:.6g}") for name, methods in pooled.items()])


def _notes(outcome: Outcome, style: Style) -> list[str]:
    lines = []
    for note in outcome.pairing.notes:
        colour, mark = _MARKS[note.level]
        lines.append("  " + style(colour, mark + note.text))
    return lines


def _speed(outcome: Outcome, style: Style) -> str:
    frames = outcome.results.frames[-1] + 1
    speed = frames / max(outcome.seconds, 1e-9)
    text = (
        f"{count(frames, 'frame')} in {outcome.seconds:.1f} s: {speed:.1f} fps on "
        f"{count(outcome.threads, 'thread')} ({outcome.instruction_set})"
    )
    return "  " + style("dim", text)


def time_of(outcome: Outcome, frame: int) -> float | None:
    """When a player shows a frame of the reference; None where no rate is known."""
    times = outcome.times
    if times is not None:
        known = times[frame] if frame < len(times) else times[-1]
        return None if math.isnan(known) else known
    pairing = outcome.pairing
    rate, own = pairing.rate, pairing.info_ref.rate or pairing.info_dis.rate
    if rate is None or own is None:
        return None
    return float(frame / rate + pairing.options.frame_skip_ref / own)
