"""What was found in a frame, and what is typical of the clip."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from statistics import median

from acuity.frames.artefacts.box import Box


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


@dataclass(frozen=True, slots=True)
class Typical:
    """The median severity of each artefact over frames of a clip."""

    medians: dict[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, examinations: Iterable[Examination]) -> Typical:
        severities: dict[str, list[float]] = {}
        for examination in examinations:
            for name, found in examination.findings.items():
                severities.setdefault(name, []).append(found.severity)
        return cls({name: median(values) for name, values in severities.items()})
