"""Findings: the artefacts of a frame with their severities, what is typical of a clip, and both in words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acuity.frames.artefacts.cells import WHOLE, Box

JUST_VISIBLE: Final = 0.1
VISIBLE: Final = 0.3
SEVERE: Final = 0.6
_LADDER: Final = (0.0, JUST_VISIBLE, VISIBLE, SEVERE, 1.0)
_WORDS: Final = ((SEVERE, "severe"), (VISIBLE, "visible"), (JUST_VISIBLE, "slight"))
WORST: Final = 0.2  # share of cells, the worst, that a figure of the picture is the mean of


# By a frame's VMAF: the least and the greatest severity of the worst artefact that VMAF measures.
_SCORES: Final = (20.0, 40.0, 70.0, 85.0, 93.0, 100.0)
_AT_LEAST: Final = (0.8, SEVERE, VISIBLE, JUST_VISIBLE, 0.0, 0.0)
_AT_MOST: Final = (1.0, 1.0, SEVERE, 0.4, 0.29, JUST_VISIBLE)


class Anchors(NamedTuple):
    """The figures of a measure that are just visible, visible, severe and extreme to a viewer."""

    just_visible: float
    visible: float
    severe: float
    extreme: float

    def severity(self, figure: float) -> float:
        return float(np.interp(figure, (0.0, *self), _LADDER))


def word(severity: float) -> str:
    """The word for a severity that is at least just visible."""
    return next((text for least, text in _WORDS if severity >= least), "invisible")


def worst(cells: NDArray[np.float32], share: float = WORST) -> float:
    """The mean of the worst cells."""
    count = max(1, round(cells.size * share))
    return float(np.partition(cells, cells.size - count, axis=None)[-count:].mean())


SCORED: Final = ("blocking", "blur", "ringing", "noise", "combing")  # artefacts whose harm VMAF measures
_FAINTEST: Final = 0.03  # a worst artefact fainter than this isn't raised, whatever the score


@dataclass(frozen=True, slots=True)
class ArtefactFinding:
    """One artefact of a frame."""

    name: str
    severity: float  # 0 none, 0.1 just visible, 0.3 visible, 0.6 severe, 1 extreme
    figure: float  # in the unit of the measure
    where: str  # "upper left", "whole picture"
    region: Box
    note: str = ""  # said instead of severity and place


@dataclass(frozen=True, slots=True)
class Examination:
    """The findings of a frame by name. Artefacts that couldn't be measured are missing."""

    findings: dict[str, ArtefactFinding]

    def severity(self, name: str) -> float:
        found = self.findings.get(name)
        return found.severity if found else 0.0

    def in_keeping(self, score: float) -> Examination:
        """The examination with severities that fit the frame's VMAF, for artefacts that VMAF can see."""
        seen = {name: found for name, found in self.findings.items() if name in SCORED}
        worst = max((found.severity for found in seen.values()), default=0.0)
        others = max(map(self.severity, self.findings.keys() - SCORED), default=0.0)
        if worst < _FAINTEST:
            return self
        least, most = (float(np.interp(score, _SCORES, bounds)) for bounds in (_AT_LEAST, _AT_MOST))
        fitting = min(max(worst, least), most)
        # What VMAF can't see may be why a score is low, but never why it is high.
        factor = (fitting if fitting < worst or others < fitting else worst) / worst
        scaled = {
            name: replace(found, severity=min(1.0, found.severity * factor)) for name, found in seen.items()
        }
        return Examination(self.findings | scaled)


@dataclass(frozen=True, slots=True)
class Typical:
    """The median severity of each artefact over frames of a clip, and the share of frames that have it."""

    medians: dict[str, float] = field(default_factory=dict)
    shares: dict[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, examinations: Iterable[Examination]) -> Typical:
        severities: dict[str, list[float]] = {}
        for examination in examinations:
            for name, found in examination.findings.items():
                severities.setdefault(name, []).append(found.severity)
        shown = {name: [value >= JUST_VISIBLE for value in values] for name, values in severities.items()}
        return cls(
            {name: median(values) for name, values in severities.items()},
            {name: sum(visible) / len(visible) for name, visible in shown.items()},
        )


NOTHING: Final = "No visible artefact measured."
_MOST: Final = 3
_CLOSE: Final = 0.05  # severities of one word that differ by less are ordered by what is unusual for the clip
_LEAST_TYPICAL: Final = 0.02  # a median below it is none, and nothing is a multiple of it
_USUAL: Final = 1.25  # ratios up to it, and its inverse, are as in the rest of the clip
_SOMETIMES: Final = 0.35  # share of the frames from which it isn't rare, though the median frame has none
_AS_USUAL: Final = " (as in most of the clip)"
_ALL_AS_USUAL: Final = " (all as in most of the clip)"


def ranked(found: Examination, typical: Typical) -> list[ArtefactFinding]:
    """Visible artefacts, at most three, the most severe first."""
    left = [finding for finding in found.findings.values() if finding.severity >= JUST_VISIBLE]
    left.sort(key=lambda finding: -finding.severity)
    usual = {name: max(value, _LEAST_TYPICAL) for name, value in typical.medians.items()}
    order: list[ArtefactFinding] = []
    while left and len(order) < _MOST:
        least, says = left[0].severity - _CLOSE, word(left[0].severity)
        close = [finding for finding in left if finding.severity > least and word(finding.severity) == says]
        chosen = max(close, key=lambda one: one.severity / usual.get(one.name, _LEAST_TYPICAL))
        order.append(chosen)
        left.remove(chosen)
    return order


def describe(found: Examination, typical: Typical) -> str:
    """A sentence: each artefact, how bad, where, and how it compares with the clip."""
    order = ranked(found, typical)
    if not order:
        return NOTHING
    against = [_against(finding, typical) for finding in order]
    end = ""
    if len(order) > 1 and set(against) == {_AS_USUAL}:  # said once for all of them
        against, end = [""] * len(order), _ALL_AS_USUAL
    parts = [f"{_phrase(finding)}{compared}" for finding, compared in zip(order, against, strict=True)]
    text = "; ".join(parts) + end
    return f"{text[0].upper()}{text[1:]}."


def artefacts(found: Examination, typical: Typical) -> list[dict[str, Any]]:
    """The same as `describe` in figures, for documents."""
    return [
        {
            "name": finding.name,
            "severity": round(finding.severity, 3),
            "typical": None if (usual := typical.medians.get(finding.name)) is None else round(usual, 3),
            "ratio": None if (ratio := _ratio(finding, typical)) is None else round(ratio, 2),
            "where": finding.where,
            "region": finding.region.to_document(),
        }
        for finding in ranked(found, typical)
    ]


def _ratio(finding: ArtefactFinding, typical: Typical) -> float | None:
    usual = typical.medians.get(finding.name)
    return None if usual is None or usual < _LEAST_TYPICAL else finding.severity / usual


def _phrase(finding: ArtefactFinding) -> str:
    if finding.note:
        return f"{finding.name}: {finding.note}"
    where = finding.where if finding.where == WHOLE else f"mostly {finding.where}"
    return f"{finding.name}, {word(finding.severity)}, {where}"


def _against(finding: ArtefactFinding, typical: Typical) -> str:
    """How a finding compares with the clip; empty where nothing is known of the clip."""
    if finding.name not in typical.medians:
        return ""
    ratio = _ratio(finding, typical)
    if ratio is None:
        often = typical.shares.get(finding.name, 0.0) >= _SOMETIMES
        return " (in less than half of the clip)" if often else " (none in most of the clip)"
    if 1 / _USUAL <= ratio <= _USUAL:
        return _AS_USUAL
    return f" ({ratio:.1f} times the clip's median)"
