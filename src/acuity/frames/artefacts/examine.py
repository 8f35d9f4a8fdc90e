"""Examines a frame: every measure of the table, on one severity scale."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from acuity.frames.artefacts.banding import Banding
from acuity.frames.artefacts.blocking import Blocking
from acuity.frames.artefacts.blur import Blur
from acuity.frames.artefacts.box import place_of
from acuity.frames.artefacts.examination import Examination, Finding
from acuity.frames.artefacts.frame import ExaminedFrame
from acuity.frames.artefacts.freeze import Freeze
from acuity.frames.artefacts.grid import Grid
from acuity.frames.artefacts.measure import Figures, Gathered, Measure, Measured
from acuity.frames.artefacts.noise import Noise
from acuity.frames.artefacts.ringing import Ringing
from acuity.frames.artefacts.shifts import BrightnessShift, ColourShift
from acuity.frames.artefacts.strip import strips
from acuity.frames.artefacts.tone import Tone

MEASURES: Final[tuple[Measure, ...]] = (
    Freeze(),
    Blocking(),
    Blur(),
    Ringing(),
    Banding(),
    Noise(),
    ColourShift(),
    BrightnessShift(),
)


def examine(frame: ExaminedFrame) -> Examination:
    """What is wrong with the distorted picture, compared with the reference."""
    grid = Grid(frame.ref.width, frame.ref.height)
    level = np.float32(frame.level)
    ref_means, dis_means = grid.means(frame.ref.luma) / level, grid.means(frame.dis.luma) / level
    tone = Tone.between(ref_means, dis_means)
    gathered: dict[str, list[Figures]] = {measure.name: [] for measure in MEASURES}
    for strip in strips(frame, tone, grid):
        for measure in MEASURES:
            figures = measure.gather(strip)
            if figures is not None:
                gathered[measure.name].append(figures)
    findings: dict[str, Finding] = {}
    for measure in MEASURES:
        parts = gathered[measure.name]
        if not parts:
            continue
        figures = tuple(np.concatenate(part) for part in zip(*parts, strict=True))
        measured = measure.judge(Gathered(frame, grid, ref_means, dis_means, figures))
        if measured is not None:
            findings[measure.name] = _finding(measure, measured, grid)
    return Examination(_with_note(findings, frame))


def _finding(measure: Measure, measured: Measured, grid: Grid) -> Finding:
    place = place_of(measured.cells)
    severity = measure.anchors.severity(measured.figure)
    return Finding(measure.name, severity, measured.figure, place.words, grid.box(place))


def _with_note(findings: dict[str, Finding], frame: ExaminedFrame) -> dict[str, Finding]:
    frozen = findings.get("freeze")
    if frozen is None or frozen.severity == 0:
        return findings
    repeated = f"frame {frame.index - 1}" if frame.index else "the frame before"
    note = f"the picture repeats {repeated} while the reference moves"
    return {**findings, "freeze": replace(frozen, note=note)}
