"""Examines the frames of a clip, and says what is wrong with some of them against what is typical."""

from __future__ import annotations

from typing import Any, NamedTuple

from acuity.frames.compared import ComparedPair
from acuity.frames.pick import Pick


class Finding(NamedTuple):
    """What is wrong with a frame, as a sentence and as figures."""

    description: str
    artefacts: list[dict[str, Any]]


class Examiner:
    """Looks at frames as they pass; when all have passed, describes those that were picked."""

    def look(self, pair: ComparedPair) -> None:
        """Measure the flaws of a frame."""

    def finding(self, pick: Pick, mean: float) -> Finding:
        """What is wrong with a frame that was looked at; `mean` is the clip's score."""
        return Finding(f"score {pick.score:.2f}, {mean - pick.score:.2f} below the mean of the clip", [])
