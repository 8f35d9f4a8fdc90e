"""Examines a frame: every measure of the table, on one severity scale."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from acuity.frames.artefacts.cells import WHOLE, Box, Grid, place_of, smoothed
from acuity.frames.artefacts.detail import Blur, BrightnessShift, ColourShift, ContrastChange, Noise, Ringing
from acuity.frames.artefacts.findings import Anchors, ArtefactFinding, Examination
from acuity.frames.artefacts.measure import CellFigures, ExaminedFrame, Gathered, Measure, Strip, Tone
from acuity.frames.artefacts.other_pictures import (
    BLANK,
    FREEZE,
    FREEZE_ANCHORS,
    MISALIGNED,
    Combing,
    find_blank,
    find_freeze,
    find_misaligned,
)
from acuity.frames.artefacts.steps import Banding, Blocking

# A cause takes a share of an effect away, where its figure is large enough, and less elsewhere.
EXPLANATIONS: Final = (
    *(
        ("combing", effect, Combing.anchors.just_visible, 1.0)  # rows of another moment
        for effect in ("blocking", "blur", "ringing", "banding", "noise", "colour shift", "brightness shift")
    ),
    ("blocking", "banding", Blocking.anchors.visible, 1.0),  # steps between blocks of a gradient
    ("blocking", "noise", Blocking.anchors.visible, 0.7),  # small blocks have borders everywhere
    ("blocking", "blur", Blocking.anchors.severe, 0.35),  # blocks are flat inside
    ("banding", "blur", Banding.anchors.visible, 0.8),  # and so are bands
    ("noise", "ringing", Noise.anchors.visible, 0.6),  # noise beside edges
)


def explained(results: dict[str, CellFigures]) -> dict[str, CellFigures]:
    """The results, each effect without the share that its causes explain."""
    left = dict(results)
    for cause, effect, enough, share in EXPLANATIONS:
        if cause in left and effect in left:
            taken = np.minimum(smoothed(left[cause].cells) / np.float32(enough), 1) * np.float32(share)
            figure, before = left[effect]
            cells, total = before * (1 - taken), float(before.sum())
            left[effect] = CellFigures(figure * float(cells.sum()) / total if total > 0 else 0.0, cells)
    return left


MEASURES: Final[tuple[Measure, ...]] = (
    Blocking(), Blur(), Ringing(), Banding(), Noise(), Combing(), ColourShift(), ContrastChange(),
    BrightnessShift(),
)  # fmt: skip

NAMES: Final = (BLANK, FREEZE, MISALIGNED, *(measure.name for measure in MEASURES))


def examine(frame: ExaminedFrame) -> Examination:
    """The artefacts of the distorted picture, compared with the reference."""
    grid = Grid(frame.ref.width, frame.ref.height)
    findings: dict[str, ArtefactFinding] = {}
    blank = find_blank(frame)
    if blank is not None:
        findings[BLANK] = _whole(BLANK, blank, grid)
        if blank:  # nothing is left that could have another artefact
            return Examination(findings)
    frozen = find_freeze(frame, grid)
    if frozen is not None:
        measured, repeats_last = frozen
        note = _repeats(frame) if measured.figure > 0 else ""
        findings[FREEZE] = _finding(FREEZE, FREEZE_ANCHORS, measured, grid, note)
        if measured.figure > 0:
            # The reference shows another moment: the picture is compared with the one that it repeats.
            if not repeats_last or frame.before is None:
                return Examination(findings)
            frame = replace(frame, ref=frame.before.ref, before=None, neighbours={})
    misaligned = find_misaligned(frame)
    if misaligned is not None:
        findings[MISALIGNED] = _whole(MISALIGNED, misaligned, grid)
        if misaligned:  # measures would find blur, ringing or noise that isn't there
            return Examination(findings)
    return Examination(findings | _measured(frame, grid))


def _whole(name: str, words: str, grid: Grid) -> ArtefactFinding:
    """A finding about the whole picture; without words it says that nothing was found."""
    figure = 1.0 if words else 0.0
    return ArtefactFinding(name, figure, figure, WHOLE, Box(0, 0, grid.width, grid.height), words)


def _measured(frame: ExaminedFrame, grid: Grid) -> dict[str, ArtefactFinding]:
    level = np.float32(frame.level)
    ref_means, dis_means = grid.means(frame.ref.luma) / level, grid.means(frame.dis.luma) / level
    tone = Tone.between(ref_means, dis_means)
    strips = [
        [measure.gather(strip) for measure in MEASURES]
        for strip in (Strip(frame, tone, grid, rows) for rows in grid.strips())
    ]
    results: dict[str, CellFigures] = {}
    for measure, gathered in zip(MEASURES, zip(*strips, strict=True), strict=True):
        parts = [figures for figures in gathered if figures is not None]
        if not parts:
            continue
        figures = tuple(np.concatenate(part) for part in zip(*parts, strict=True))
        measured = measure.judge(Gathered(frame, grid, ref_means, dis_means, figures))
        if measured is not None:
            results[measure.name] = measured
    anchors = {measure.name: measure.anchors for measure in MEASURES}
    return {name: _finding(name, anchors[name], found, grid) for name, found in explained(results).items()}


def _finding(
    name: str, anchors: Anchors, measured: CellFigures, grid: Grid, note: str = ""
) -> ArtefactFinding:
    place = place_of(measured.cells)
    severity = anchors.severity(measured.figure)
    return ArtefactFinding(name, severity, measured.figure, place.words, grid.box(place), note)


def _repeats(frame: ExaminedFrame) -> str:
    since = frame.index - 1 if frame.frozen_since is None else frame.frozen_since
    does = "is frozen since" if since < frame.index - 1 else "repeats"
    return f"the picture {does} frame {since} while the reference moves"
