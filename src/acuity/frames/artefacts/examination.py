"""What was found in a frame, and what is typical of the clip."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Final

from acuity.frames.artefacts.box import Box
from acuity.frames.artefacts.severity import JUST_VISIBLE, in_keeping

SCORED: Final = frozenset(
    ("blocking", "blur", "ringing", "noise", "combing")
)  # artefacts whose harm VMAF measures
_FAINTEST: Final = 0.03  # a severity that nothing is made of, whatever the score


@dataclass(frozen=True, slots=True)
class Finding:
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

    findings: dict[str, Finding]

    def severity(self, name: str) -> float:
        found = self.findings.get(name)
        return found.severity if found else 0.0

    def in_keeping(self, score: float) -> Examination:
        """The same with severities that go with the frame's score of VMAF, where VMAF can see them."""
        seen = {name: found for name, found in self.findings.items() if name in SCORED}
        worst = max((found.severity for found in seen.values()), default=0.0)
        others = max(
            (found.severity for name, found in self.findings.items() if name not in SCORED), default=0.0
        )
        if worst < _FAINTEST:
            return self
        # What VMAF can't see may be why a score is low, but never why it is high.
        fitting = in_keeping(worst, score)
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
        return cls(
            {name: median(values) for name, values in severities.items()},
            {
                name: sum(value >= JUST_VISIBLE for value in values) / len(values)
                for name, values in severities.items()
            },
        )
