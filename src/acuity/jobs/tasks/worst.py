"""The task that finds the worst frames of a pair, and makes small copies of their pictures for a message."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from acuity.errors import AcuityError
from longwire.work import Progress

if TYPE_CHECKING:
    from acuity.frames.request import WorstProgress, WorstRequest
    from acuity.scoring.report import ScoreReport
    from acuity.scoring.request import Request

# The pictures of a frame, and the entries of the document that have their paths.
PICTURES: Final = {"distorted": "png", "reference": "reference_png", "heat": "heat_png"}
PREVIEWS: Final = "previews"  # the entry of the document, and the folder, of the small copies
NO_PREVIEWS: Final = "no_previews"  # the entry that says why a score has none, or fewer than it should
DETAIL: Final = "detail"  # a picture for messages alone: a part of the distorted one in full size
KINDS: Final = (*PICTURES, DETAIL)  # what a message may have of a frame
_BUDGET: Final = 600_000  # bytes of them all: in base64, and with the text, less than 1 MiB
_SCORE_BUDGET: Final = 500_000  # of those beside a score, which may have its plot too
_SCORE_FRAMES: Final = 3  # beside a score
_OVERVIEW: Final = 1 / 3  # the share of whole pictures in that, where there are details too
_LEAST: Final = 16  # pixels across a detail


class Vlm(NamedTuple):
    """The model that describes pictures, if there is one: its folder, and the seconds it may take."""

    folder: str
    seconds: float


def worst_payload(request: WorstRequest, images: Sequence[str], vlm: Vlm | None) -> dict[str, Any]:
    """The task's payload; `images` are the pictures of a frame that a message should have."""
    return {"request": request.to_document(), "images": [*images], "vlm": vlm and vlm._asdict()}


def run(payload: dict[str, Any], report: Callable[[Progress], None]) -> dict[str, Any]:
    """Find the worst frames, and return their document with the entry `previews`."""
    from acuity.frames.narrator import Narrator, NarratorLimits
    from acuity.frames.request import WorstRequest
    from acuity.frames.worst import find_worst

    def tell(found: WorstProgress) -> None:
        report(Progress(round(found.share * 100, 2), 100.0, found.line(), found.details()))

    request = WorstRequest.from_document(payload["request"])
    Path(request.output).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    narrating: AbstractContextManager[Narrator | None] = nullcontext()
    if (vlm := payload["vlm"]) is not None:
        narrating = Narrator(vlm["folder"], NarratorLimits(total=vlm["seconds"]))
    with narrating as narrator:
        document = find_worst(request, narrator=narrator, progress=tell).to_document()
    return {**document, PREVIEWS: _previews(document, payload["images"], Path(request.output))}


def score_previews(request: Request, scored: ScoreReport, folder: str) -> dict[str, Any]:
    """The worst frames of a comparison that was just scored, as small copies; or why there are none."""
    from acuity.frames.pick import FEWER_FRAMES
    from acuity.frames.request import WorstRequest
    from acuity.frames.worst import find_worst

    try:
        Path(folder).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = find_worst(WorstRequest(request, folder, n=_SCORE_FRAMES), scored=scored)
        document = found.to_document()
        if not document["frames"]:
            return {NO_PREVIEWS: "every scored frame is identical to its reference"}
        fewer = [note["text"] for note in document["notes"] if note["code"] == FEWER_FRAMES]
        made = _previews(document, ("distorted", "reference"), Path(folder), _SCORE_BUDGET)
        return {PREVIEWS: made, **({NO_PREVIEWS: fewer[0]} if fewer else {})}
    except (AcuityError, OSError) as error:  # the score is there, whatever becomes of pictures
        return {NO_PREVIEWS: str(error)}


def _previews(
    document: dict[str, Any], kinds: Sequence[str], folder: Path, budget: int = _BUDGET
) -> list[dict[str, Any]]:
    """Write the small copies; the list says which picture each is, and its file."""
    from acuity.frames.previews import picture_size, previews

    frames = document["frames"]
    whole = [kind for kind in kinds if kind in PICTURES]
    shown = [(frame, kind) for frame in frames for kind in whole]
    room = round(budget * _OVERVIEW) if whole and DETAIL in kinds else budget
    made = previews([Path(frame[PICTURES[kind]]) for frame, kind in shown], room)
    (folder / PREVIEWS).mkdir(mode=0o700, exist_ok=True)
    copies = iter(zip(shown, made, strict=False))
    left = budget - sum(len(preview.data) for preview in made)
    entries: list[dict[str, Any]] = []
    for place, frame in enumerate(frames):
        full = False
        for (_, kind), preview in islice(copies, len(whole)):
            path = folder / PREVIEWS / Path(frame[PICTURES[kind]]).name
            path.write_bytes(preview.data)
            entries.append(_entry(frame, kind, preview.width, preview.height, path))
            full = full or (kind == "distorted" and preview.width >= picture_size(Path(frame["png"]))[0])
        if DETAIL in kinds and not full:
            entry, size = _detail(frame, left // (len(frames) - place), folder / PREVIEWS)
            left -= size
            entries.append(entry)
    return entries


def _entry(frame: dict[str, Any], kind: str, width: int, height: int, file: Path) -> dict[str, Any]:
    size = {"width": width, "height": height, "file": str(file)}
    return {"frame_index": frame["frame_index"], "picture": kind, **size}


def _detail(frame: dict[str, Any], room: int, folder: Path) -> tuple[dict[str, Any], int]:
    """Write the part of the distorted picture with the greatest loss, in full size; its entry and bytes.

    It is the middle of the worst region, as much of that as the room allows.
    """
    import numpy as np

    from acuity.frames.previews import rgb_samples
    from acuity.png import rgb_png

    picture = Path(frame["png"])
    samples = rgb_samples(picture)
    box = frame["region"]
    if samples.shape[:2] == (box["height"], box["width"]):  # the picture is of that region alone
        box = {**box, "x": 0, "y": 0}
    scale = 1.0
    while True:
        width, height = (max(_LEAST, round(box[side] * scale)) for side in ("width", "height"))
        x, y = box["x"] + max(0, box["width"] - width) // 2, box["y"] + max(0, box["height"] - height) // 2
        part = samples[y : y + height, x : x + width]
        data = rgb_png(np.ascontiguousarray(part))
        if len(data) <= room or scale < 0.05:
            break
        scale *= 0.95 * max(0.4, (room / len(data)) ** 0.5)
    path = folder / picture.name.replace(".png", f"_{DETAIL}.png")
    path.write_bytes(data)
    return _entry(frame, f"{DETAIL} at {x},{y}", part.shape[1], part.shape[0], path), len(data)
