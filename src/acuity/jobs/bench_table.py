"""A benchmark for people: one block for each fixture, one line for each engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from acuity.jobs.bench_rows import Row, Spread

_HEADINGS: Final = ("engine", "backend", "fps", "seconds", "VMAF", "max diff", "verdict")


def to_text(rows: Sequence[Row], engine: Mapping[str, Any]) -> str:
    """Speeds are medians, with the slowest and the fastest round; differences are to Acuity's CPU backend."""
    lines = [
        f"{engine['name']} {engine['version']}, {engine['threads']} threads, {engine['instruction_set']}, "
        f"{engine['system']}, Python {engine['python']}"
    ]
    for fixture, found in groupby(rows, key=lambda row: row.fixture):
        block = list(found)
        lines += ["", f"{fixture}, {block[0].frames} frames, 8 bit"]
        cells = [_HEADINGS, *(_cells(row, block[0].frames) for row in block)]
        widths = [max(len(line[column]) for line in cells) for column in range(len(_HEADINGS))]
        for line in cells:
            padded = (f"{cell:{width}}" for cell, width in zip(line, widths, strict=True))
            lines.append(f"  {'  '.join(padded)}".rstrip())
    return "\n".join([*lines, ""])


def _cells(row: Row, usual_frames: int) -> tuple[str, ...]:
    shorter = f", {row.frames} frames" if row.frames != usual_frames and row.seconds is not None else ""
    return (
        row.engine,
        row.backend,
        _spread(row.fps, 1),
        _spread(row.seconds, 3),
        "-" if row.vmaf is None else f"{row.vmaf:.6f}",
        "-" if row.max_diff is None else f"{row.max_diff:.6f}",
        f"{row.verdict}{shorter}{f': {row.reason}' if row.reason else ''}",
    )


def _spread(spread: Spread | None, digits: int) -> str:
    if spread is None:
        return "-"
    return f"{spread.median:.{digits}f} ({spread.min:.{digits}f} to {spread.max:.{digits}f})"
