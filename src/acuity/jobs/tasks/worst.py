"""The task that finds the worst frames of a pair, and makes small copies of their pictures for a message."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from acuity.jobs.job import Progress

if TYPE_CHECKING:
    from acuity.frames.progress import WorstProgress
    from acuity.frames.request import WorstRequest

# The pictures of a frame, and the entries of the document that have their paths.
PICTURES: Final = {"distorted": "png", "reference": "reference_png", "heat": "heat_png"}
PREVIEWS: Final = "previews"  # the entry of the document, and the folder, of the small copies
_BUDGET: Final = 450_000  # bytes of them all: in base64, and with the text, less than 1 MiB


@dataclass(frozen=True, slots=True)
class Vlm:
    """The model that describes pictures, if there is one: its folder, and the seconds it may take."""

    folder: str
    seconds: float


def worst_payload(request: WorstRequest, images: Sequence[str], vlm: Vlm | None) -> dict[str, Any]:
    """The task's payload; `images` are the pictures of a frame that a message should have."""
    model = None if vlm is None else {"folder": vlm.folder, "seconds": vlm.seconds}
    return {"request": request.to_document(), "images": list(images), "vlm": model}


def run(payload: dict[str, Any], report: Callable[[Progress], None]) -> dict[str, Any]:
    """Find the worst frames, and return their document with the entry `previews`."""
    from acuity.frames.narrator import NarratorLimits, open_narrator
    from acuity.frames.request import WorstRequest
    from acuity.frames.worst import find_worst

    def tell(found: WorstProgress) -> None:
        report(Progress(round(found.share * 100, 2), 100.0, found.line(), found.details()))

    request = WorstRequest.from_document(payload["request"])
    Path(request.output).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with ExitStack() as stack:
        narrator = None
        if (vlm := payload["vlm"]) is not None:
            limits = NarratorLimits(total=vlm["seconds"])
            narrator = stack.enter_context(open_narrator(vlm["folder"], limits))
        document = find_worst(request, narrator=narrator, progress=tell).to_document()
    return {**document, PREVIEWS: _previews(document, payload["images"], Path(request.output))}


def _previews(document: dict[str, Any], kinds: Sequence[str], folder: Path) -> list[dict[str, Any]]:
    """Write the small copies; the list says which picture each is, and its file."""
    from acuity.frames.previews import previews

    shown = [(frame, kind) for frame in document["frames"] for kind in kinds]
    made = previews([Path(frame[PICTURES[kind]]) for frame, kind in shown], _BUDGET)
    (folder / PREVIEWS).mkdir(mode=0o700, exist_ok=True)
    entries = []
    for (frame, kind), preview in zip(shown, made, strict=False):
        path = folder / PREVIEWS / Path(frame[PICTURES[kind]]).name
        path.write_bytes(preview.data)
        entries.append(
            {
                "frame_index": frame["frame_index"],
                "picture": kind,
                "width": preview.width,
                "height": preview.height,
                "file": str(path),
            }
        )
    return entries
