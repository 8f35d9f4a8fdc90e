"""Examines the frames of a clip, and says what is wrong with some of them against what is typical."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final, NamedTuple

from acuity.frames.artefacts.describe import artefacts, describe
from acuity.frames.artefacts.examination import Examination, Typical
from acuity.frames.artefacts.examine import examine
from acuity.frames.artefacts.frame import ExaminedFrame
from acuity.frames.colours import PairColours
from acuity.frames.compared import ComparedPair

# How CAMBI weighs steps; it knows no curve of HLG, whose lower half is much like SDR's.
_CURVES: Final = {"smpte2084": "pq"}


_FEW: Final = 4  # frames that say nothing about a clip


class Described(NamedTuple):
    """What is wrong with a frame, as a sentence and as figures."""

    description: str
    artefacts: list[dict[str, Any]]


class Examiner:
    """Examines frames as they pass; when all have passed, describes those that were picked.

    `typical` are the numbers of the frames, spread over the clip, that stand for all of it.
    """

    def __init__(self, typical: Collection[int]) -> None:
        self._numbers = typical
        self._found: dict[int, Examination] = {}

    def look(self, pair: ComparedPair, colours: PairColours, score: float | None) -> None:
        """Measure the artefacts of a frame; `score` is that of VMAF, if it has one."""
        found = examine(
            ExaminedFrame(
                pair.ref,
                pair.dis,
                pair.before,
                pair.number,
                pair.frozen_since,
                pair.neighbours,
                full_range=colours.full_range,
                eotf=_CURVES.get(str(colours.transfer), "bt1886"),
            )
        )
        self._found[pair.number] = found if score is None else found.in_keeping(score)

    def described(self, number: int) -> Described:
        """What is wrong with a frame that was looked at."""
        sampled = [self._found[typical] for typical in self._numbers if typical in self._found]
        typical = Typical.of(sampled if len(sampled) >= _FEW else ())
        found = self._found[number]
        return Described(describe(found, typical), artefacts(found, typical))
