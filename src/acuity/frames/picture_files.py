"""PictureFiles: the pictures of the worst frames as PNG files, and the contact sheet with all of them."""

from __future__ import annotations

import os
import threading
from typing import Final

from acuity.frames.colours import PairColours
from acuity.frames.contact_sheet import ContactSheet
from acuity.frames.drawing import Drawing
from acuity.frames.folder import PictureFolder
from acuity.frames.pick import Pick
from acuity.frames.pictures import Drawn
from acuity.frames.report import WorstFrame
from acuity.frames.request import WorstRequest
from acuity.png import rgb_png
from acuity.scoring.report import ScoreReport
from acuity.text import clock

SHEET: Final = "contact_sheet.png"


class PictureFiles:
    """Writes the pictures of frames to a folder as they are drawn."""

    def __init__(
        self, request: WorstRequest, report: ScoreReport, picks: list[Pick], folder: PictureFolder
    ) -> None:
        self._request = request
        self._report = report
        self._picks = picks
        self._folder = folder
        self._lock = threading.Lock()
        self._sheet: ContactSheet | None = None  # made when the first picture says how large they are

    def take(self, found: Pick, drawn: Drawn, colours: PairColours) -> None:
        """Write the pictures of a frame; runs in several threads at once."""
        for kind, name in _names(found.frame).items():
            self._folder.write(name, rgb_png(getattr(drawn, kind), colours.aspect))
        with self._lock:
            self._sheet = self._sheet or self._new_sheet(drawn)
            self._sheet.place(self._picks.index(found), drawn, None if self._request.region else drawn.region)

    def frames(self, drawing: Drawing) -> list[WorstFrame]:
        """The frames with their descriptions, the worst first; writes the contact sheet."""
        if self._sheet is None:
            return []
        found = []
        for rank, picked in enumerate(self._picks):
            what, where = drawing.described(picked.frame), drawing.where[picked.frame]
            files = {kind: self._folder.final(name) for kind, name in _names(picked.frame).items()}
            frame = WorstFrame(
                index=picked.frame,
                time=picked.time,
                score=picked.score,
                distorted=files["distorted"],
                reference=files["reference"],
                heat=files["heat"],
                region=where.region,
                loss=where.loss,
                description=what.description,
                artefacts=what.artefacts,
            )
            self._sheet.caption(rank, _line(frame, self._request), frame.description)
            found.append(frame)
        self._folder.write(SHEET, rgb_png(self._sheet.image))
        return found

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


def _names(frame: int) -> dict[str, str]:
    """The names of a frame's files, by what they show."""
    return {kind: f"frame_{frame:06d}_{kind}.png" for kind in ("distorted", "reference", "heat")}


def _line(frame: WorstFrame, request: WorstRequest) -> str:
    """`frame 123   0:04.920   score 38.40`, and the place of the region if that is all that is shown."""
    parts = [f"frame {frame.index}"]
    if frame.time is not None:
        parts.append(clock(frame.time, 3))
    parts.append(f"score {frame.score:.2f}")
    if request.region:
        parts.append(f"at {frame.region.x},{frame.region.y}")
    return "   ".join(parts)
