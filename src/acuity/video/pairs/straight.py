"""Straight: tests whether frames of the same number match, so that videos can be compared as they are."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

from acuity.video.alignment.aligner import Aligner
from acuity.video.alignment.path import Solver
from acuity.video.picture import Picture, Signature

Take = Callable[[], Picture | None]


class Straight:
    """Tries frames of the same number as pairs, beside what is solved."""

    def __init__(self, solver: Solver) -> None:
        self._solver = solver
        self.aligner = Aligner()
        self._found = False  # whether they were found not to match
        self.pairs = 0

    def add(self) -> None:
        """Take in the frames that both videos have now."""
        ref, dis = self._solver.ref, self._solver.dis
        if self.pairs < max(ref.first, dis.first):  # the videos are too far apart
            self._found = True
        while not self._found and self.pairs < min(ref.first + len(ref), dis.first + len(dis)):
            self._pair(ref.signatures[self.pairs - ref.first], dis.signatures[self.pairs - dis.first])

    def goes_on(self, ref: Take, dis: Take, most: int) -> bool:
        """Whether they pass the test to the end, where nothing else can be decided."""
        solver = self._solver
        if self._found or solver.foreign or self.pairs < max(solver.ref.first, solver.dis.first):
            return False
        sides = tuple(
            itertools.chain(side.signatures[self.pairs - side.first :], _signatures(take))
            for side, take in ((solver.ref, ref), (solver.dis, dis))
        )
        for one, other in itertools.zip_longest(*sides):
            if most and self.pairs >= most:
                break
            if one is None or other is None:
                return False
            self._pair(one, other)
        return self._passes()

    def holds(self, most: int) -> bool:
        """Whether both videos have the same number of frames, and these pass the test."""
        ends = [side.first + len(side) for side in (self._solver.ref, self._solver.dis)]
        same = ends[0] == ends[1] == self.pairs or bool(most)
        return same and self._solver.straight and not self._solver.foreign and self._passes()

    def _passes(self) -> bool:
        found = None if self._found else self.aligner.end()
        return not self._found and (found is None or found.kind == "frozen")

    def _pair(self, ref: Signature, dis: Signature) -> None:
        self.pairs += 1
        self._found = self.aligner.add(ref, dis) is not None or self._found


def _signatures(take: Take) -> Iterator[Signature]:
    while (picture := take()) is not None and picture.signature is not None:
        yield picture.signature
