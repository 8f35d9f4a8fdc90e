"""Examines a frame: every measure of the table, on one severity scale."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from acuity.frames.artefacts.banding import Banding
from acuity.frames.artefacts.blank import BLANK, find_blank
from acuity.frames.artefacts.blocking import Blocking
from acuity.frames.artefacts.blur import Blur
from acuity.frames.artefacts.box import WHOLE, Box, place_of
from acuity.frames.artefacts.combing import Combing
from acuity.frames.artefacts.examination import Examination, Finding
from acuity.frames.artefacts.explained import explained
from acuity.frames.artefacts.frame import ExaminedFrame
from acuity.frames.artefacts.freeze import FREEZE, FREEZE_ANCHORS, find_freeze
from acuity.frames.artefacts.grid import Grid
from acuity.frames.artefacts.measure import Figures, Gathered, Measure, Measured
from acuity.frames.artefacts.misaligned import MISALIGNED, find_misaligned
from acuity.frames.artefacts.noise import Noise
from acuity.frames.artefacts.ringing import Ringing
from acuity.frames.artefacts.severity import Anchors
from acuity.frames.artefacts.shifts import BrightnessShift, ColourShift, ContrastChange
from acuity.frames.artefacts.strip import strips
from acuity.frames.artefacts.tone import Tone

MEASURES: Final[tuple[Measure, ...]] = (
    Blocking(),
    Blur(),
    Ringing(),
    Banding(),
    Noise(),
    Combing(),
    ColourShift(),
    ContrastChange(),
    BrightnessShift(),
)

NAMES: Final = (BLANK, FREEZE, MISALIGNED, *(measure.name for measure in MEASURES))


def examine(frame: ExaminedFrame) -> Examination:
    """What is wrong with the distorted picture, compared with the reference."""
    grid = Grid(frame.ref.width, frame.ref.height)
    findings: dict[str, Finding] = {}
    blank = find_blank(frame)
    if blank is not None:
        findings[BLANK] = _whole(BLANK, blank, grid)
        if blank:  # nothing is left that could have another artefact
            return Examination(findings)
    frozen = find_freeze(frame, grid)
    if frozen is not None:
        note = _repeats(frame) if frozen.measured.figure > 0 else ""
        findings[FREEZE] = _finding(FREEZE, FREEZE_ANCHORS, frozen.measured, grid, note)
        if frozen.measured.figure > 0:
            # The reference shows another moment: the picture is compared with the one that it repeats.
            if not frozen.repeats_last or frame.before is None:
                return Examination(findings)
            frame = replace(frame, ref=frame.before.ref, before=None, neighbours={})
    misaligned = find_misaligned(frame)
    if misaligned is not None:
        findings[MISALIGNED] = _whole(MISALIGNED, misaligned, grid)
        if misaligned:  # measures would find blur, ringing or noise that isn't there
            return Examination(findings)
    return Examination(findings | _measured(frame, grid))


def _whole(name: str, words: str, grid: Grid) -> Finding:
    """What a whole picture is, or, without words, isn't."""
    figure = 1.0 if words else 0.0
    return Finding(name, figure, figure, WHOLE, Box(0, 0, grid.width, grid.height), words)


def _measured(frame: ExaminedFrame, grid: Grid) -> dict[str, Finding]:
    level = np.float32(frame.level)
    ref_means, dis_means = grid.means(frame.ref.luma) / level, grid.means(frame.dis.luma) / level
    tone = Tone.between(ref_means, dis_means)
    gathered: dict[str, list[Figures]] = {measure.name: [] for measure in MEASURES}
    for strip in strips(frame, tone, grid):
        for measure in MEASURES:
            figures = measure.gather(strip)
            if figures is not None:
                gathered[measure.name].append(figures)
    results: dict[str, Measured] = {}
    for measure in MEASURES:
        parts = gathered[measure.name]
        if not parts:
            continue
        figures = tuple(np.concatenate(part) for part in zip(*parts, strict=True))
        measured = measure.judge(Gathered(frame, grid, ref_means, dis_means, figures))
        if measured is not None:
            results[measure.name] = measured
    results = explained(results)
    return {
        measure.name: _finding(measure.name, measure.anchors, results[measure.name], grid)
        for measure in MEASURES
        if measure.name in results
    }


def _finding(name: str, anchors: Anchors, measured: Measured, grid: Grid, note: str = "") -> Finding:
    place = place_of(measured.cells)
    severity = anchors.severity(measured.figure)
    return Finding(name, severity, measured.figure, place.words, grid.box(place), note)


def _repeats(frame: ExaminedFrame) -> str:
    if frame.index is None:
        return "the picture repeats the frame before while the reference moves"
    since = frame.index - 1 if frame.frozen_since is None else frame.frozen_since
    if since < frame.index - 1:
        return f"the picture is frozen since frame {since} while the reference moves"
    return f"the picture repeats frame {since} while the reference moves"
