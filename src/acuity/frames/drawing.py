"""Drawing: reads both videos once more, draws the worst frames, and examines them and some others."""

from __future__ import annotations

import os
import threading
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from typing import Final

from acuity.frames.artefacts.box import WHOLE, Box
from acuity.frames.colours import PairColours, colours_of
from acuity.frames.compared import ComparedPair, compared_pairs, reopen
from acuity.frames.contact_sheet import ContactSheet
from acuity.frames.examining import Described, Examiner
from acuity.frames.folder import PictureFolder
from acuity.frames.pick import Pick, spread
from acuity.frames.pictures import Drawn, draw
from acuity.frames.progress import Listener, WorstProgress
from acuity.frames.report import WorstFrame
from acuity.frames.request import WorstRequest
from acuity.measure import available_threads
from acuity.png import rgb_png
from acuity.scoring.report import ScoreReport
from acuity.video.notes import Note

SHEET: Final = "contact_sheet.png"
# Frames spread over the clip whose flaws are taken for typical, for pictures of up to so many pixels: large
# ones take long.
_SAMPLED: Final = ((1_000_000, 24), (2_500_000, 12), (None, 6))
_SHOWN: Final = 0.05  # loss of a region from which the heat map shows it plainly
_LOCAL: Final = 2  # times the picture's loss: a region with as much has a flaw of its own
_THREADS: Final = 8
_MEMORY: Final = 600 << 20  # bytes that frames under way may take together, unless one takes more
_BYTES: Final = 18  # that a pixel of a frame under way takes, about


class Drawing:
    """Reads both videos once more, and makes the pictures of the picked frames and their descriptions.

    A few frames are worked on at once, each in a thread; the others of a clip are only read.
    """

    def __init__(
        self,
        request: WorstRequest,
        report: ScoreReport,
        picks: list[Pick],
        folder: PictureFolder,
        tell: Listener,
    ) -> None:
        self._request = request
        self._report = report
        self._picks = picks
        self._folder = folder
        self._tell = tell
        self._typical = spread(report.pairs, _sampled(report.results.width * report.results.height))
        self._examiner = Examiner(self._typical)
        self._made: dict[int, WorstFrame] = {}
        self._region_loss: dict[int, float] = {}
        self._lock = threading.Lock()
        self._sheet: ContactSheet | None = None  # made when the first picture says how large they are
        self.colours = PairColours("bt709", False)
        self.notes: list[Note] = []

    def run(self) -> None:
        """Read up to the last frame that is wanted; a frame's pictures are written as it passes."""
        if not self._picks:
            return
        picks = {found.frame: found for found in self._picks}
        wanted = picks.keys() | set(self._typical)
        total = self._report.pairs
        with reopen(self._request.scoring, self._report) as pairing:
            self.colours = colours_of(pairing)
            self.notes += self.colours.notes
            self._tell(WorstProgress("drawing", 0, total))

            def passed(index: int) -> None:
                self._tell(WorstProgress("drawing", index + 1, total))

            at_once = _at_once(self._request.scoring.threads, pairing.width * pairing.height)
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
                        waiting.append(threads.submit(self._work, pair, picks.get(pair.number)))
                        del pair
                    while waiting:
                        waiting.popleft().result()
                except BaseException:
                    threads.shutdown(wait=False, cancel_futures=True)
                    raise
            self._tell(WorstProgress("drawing", total, total))

    def _work(self, pair: ComparedPair, found: Pick | None) -> None:
        """Examine a frame, and draw it if it was picked; runs in several threads at once."""
        self._examiner.look(pair, self.colours)
        if found is None:
            return
        drawn = draw(pair.ref, pair.dis, self.colours, crop=self._request.region)
        pictures = {"distorted": drawn.distorted, "reference": drawn.reference, "heat": drawn.heat}
        names = {kind: f"frame_{pair.number:06d}_{kind}.png" for kind in pictures}
        for kind, picture in pictures.items():
            self._folder.write(names[kind], rgb_png(picture, self.colours.aspect))
        with self._lock:
            self._sheet = self._sheet or self._new_sheet(drawn)
            self._sheet.place(self._picks.index(found), drawn, None if self._request.region else drawn.region)
        self._region_loss[pair.number] = drawn.region_loss
        self._made[pair.number] = WorstFrame(
            index=pair.number,
            time=found.time,
            score=found.score,
            distorted=self._folder.final(names["distorted"]),
            reference=self._folder.final(names["reference"]),
            heat=self._folder.final(names["heat"]),
            region=drawn.region,
            loss=drawn.loss,
            description="",
        )

    def _new_sheet(self, drawn: Drawn) -> ContactSheet:
        height, width, _ = drawn.reference.shape
        report, count = self._report, len(self._picks)
        ref, dis = (os.path.basename(report.input[side]["path"]) for side in ("reference", "distorted"))
        size = f"{report.results.width}x{report.results.height}"
        shown = f"{width}x{height} of {size}, where the loss is greatest" if self._request.region else size
        return ContactSheet(
            count,
            width,
            height,
            f"{'The worst frame' if count == 1 else f'{count} worst frames'} of {dis}",
            f"{report.model}, mean {report.score:.2f}; {shown}; reference {ref}",
        )

    def _unnamed(self, frame: WorstFrame, what: Described) -> str:
        """A sentence that says where the loss is greatest, if no artefact that is named is there."""
        loss = self._region_loss[frame.index]
        even = loss < _LOCAL * frame.loss  # then what is everywhere is there too
        named = any(
            Box(**artefact["region"]).meets(frame.region)
            for artefact in what.artefacts
            if even or artefact["where"] != WHOLE
        )
        if named or loss < _SHOWN:
            return ""
        results = self._report.results
        return f" Greatest loss: {frame.region.words(results.width, results.height)}."

    def frames(self) -> list[WorstFrame]:
        """The frames with their descriptions, the worst first; writes the contact sheet."""
        if self._sheet is None:
            return []
        found = []
        for rank, picked in enumerate(self._picks):
            what = self._examiner.described(picked.frame)
            made = self._made[picked.frame]
            said = f"{what.description}{self._unnamed(made, what)}"
            frame = replace(made, description=said, artefacts=what.artefacts)
            self._sheet.caption(rank, _line(frame, self._request), frame.description)
            found.append(frame)
        self._folder.write(SHEET, rgb_png(self._sheet.image))
        return found


def _sampled(pixels: int) -> int:
    return next(count for most, count in _SAMPLED if most is None or pixels <= most)


def _at_once(threads: int | None, pixels: int) -> int:
    """How many frames are worked on at once: as many as threads were asked for, as far as memory goes."""
    room = max(_MEMORY // (pixels * _BYTES), 1)
    return min(threads or available_threads(), _THREADS, room)


def _line(frame: WorstFrame, request: WorstRequest) -> str:
    """`frame 123   0:04.920   score 38.40`, and the place of the region if that is all that is shown."""
    parts = [f"frame {frame.index}"]
    if frame.time is not None:
        minutes, seconds = divmod(round(frame.time, 3), 60)
        parts.append(f"{int(minutes)}:{seconds:06.3f}")
    parts.append(f"score {frame.score:.2f}")
    if request.region:
        parts.append(f"at {frame.region.x},{frame.region.y}")
    return "   ".join(parts)
