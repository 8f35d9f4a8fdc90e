"""Finds the worst frames of a comparison: scores, picks them, reads them again, draws and describes them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import numpy as np

from acuity.errors import AcuityError, InputError, ScoreError, to_set
from acuity.frames.compared import Identity, check_unchanged
from acuity.frames.differences import differences, needs_differences
from acuity.frames.drawing import SHEET, Drawing
from acuity.frames.folder import PictureFolder
from acuity.frames.narrator import Narrator
from acuity.frames.pick import FRAMES_A_SECOND, Picked, pick, tied
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
    If all frames are identical to their reference, there are no pictures, and a note says so. After an
    interruption or any error no file is left. Raises AcuityError.
    """
    scoring = request.scoring
    if not scoring.predict:
        raise InputError("without a score no frame is the worst: leave out ", to_set("predict", False))
    before = Identity.of(scoring)
    tell = progress or _nobody
    with PictureFolder(request.output) as folder:
        report = _scored(scoring, tell)
        picked, about = _picked(report, request, tell)
        drawing = Drawing(request, report, picked.picks, folder, tell)
        drawing.run()
        check_unchanged(scoring, before)
        frames, narrated = _narrated(drawing.frames(), narrator, folder, tell)
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


def _picked(report: ScoreReport, request: WorstRequest, tell: Listener) -> tuple[Picked, list[Note]]:
    """The worst frames, and notes about how they were found."""
    results = report.results
    scores = results.columns[results.models[0]]

    def picked(off: dict[int, float] | None = None) -> Picked:
        return pick(results.frames, scores, request.n, request.apart, report.time_of, off)

    found = picked()
    if not found.picks:
        raise ScoreError(f"no frame has a finite score of {report.model}, so none is the worst")
    if not needs_differences(found.picks, tied(scores, found.picks) > 0):
        return found, [*_about_picks(found, request, 0)]
    tell(WorstProgress("comparing", 0, report.pairs))

    def passed(index: int) -> None:
        tell(WorstProgress("comparing", index + 1, report.pairs))

    off = differences(request.scoring, report, passed)
    found = picked(off)
    identical = sum(not value for value in off.values())
    if not found.picks:
        text = "every scored frame is identical to its reference, so none is the worst and none is shown"
        return found, [notes.info("identical-frames", text)]
    differing = np.array([off[int(frame)] > 0 for frame in results.frames])
    equal = tied(scores[differing], found.picks)
    ties = [] if not equal else [notes.info("equal-scores", _EQUAL.format(equal))]
    return found, [*ties, *_about_picks(found, request, identical)]


_EQUAL: Final = (
    "{} frames have the same score as another, so the score can't rank them: they are ranked by how much "
    "their samples differ from the reference's"
)


def _about_picks(picked: Picked, request: WorstRequest, identical: int) -> Iterator[Note]:
    if len(picked.picks) < request.n:
        apart = f" {request.apart:g} s apart" if request.apart else ""
        same = f"; {identical} are identical to their reference" if identical else ""
        yield notes.info(
            "fewer-frames",
            f"{len(picked.picks)} of {request.n} frames are shown: the clip has no more{apart} with a score"
            f"{' and a difference' if identical else ''}{same}",
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
