"""Carries out a search request: the document of what was found, and the final file if one was asked for."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from typing import Any, Final, NamedTuple

from acuity import __version__
from acuity.errors import TuneError, UnreachableError
from acuity.tune.clip import Clip
from acuity.tune.encoders import find_encoder
from acuity.tune.encoders.beside import Weight, weight
from acuity.tune.encoders.encoder import EncoderSettings
from acuity.tune.encoders.output import check_video_file, video_file
from acuity.tune.material import material
from acuity.tune.points.point import Point
from acuity.tune.points.workbench import Workbench
from acuity.tune.request import SearchRequest
from acuity.tune.search.searching import search
from acuity.tune.search.target import Target
from acuity.tune.values import size

SCHEMA: Final = "acuity.tune.search/1"


def search_document(request: SearchRequest, bench: Workbench) -> dict[str, Any]:
    """Search, make the final file if asked to, and say what was found."""
    began = time.monotonic()
    asked = request.the_target()
    source = material(request, bench)
    encoder = request.stepped(find_encoder(request.encoder))
    resolution = None if request.resolution is None else size(request.resolution)
    settings = request.settings(encoder, resolution)
    budget = None
    if request.encode is not None:
        format = check_video_file(request.encode, source.whole, encoder, overwrite=request.overwrite)
        if asked.kind == "size":
            budget = SizeBudget.of(asked, source.whole, format)
    target = source.target(asked if budget is None else replace(asked, value=budget.video))
    points: list[Point]
    notes: list[str] = []
    try:
        found = search(
            bench,
            source.clip,
            settings,
            target,
            quality_range=request.quality_range(encoder),
            tolerance=request.tolerance,
            max_encodes=request.max_iterations,
        )
        best, points, error, notes = found.point, found.points, None, found.notes
    except UnreachableError as failure:
        if failure.best is None:
            raise
        best, points, error = failure.best, failure.points, str(failure)
        if request.encode is not None:
            error += f"; '{request.encode}' was not written"
    made = None
    if request.encode is not None and error is None:
        made, point = _made(request, bench, source.whole, best, settings, target, budget)
        if point.quality != best.quality and source.sample is None:
            best, points = point, [*(one for one in points if one.quality != point.quality), point]
    notes += [*([] if budget is None else [budget.note]), *source.notes(best, target)]
    notes += [note for point in points for note in point.notes]
    notes += [] if made is None else made["notes"]
    chosen = {
        "crf": best.quality,
        "bitrate_kbps": round(best.bitrate_kbps, 3),
        "bytes": best.bytes,
        "vmaf_score": round(best.pool(), 6),
        "figure": round(target.figure(best), 6),
    }
    return {
        "schema": SCHEMA,
        "src": request.src,
        "ok": error is None,
        "error": error,
        "codec": encoder.name,
        "encoder_version": best.encoder_version,
        "knob": encoder.knob,
        **(chosen if error is None else dict.fromkeys(chosen)),
        "nearest": None if error is None else chosen,
        "range": source.range(best),
        "target": {
            "kind": asked.kind,
            "value": asked.value,
            **({"metric": request.metric, "pool": asked.pool} if asked.kind == "quality" else {}),
            **({} if budget is None else {"video_bytes": budget.video}),
            "shown": target.shown(target.figure(best)),
        },
        "model": best.model,
        "encodes": bench.encodes,
        "points": [point_document(point, target) for point in sorted(points, key=lambda one: one.quality)],
        "encode": made,
        "sampling": source.document(best, target),
        "notes": list(dict.fromkeys(notes)),
        "tool_version": f"acuity {__version__}",
        "wall_time_ms": round((time.monotonic() - began) * 1000, 1),
    }


def _made(
    request: SearchRequest,
    bench: Workbench,
    clip: Clip,
    best: Point,
    settings: EncoderSettings,
    target: Target,
    budget: SizeBudget | None,
) -> tuple[dict[str, Any], Point]:
    """Make the file, and say what it measured and what was predicted; and its point.

    If it is larger than asked for, it is made once more with the next worse quality.
    """
    path, encoder, notes = str(request.encode), settings.encoder, []

    def written(quality: float, overwrite: bool) -> tuple[Point, list[str], int]:
        with video_file(path, clip, encoder, overwrite=overwrite) as file:
            point = bench.encode(clip, settings, quality, file)
        return point, file.notes, os.path.getsize(path)

    point, said, size = written(best.quality, request.overwrite)
    last = max(map(encoder.step, request.quality_range(encoder) or (encoder.best, encoder.worst)))
    if budget is not None and size > budget.asked and encoder.step(point.quality) < last:
        worse = encoder.quality(encoder.step(point.quality) + 1)
        notes.append(
            f"with {encoder.knob} {point.quality} the file had {size:,} bytes, more"
            f" than the {budget.asked:,} asked for, so it was made with {encoder.knob} {worse}"
        )
        point, said, size = written(worse, True)
    if budget is not None and size > budget.asked:
        notes.append(f"the file has {size:,} bytes, more than the {budget.asked:,} asked for")
    document = {
        "path": path,
        "crf": point.quality,
        "bytes": size,
        "bitrate_kbps": round(point.bitrate_kbps, 3),
        "predicted_kbps": round(best.bitrate_kbps, 3),
        "vmaf_score": round(point.pool(), 6),
        "predicted_vmaf": round(best.pool(), 6),
        "figure": round(target.figure(point), 6),
        "predicted_figure": round(target.figure(best), 6),
        "notes": [*said, *notes],
    }
    return document, point


def point_document(point: Point, target: Target) -> dict[str, Any]:
    found: dict[str, Any] = {
        "crf": point.quality,
        "bitrate_kbps": round(point.bitrate_kbps, 3),
        "bytes": point.bytes,
        "vmaf_score": round(point.pool(), 6),
        **{method: round(point.pool(method=method), 6) for method in ("harmonic_mean", "p5", "min")},
        "encode_time_ms": round(point.encode_seconds * 1000, 1),
        "cached": point.cached,
    }
    if target.kind == "quality":
        found["figure"] = round(target.figure(point), 6)
    return found


class SizeBudget(NamedTuple):
    """The division of a file's wanted size between its video and the rest."""

    asked: int
    beside: Weight

    @classmethod
    def of(cls, target: Target, clip: Clip, format: str) -> SizeBudget:
        """The budget of a file of that format; raises TuneError if nothing is left for the video."""
        budget = cls(int(target.value), weight(clip, format))
        if budget.video <= 0:
            raise TuneError(
                f"a file of {budget.asked:,} bytes has no room for the video of '{clip.path}': what is"
                f" copied has {budget.beside.copied:,} bytes and the container about"
                f" {budget.beside.container:,}; ask for more"
            )
        return budget

    @property
    def video(self) -> int:
        return self.asked - sum(self.beside)

    @property
    def note(self) -> str:
        return (
            f"of the {self.asked:,} bytes asked for, {self.video:,} are for the video: what is copied has"
            f" {self.beside.copied:,} and the container about {self.beside.container:,}"
        )
