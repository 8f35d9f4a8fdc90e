"""The pictures that `acuity worst` wrote to a folder, for the page of a report."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from acuity.errors import InputError
from acuity.foreign_json import parse_json
from acuity.frames.artefacts.box import Box
from acuity.frames.compressed import compressed
from acuity.frames.page_pictures import BUDGET, frame_pictures, page_picture, share_of, shares
from acuity.frames.pick import Pick
from acuity.frames.previews import rgb_samples, sample_aspect
from acuity.frames.report import SCHEMA
from acuity.frames.request import MAX_FRAMES
from acuity.report.page.page_document import Picture

_LIST: Final = "worst.json"
_LARGEST_LIST: Final = 16 << 20  # bytes
_FILES: Final = {"reference": "reference_png", "distorted": "png", "heat": "heat_png"}
_SLACK: Final = 0.005  # of scores, which reports round


def folder_pictures(
    folder: str | os.PathLike[str],
    scores: Mapping[int, float] | None = None,
    *,
    count: int = MAX_FRAMES,
    budget: int = BUDGET,
) -> list[Picture]:
    """The pictures of at most so many frames, the worst first; raises InputError.

    `scores` are those of the report by frame: pictures of another clip's frames are refused.
    """
    place = Path(folder)
    document = _document(place)
    entries = document["frames"][:count]
    if scores is not None:
        for entry in entries:
            frame, score = entry["frame_index"], entry["vmaf"]
            if frame not in scores or abs(scores[frame] - score) > _SLACK:
                has = f"scores {scores[frame]:.2f}" if frame in scores else "has no score"
                raise InputError(
                    f"the pictures in '{place}' are of other videos than the report: frame {frame} scores "
                    f"{score:.2f} there and {has} in the report; name the folder that shows this pair"
                )
    return [_picture(place, document, entry, share_of(budget, len(entries))) for entry in entries]


def _document(folder: Path) -> dict[str, Any]:
    path = folder / _LIST
    needed = f"name a folder that `acuity worst` wrote: it has the file {_LIST}"
    try:
        if path.stat().st_size > _LARGEST_LIST:
            raise InputError(f"'{path}' is too large to be a list of frames: {needed}")
        document = parse_json(path.read_bytes())
    except OSError as error:
        raise InputError(f"'{path}' can't be read ({error.strerror or error}): {needed}") from error
    except ValueError as error:
        raise InputError(f"'{path}' is no JSON: {needed}") from error
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise InputError(f"'{path}' is no document {SCHEMA}: {needed}")
    try:
        document["frames"] = [_entry(entry) for entry in document["frames"]]
        return {**document, "width": int(document["width"]), "height": int(document["height"])}
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"'{path}' is no complete document {SCHEMA} ({error!r}): {needed}") from error


def _entry(entry: dict[str, Any]) -> dict[str, Any]:
    """An entry of the document, with the kinds of values it should have; raises KeyError and the like."""
    return {
        "frame_index": int(entry["frame_index"]),
        "time": None if entry["time"] is None else float(entry["time"]),
        "vmaf": float(entry["vmaf"]),
        "region": Box(**{name: int(value) for name, value in entry["region"].items()}),
        "description": str(entry["description"]),
        "narration": entry.get("narration"),
        # Names, because the folder may have been moved since.
        **{name: os.path.basename(str(entry[name])) for name in _FILES.values()},
    }


def _picture(folder: Path, document: dict[str, Any], entry: dict[str, Any], budget: int) -> Picture:
    files = {kind: folder / entry[name] for kind, name in _FILES.items()}
    samples = {kind: rgb_samples(path) for kind, path in files.items()}
    if len({picture.shape for picture in samples.values()}) > 1:
        raise InputError(
            f"the pictures of frame {entry['frame_index']} in '{folder}' have several sizes: "
            "write them once more with `acuity worst`"
        )
    made = compressed(frame_pictures(**samples), budget, sample_aspect(files["reference"]))
    size = document["width"], document["height"]
    region = None if document.get("cropped") else shares(entry["region"], *size)
    said = entry["description"]
    if isinstance(entry["narration"], str):
        said = f"{said} {entry['narration']}"
    return page_picture(Pick(entry["frame_index"], entry["time"], entry["vmaf"]), made, said, region)
