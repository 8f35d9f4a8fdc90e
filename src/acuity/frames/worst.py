"""Finds the worst frames of a comparison: scores, picks them, reads them again, draws and describes them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from acuity.errors import AcuityError, InputError, ScoreError, to_set
from acuity.frames.colours import PairColours, colours_of
from acuity.frames.compared import ComparedPair, Identity, check_unchanged, compared_pairs, reopen
from acuity.frames.contact_sheet import ContactSheet
from acuity.frames.examining import Examiner
from acuity.frames.folder import PictureFolder
from acuity.frames.narrator import Narrator
from acuity.frames.pick import FRAMES_A_SECOND, Pick, Picked, pick, spread
from acuity.frames.pictures import Drawn, draw
from acuity.frames.progress import Listener, WorstProgress
from acuity.frames.report import WorstFrame, WorstReport
from acuity.frames.request import WorstRequest
from acuity.scoring.report import AnyModel, ScoreReport
from acuity.scoring.request import Request
from acuity.scoring.run import Source, run_request
from acuity.video import notes
from acuity.video.notes import Note
from acuity.video.png import rgb_png

_SAMPLED: Final = 24  # frames spread over the clip whose flaws are taken for typical
_EVERY: Final = 0.1  # seconds between two reports of progress while scoring
_SHEET: Final = "contact_sheet.png"


def find_worst(
    request: WorstRequest, *, narrator: Narrator | None = None, progress: Listener | None = None
) -> WorstReport:
    """Score, and write the pictures of the worst frames, a contact sheet and worst.json.

    `narrator` adds sentences of its own; if it fails, a note says so. What `progress` raises ends the work.
    After that, and after any error, no file is left. Raises AcuityError.
    """
    scoring = request.scoring
    if not scoring.predict:
        raise InputError("without a score no frame is the worst: leave out ", to_set("predict", False))
    before = Identity.of(scoring)
    tell = progress or _nobody
    with PictureFolder(request.output) as folder:
        report = _scored(scoring, tell)
        picked = _picked(report, request)
        drawing = _Drawing(request, report, picked.picks, folder, tell)
        drawing.run()
        check_unchanged(scoring, before)
        frames, narrated = _narrated(drawing.frames(), narrator, folder, tell)
        answer = WorstReport(
            scoring=report,
            frames=frames,
            contact_sheet=folder.final(_SHEET),
            cropped=request.region,
            colours=str(drawing.colours),
            notes=[*report.notes, *_about_picks(picked, request), *drawing.notes, *narrated],
            model_id=narrator.model_id if narrator and any(frame.narration for frame in frames) else None,
        )
        text = json.dumps(answer.to_document(), indent=2, allow_nan=False)
        folder.write("worst.json", f"{text}\n".encode())
        folder.publish()
    return answer


def _nobody(_: WorstProgress) -> None:
    """Listens to progress where nobody does."""


def _scored(request: Request, tell: Listener) -> ScoreReport:
    def started(pairing: Source, models: list[AnyModel], _: object) -> None:
        if not models:
            raise InputError(
                "no model is scored, so no frame is the worst: ask for one, as ", to_set("metrics", "vmaf")
            )
        tell(WorstProgress("scoring", 0, pairing.length))

    def passed(done: int, total: int | None, mean: float | None) -> None:
        tell(WorstProgress("scoring", done, total, mean))

    return run_request(request, progress=passed, every=_EVERY, started=started)


def _picked(report: ScoreReport, request: WorstRequest) -> Picked:
    results = report.results
    found = pick(results.frames, results.columns[results.models[0]], request.n, request.apart, report.time_of)
    if not found.picks:
        raise ScoreError(f"no frame has a finite score of {report.model}, so none is the worst")
    return found


def _about_picks(picked: Picked, request: WorstRequest) -> Iterator[Note]:
    if len(picked.picks) < request.n:
        apart = f" {request.apart:g} s apart" if request.apart else ""
        yield notes.info(
            "fewer-frames",
            f"{len(picked.picks)} of {request.n} frames are shown: the clip has no more{apart} with a score",
        )
    if request.apart and not picked.timed:
        yield notes.info(
            "no-rate",
            f"no frame rate is known, so a second between the frames is taken for {FRAMES_A_SECOND} frames",
        )


class _Drawing:
    """The second reading of both videos: draws the picked frames, and examines them and some others."""

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
        self._typical = spread(report.pairs, _SAMPLED)
        self._examiner = Examiner(self._typical)
        self._made: dict[int, WorstFrame] = {}
        self._sheet: ContactSheet | None = None  # made when the first picture says how large they are
        self.colours = PairColours("bt709", False)
        self.notes: list[Note] = []

    def run(self) -> None:
        """Read up to the last frame that is wanted; a frame's pictures are written as it passes."""
        picks = {found.frame: found for found in self._picks}
        wanted = picks.keys() | set(self._typical)
        total = max(wanted) + 1
        with reopen(self._request.scoring, self._report) as pairing:
            self.colours = colours_of(pairing)
            self.notes += self.colours.notes
            self._tell(WorstProgress("drawing", 0, total))

            def passed(index: int) -> None:
                self._tell(WorstProgress("drawing", index + 1, total))

            for pair in compared_pairs(pairing, wanted, passed):
                self._examiner.look(pair, self.colours)
                if (found := picks.get(pair.number)) is not None:
                    self._made[pair.number] = self._draw(pair, found)

    def _draw(self, pair: ComparedPair, found: Pick) -> WorstFrame:
        drawn = draw(pair.ref, pair.dis, self.colours, crop=self._request.region)
        pictures = {"distorted": drawn.distorted, "reference": drawn.reference, "heat": drawn.heat}
        names = {kind: f"frame_{pair.number:06d}_{kind}.png" for kind in pictures}
        for kind, picture in pictures.items():
            self._folder.write(names[kind], rgb_png(picture, self.colours.aspect))
        self._sheet = self._sheet or self._new_sheet(drawn)
        self._sheet.place(self._picks.index(found), drawn, None if self._request.region else drawn.region)
        return WorstFrame(
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

    def frames(self) -> list[WorstFrame]:
        """The frames with their descriptions, the worst first; writes the contact sheet."""
        assert self._sheet is not None
        found = []
        for rank, picked in enumerate(self._picks):
            what = self._examiner.described(picked.frame)
            frame = replace(self._made[picked.frame], description=what.description, artefacts=what.artefacts)
            self._sheet.caption(rank, _line(frame, self._request), frame.description)
            found.append(frame)
        self._folder.write(_SHEET, rgb_png(self._sheet.image))
        return found


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


def _narrated(
    frames: list[WorstFrame], narrator: Narrator | None, folder: PictureFolder, tell: Listener
) -> tuple[list[WorstFrame], list[Note]]:
    """The frames with what the narrator says of them, and notes about what it couldn't."""
    if narrator is None:
        return frames, []
    found: list[WorstFrame] = []
    failed: dict[str, Note] = {}
    for number, frame in enumerate(frames):
        tell(WorstProgress("describing", number, len(frames)))
        try:
            said = narrator.narrate(folder.present(frame.distorted.name), frame.description)
            found.append(replace(frame, narration=said))
        except AcuityError as error:
            found.append(replace(frame, narration_error=str(error)))
            failed.setdefault(str(error), notes.warning("narrator", *error.args))
    tell(WorstProgress("describing", len(frames), len(frames)))
    return found, list(failed.values())
