"""Finds the worst frames of a comparison: scores, picks them, reads them again, draws and describes them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from acuity.errors import AcuityError, InputError, ScoreError, to_set
from acuity.frames.compared import Identity, check_unchanged
from acuity.frames.drawing import SHEET, Drawing
from acuity.frames.folder import PictureFolder
from acuity.frames.narrator import Narrator
from acuity.frames.pick import FRAMES_A_SECOND, Picked, pick
from acuity.frames.progress import Listener, WorstProgress
from acuity.frames.report import WorstFrame, WorstReport
from acuity.frames.request import WorstRequest
from acuity.scoring.report import AnyModel, ScoreReport
from acuity.scoring.request import Request
from acuity.scoring.run import Source, run_request
from acuity.video import notes
from acuity.video.notes import Note

_EVERY: Final = 0.1  # seconds between two reports of progress while scoring


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
        drawing = Drawing(request, report, picked.picks, folder, tell)
        drawing.run()
        check_unchanged(scoring, before)
        frames, narrated = _narrated(drawing.frames(), narrator, folder, tell)
        answer = WorstReport(
            scoring=report,
            frames=frames,
            contact_sheet=folder.final(SHEET),
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
