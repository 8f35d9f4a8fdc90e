"""Drawing: reads both videos once more, draws the worst frames, and examines them and some others."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple, TypeAlias

from acuity.frames.artefacts.cells import WHOLE, Box
from acuity.frames.artefacts.examine import examine
from acuity.frames.artefacts.findings import Examination, Typical, artefacts, describe
from acuity.frames.artefacts.measure import ExaminedFrame
from acuity.frames.colours import PairColours, colours_of
from acuity.frames.compared import compared_pairs, reopen
from acuity.frames.heat_map import Drawn, draw
from acuity.frames.pick import Pick, spread
from acuity.frames.request import Listener, WorstProgress
from acuity.measure import available_threads
from acuity.scoring.report import ScoreReport
from acuity.scoring.request import Request
from acuity.video.notes import Note

# How CAMBI weighs steps; it knows no curve of HLG, whose lower half is much like SDR's.
_CURVES: Final = {"smpte2084": "pq"}
_FEW: Final = 4  # frames that say nothing about a clip


# Frames spread over the clip whose flaws are taken for typical, for pictures of up to so many pixels: large
# ones take long.
_SAMPLED: Final = ((1_000_000, 24), (2_500_000, 12), (math.inf, 6))
_SHOWN: Final = 0.05  # loss of a region from which the heat map shows it plainly
_LOCAL: Final = 2  # times the picture's loss: a region with as much has a flaw of its own
_THREADS: Final = 8
_MEMORY: Final = 600 << 20  # bytes that frames under way may take together, unless one takes more
_BYTES: Final = 18  # that a pixel of a frame under way takes, about


class Where(NamedTuple):
    """Where the loss of a frame is, and how much."""

    region: Box
    loss: float  # the mean of the whole frame
    region_loss: float


_UNKNOWN: Final = PairColours("bt709", False)  # until the pair is open
# Gets a frame that was picked, its pictures, and the colours they are in.
Take: TypeAlias = Callable[[Pick, Drawn, PairColours], None]


@dataclass(eq=False)
class Drawing:
    """Reads both videos once more, draws the picked frames, and finds out what is wrong with them.

    A few frames are worked on at once, each in a thread, and `take` gets each frame that is drawn there; the
    others of a clip are only read. With `crop` the worst region alone is drawn.
    """

    request: Request
    report: ScoreReport
    picks: list[Pick]
    take: Take
    tell: Listener
    crop: bool = False
    where: dict[int, Where] = field(default_factory=dict)  # by the numbers of frames that were drawn
    colours: PairColours = _UNKNOWN
    notes: list[Note] = field(default_factory=list)
    _examined: dict[int, Examination] = field(default_factory=dict)  # by the numbers of frames

    def __post_init__(self) -> None:
        report, results = self.report, self.report.results
        pixels = results.width * results.height
        most = next(count for largest, count in _SAMPLED if pixels <= largest)
        self._typical = [int(results.frames[number]) for number in spread(len(results.frames), most)]
        scores = results.columns[results.models[0]].tolist() if report.on_vmaf_scale else ()
        self._scores = dict(zip(results.frames, scores, strict=False))

    def run(self) -> None:
        """Read up to the last frame that is wanted; a frame is drawn as it passes."""
        if not self.picks:
            return
        picks = {found.frame: found for found in self.picks}
        wanted = picks.keys() | set(self._typical)
        total = self.report.pairs
        with reopen(self.request, self.report) as pairing:
            self.colours = colours_of(pairing)
            self.notes += self.colours.notes
            self.tell(WorstProgress("drawing", 0, total))

            def passed(index: int) -> None:
                self.tell(WorstProgress("drawing", index + 1, total))

            at_once = _at_once(self.request.threads, pairing.width * pairing.height)
            with (
                ThreadPoolExecutor(at_once, "acuity-draw") as threads,
                # Closed here, not when it is collected, where an interruption couldn't be raised.
                closing(compared_pairs(pairing, wanted, passed)) as pairs,
            ):
                waiting: deque[Future[None]] = deque()
                try:
                    for pair in pairs:
                        if len(waiting) == at_once:
                            waiting.popleft().result()
                        waiting.append(threads.submit(self._work, pair, picks.get(pair.index)))
                        del pair
                    while waiting:
                        waiting.popleft().result()
                except BaseException:
                    threads.shutdown(wait=False, cancel_futures=True)
                    raise
            self.tell(WorstProgress("drawing", total, total))

    def _work(self, pair: ExaminedFrame, found: Pick | None) -> None:
        """Examine a frame, and draw it if it was picked; runs in several threads at once."""
        eotf = _CURVES.get(str(self.colours.transfer), "bt1886")
        examined = examine(replace(pair, full_range=self.colours.full_range, eotf=eotf))
        score = self._scores.get(pair.index)
        self._examined[pair.index] = examined if score is None else examined.in_keeping(score)
        if found is None:
            return
        drawn = draw(pair.ref, pair.dis, self.colours, crop=self.crop)
        self.where[pair.index] = Where(drawn.region, drawn.loss, drawn.region_loss)
        self.take(found, drawn, self.colours)

    def described(self, frame: int) -> tuple[str, list[dict[str, Any]]]:
        """What is wrong with a frame that was drawn, as a sentence and as figures."""
        sampled = [self._examined[number] for number in self._typical if number in self._examined]
        typical = Typical.of(sampled if len(sampled) >= _FEW else ())
        found = self._examined[frame]
        named = artefacts(found, typical)
        return f"{describe(found, typical)}{self._unnamed(self.where[frame], named)}", named

    def _unnamed(self, where: Where, artefacts: list[dict[str, Any]]) -> str:
        """A sentence that says where the loss is greatest, if no artefact that is named is there."""
        even = where.region_loss < _LOCAL * where.loss  # then what is everywhere is there too
        named = any(
            Box(**artefact["region"]).meets(where.region)
            for artefact in artefacts
            if even or artefact["where"] != WHOLE
        )
        if named or where.region_loss < _SHOWN:
            return ""
        results = self.report.results
        return f" Greatest loss: {where.region.words(results.width, results.height)}."


def _at_once(threads: int | None, pixels: int) -> int:
    """How many frames are worked on at once: as many as threads were asked for, as far as memory goes."""
    room = max(_MEMORY // (pixels * _BYTES), 1)
    return min(threads or available_threads(), _THREADS, room)
