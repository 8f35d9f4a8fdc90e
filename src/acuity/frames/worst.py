"""Finds the worst frames of a comparison: scores, picks them, reads them again, draws and describes them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Final

from acuity.errors import AcuityError, InputError, to_set
from acuity.frames.compared import Identity, check_unchanged
from acuity.frames.drawing import Drawing
from acuity.frames.folder import PictureFolder
from acuity.frames.narrator import Narrator
from acuity.frames.picked import picked_frames
from acuity.frames.picture_files import SHEET, PictureFiles
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
    request: WorstRequest,
    *,
    scored: ScoreReport | None = None,
    narrator: Narrator | None = None,
    progress: Listener | None = None,
) -> WorstReport:
    """Score, and write the pictures of the worst frames, a contact sheet and worst.json.

    `scored` is the report of the same comparison where there is one already, so that nothing is scored twice.
    `narrator` adds sentences of its own; if it fails, a note says so. What `progress` raises ends the work.
    If all frames are identical to their reference, there are no pictures, and a note says so. After an
    interruption or any error no file is left. Raises AcuityError.
    """
    scoring = request.scoring
    if not scoring.predict:
        raise InputError("without a score no frame is the worst: leave out ", to_set("predict", False))
    before = Identity.of(scoring, scored)
    tell = progress or _nobody
    with PictureFolder(request.output) as folder:
        report = scored or _scored(scoring, tell)
        picked, about = picked_frames(
            scoring, report, request.n, request.apart, tell, (request.start, request.end)
        )
        files = PictureFiles(request, report, picked.picks, folder)
        drawing = Drawing(scoring, report, picked.picks, files.take, tell, crop=request.region)
        drawing.run()
        check_unchanged(scoring, before)
        frames, narrated = _narrated(files.frames(drawing), narrator, folder, tell)
        answer = WorstReport(
            scoring=report,
            frames=frames,
            contact_sheet=folder.final(SHEET) if frames else None,
            cropped=request.region,
            colours=str(drawing.colours),
            notes=[*report.notes, *about, *drawing.notes, *narrated],
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
