"""Finds the worst frames of a comparison: scores, picks them, reads them again, draws and describes them."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Self

from acuity.errors import AcuityError, InputError, OutputError, to_set
from acuity.frames.colours import PairColours
from acuity.frames.compared import check_unchanged, identities
from acuity.frames.contact_sheet import ContactSheet
from acuity.frames.drawing import Drawing
from acuity.frames.heat_map import Drawn
from acuity.frames.narrator import Narrator
from acuity.frames.pick import FRAMES_A_SECOND, Pick, pick_worst
from acuity.frames.report import WorstFrame, WorstReport
from acuity.frames.request import Listener, WorstProgress, WorstRequest
from acuity.models.inputs import AnyModel
from acuity.png import rgb_png
from acuity.scoring.report import ScoreReport
from acuity.scoring.request import Request
from acuity.scoring.run import Source, run_request
from acuity.text import clock
from acuity.video import notes
from acuity.video.notes import Note


class PictureFolder:
    """A folder, created if missing, whose new files appear when publish() is called.

    Until then they are in a hidden folder inside it. At the end of the `with` block what was not published is
    removed, and so is a folder that was created for nothing. Files of other names are left alone.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(os.path.abspath(path))
        self._made: list[Path] = []  # the folders that were created, the outermost first
        self._hidden: Path | None = None
        self._names: list[str] = []

    def __enter__(self) -> Self:
        with self._writing():
            try:
                missing = [folder for folder in (self.path, *self.path.parents) if not folder.exists()]
                self.path.mkdir(parents=True, exist_ok=True)
                self._made = missing[::-1]
                self._hidden = Path(tempfile.mkdtemp(prefix=".acuity-", suffix=".tmp", dir=self.path))
            except OSError:
                self.__exit__()
                raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._hidden is not None:
            shutil.rmtree(self._hidden, ignore_errors=True)
            self._hidden = None
        for folder in reversed(self._made):
            with contextlib.suppress(OSError):  # it isn't empty: the pictures are there
                folder.rmdir()

    def final(self, name: str) -> Path:
        """The path of a file after publish()."""
        return self.path / name

    def present(self, name: str) -> Path:
        """The path of a file before publish()."""
        assert self._hidden is not None
        return self._hidden / name

    def write(self, name: str, data: bytes) -> None:
        """Write a file, which publish() gives its place; raises OutputError."""
        with self._writing():
            self.present(name).write_bytes(data)
        self._names.append(name)

    def publish(self) -> None:
        """Give the files their places, in the order in which they were written; raises OutputError."""
        with self._writing():
            if name := next((name for name in self._names if self.final(name).is_dir()), None):
                raise IsADirectoryError(f"{name!r} in it is a folder, so move that away")
            for name in self._names:
                os.replace(self.present(name), self.final(name))

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            reason = error.strerror or str(error)
            if isinstance(error, FileExistsError | NotADirectoryError):
                reason = "it, or a part of its path, is a file, so name a folder"
            said = f"pictures could not be written to the folder {str(self.path)!r}: {reason}"
            raise OutputError(said) from error


SHEET: Final = "contact_sheet.png"


@dataclass(eq=False)
class PictureFiles:
    """Writes the pictures of frames to a folder as they are drawn."""

    request: WorstRequest
    report: ScoreReport
    picks: list[Pick]
    folder: PictureFolder
    _sheet: ContactSheet | None = None  # made when the first picture says how large they are
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, found: Pick, drawn: Drawn, colours: PairColours) -> None:
        """Write the pictures of a frame; runs in several threads at once."""
        for kind, name in _names(found.frame).items():
            self.folder.write(name, rgb_png(getattr(drawn, kind), colours.aspect))
        with self._lock:
            self._sheet = self._sheet or self._new_sheet(drawn)
            self._sheet.place(self.picks.index(found), drawn, None if self.request.region else drawn.region)

    def frames(self, drawing: Drawing) -> list[WorstFrame]:
        """The frames with their descriptions, the worst first; writes the contact sheet."""
        if self._sheet is None:
            return []
        found = []
        for rank, picked in enumerate(self.picks):
            description, artefacts = drawing.described(picked.frame)
            where = drawing.where[picked.frame]
            distorted, reference, heat = map(self.folder.final, _names(picked.frame).values())
            loss = where.region, where.loss
            frame = WorstFrame(*picked, distorted, reference, heat, *loss, description, artefacts)
            self._sheet.caption(rank, _line(frame, self.request), frame.description)
            found.append(frame)
        self.folder.write(SHEET, rgb_png(self._sheet.image))
        return found

    def _new_sheet(self, drawn: Drawn) -> ContactSheet:
        height, width, _ = drawn.reference.shape
        report, count = self.report, len(self.picks)
        ref, dis = (os.path.basename(report.input[side]["path"]) for side in ("reference", "distorted"))
        size = f"{report.results.width}x{report.results.height}"
        shown = f"{width}x{height} of {size}, where the loss is greatest" if self.request.region else size
        title = f"{'The worst frame' if count == 1 else f'{count} worst frames'} of {dis}"
        subtitle = f"{report.model}, mean {report.score:.2f}; {shown}; reference {ref}"
        return ContactSheet(count, width, height, title, subtitle)


def _names(frame: int) -> dict[str, str]:
    """The names of a frame's files, by what they show."""
    return {kind: f"frame_{frame:06d}_{kind}.png" for kind in ("distorted", "reference", "heat")}


def _line(frame: WorstFrame, request: WorstRequest) -> str:
    """`frame 123   0:04.920   score 38.40`, and the place of the region if that is all that is shown."""
    time = "" if frame.time is None else clock(frame.time, 3)
    place = f"at {frame.region.x},{frame.region.y}" if request.region else ""
    return "   ".join(filter(None, (f"frame {frame.index}", time, f"score {frame.score:.2f}", place)))


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
    before = identities(scoring, scored)
    tell = progress or (lambda _: None)
    with PictureFolder(request.output) as folder:
        report = scored or _scored(scoring, tell, request.start)
        picks, about = pick_worst(
            scoring, report, request.n, request.apart, tell, (request.start, request.end)
        )
        files = PictureFiles(request, report, picks, folder)
        drawing = Drawing(scoring, report, picks, files.take, tell, crop=request.region)
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


def _check_start(start: float | None, pairing: Source) -> None:
    """Refuse to look for frames after the end, where that is known before all frames are read."""
    length, timeline = pairing.length, pairing.timeline
    if start is None or length is None or timeline.varies:
        return
    known = timeline.at(length)
    if start >= (end := length / FRAMES_A_SECOND if known is None else known):
        raise InputError(to_set("start", f"{start:g}"), f" can't be: what is compared ends at {end:g} s")


def _scored(request: Request, tell: Listener, start: float | None) -> ScoreReport:
    def started(pairing: Source, models: list[AnyModel], _: object) -> None:
        if not models:
            raise InputError(
                "no model is scored, so no frame is the worst: ask for one, as ", to_set("metrics", "vmaf")
            )
        _check_start(start, pairing)
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
