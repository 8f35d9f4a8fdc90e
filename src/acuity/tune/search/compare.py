"""Compares encoders: the bits that each needs for a target, or its curve over given quality settings.

A row that fails has its error, and the others go on.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from acuity import __version__
from acuity.errors import AcuityError, EncoderError, Remedy, UnreachableError
from acuity.scoring.bd_rate import compare_curves
from acuity.text import shortened
from acuity.tune.clip import Clip
from acuity.tune.encoders import Encoder, find_encoder
from acuity.tune.encoders.versions import encoder_version
from acuity.tune.material import Material, material, part_notes
from acuity.tune.points.point import Point
from acuity.tune.points.workbench import Workbench
from acuity.tune.request import CompareRequest
from acuity.tune.search.searching import SearchAnswer, search_rows


@dataclass
class _Contender:
    """One encoder of a comparison: its rows, and every point that was measured for them."""

    name: str
    encoder: Encoder | None = None
    version: str | None = None
    error: str | None = None  # why it can't be used at all
    points: dict[float, Point] = field(default_factory=dict)  # by quality
    rows: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # of its searches


def compare(request: CompareRequest, bench: Workbench) -> dict[str, Any]:
    """The document of a comparison: schema 1, 2 or 3 of vmaf-tune, with `bd_rate`, `curves` and `notes`."""
    began = time.monotonic()
    source = material(request, bench)
    clip = source.clip
    contenders = [_contender(name, request) for name in request.names()]
    about = (_swept if request.no_bisect else _searched)(request, bench, clip, contenders)
    rows = [row for contender in contenders for row in contender.rows]
    points = [point for contender in contenders for point in contender.points.values()]
    return {
        **about,
        "tool_version": f"acuity {__version__}",
        "wall_time_ms": round((time.monotonic() - began) * 1000, 1),
        "rows": _ranked(rows, about),
        "bd_rate": _savings(request, contenders),
        "curves": [
            {"codec": contender.name, "points": [_sample(request, point) for point in _curve(contender)]}
            for contender in contenders
        ],
        "encodes": bench.encodes,
        "metric": request.metric,
        "pool": request.pool,
        "range": source.range(points[0]) if points else None,
        "sampling": None if source.sample is None else source.sample.document(),
        "notes": _notes(request, source, contenders),
    }


def _contender(name: str, request: CompareRequest) -> _Contender:
    try:
        encoder = request.stepped(find_encoder(name))
        return _Contender(encoder.name, encoder, encoder_version(encoder))
    except EncoderError as error:
        return _Contender(shortened(name), error=_said(error))


def _searched(
    request: CompareRequest, bench: Workbench, clip: Clip, contenders: Sequence[_Contender]
) -> dict[str, Any]:
    targets = request.targets()
    asked = []
    for contender, value, row in _rows(contenders, sorted(targets, reverse=True)):
        row["target_vmaf"] = value
        if contender.encoder is not None:
            with _failing(row):
                asked.append((contender, row, request.settings(contender.encoder), request.target_at(value)))
    answers = search_rows(
        bench,
        clip,
        [(settings, target) for _, _, settings, target in asked],
        ranges=request.quality_range,
        tolerance=request.tolerance,
        max_encodes=request.max_iterations,
    )
    for (contender, row, _, _), found in zip(asked, answers, strict=True):
        row |= _answered(request, contender, found)
    if request.target_vmafs is not None:
        return {"schema_version": 2, "src": request.src, "target_vmafs": targets}
    return {"src": request.src, "target_vmaf": targets[0]}


def _rows(
    contenders: Sequence[_Contender], values: Sequence[float]
) -> Iterator[tuple[_Contender, float, dict[str, Any]]]:
    """A row for each encoder and value, as it is before an encode is made."""
    for contender in contenders:
        for value in values:
            contender.rows.append(_row(contender))
            yield contender, value, contender.rows[-1]


@contextmanager
def _failing(row: dict[str, Any]) -> Iterator[None]:
    """Put an error into the row, so that the other rows go on."""
    try:
        yield
    except AcuityError as error:
        row["error"] = _said(error)


def _answered(
    request: CompareRequest, contender: _Contender, found: SearchAnswer | AcuityError
) -> dict[str, Any]:
    if isinstance(found, AcuityError) and not isinstance(found, UnreachableError):
        return {"error": _said(found)}
    contender.points |= {point.quality: point for point in found.points}
    if isinstance(found, UnreachableError):
        nearest = None if found.best is None else _sample(request, found.best)
        return {"nearest": nearest, **_samples(request, found.points), "error": _said(found)}
    contender.notes += [f"{contender.name}, {found.target}: {note}" for note in found.notes]
    samples = _samples(request, found.points)
    return {**_figures(request, found.point), "encodes": found.encodes, **samples, "ok": True}


def _swept(
    request: CompareRequest, bench: Workbench, clip: Clip, contenders: Sequence[_Contender]
) -> dict[str, Any]:
    values = request.sweep()
    wanted = []
    for contender, value, row in _rows(contenders, values):
        row |= {"best_crf": value, "target_vmaf": request.target_vmaf}
        if contender.encoder is not None:
            with _failing(row):
                contender.encoder.check_quality(value)
                wanted.append((contender, row, request.settings(contender.encoder)))
    made = bench.points((clip, settings, row["best_crf"]) for _, row, settings in wanted)
    for (contender, row, _), point in zip(wanted, made, strict=True):
        if isinstance(point, AcuityError):
            row["error"] = _said(point)
            continue
        contender.points[point.quality] = point
        target = request.target_vmaf
        met = target is None or request.target_at(target).met(_score(request, point))
        row |= {**_figures(request, point), "ok": met}
        if not met:
            row["error"] = f"the target of {target:g} isn't reached"
    about = {"src": request.src, "crf_sweep": values, "target_vmaf": request.target_vmaf}
    return {"schema_version": 3, "mode": "crf_sweep", **about}


def _said(error: AcuityError) -> str:
    """The error as a document says it, for any program or person."""
    return error.spelled(Remedy.plain)


def _row(contender: _Contender) -> dict[str, Any]:
    external = contender.encoder is not None and not contender.encoder.in_process
    return {
        "codec": contender.name,
        "adapter": contender.name,
        "runtime_variant": "",
        "ffmpeg_bin": os.environ.get("ACUITY_FFMPEG", "") if external else "",
        "encoder_version": contender.version,
        **dict.fromkeys(("best_crf", "bitrate_kbps", "encode_time_ms", "vmaf_score")),
        **dict.fromkeys(("nearest", "target_vmaf")),
        "ok": False,
        "error": contender.error,
    }


def _score(request: CompareRequest, point: Point) -> float:
    """The figure of the metric that targets are of; VMAF unless another was asked for."""
    return request.target_at(0).figure(point)


def _figures(request: CompareRequest, point: Point) -> dict[str, Any]:
    return {
        "best_crf": point.quality,
        "bitrate_kbps": round(point.bitrate_kbps, 3),
        "encode_time_ms": round(point.encode_seconds * 1000, 1),
        "vmaf_score": round(_score(request, point), 6),
    }


def _sample(request: CompareRequest, point: Point) -> dict[str, Any]:
    figures = _figures(request, point)
    return {"crf": figures.pop("best_crf"), **figures}


def _samples(request: CompareRequest, points: Sequence[Point]) -> dict[str, Any]:
    ordered = sorted(points, key=lambda point: point.quality)
    return {"bisect_samples": [_sample(request, point) for point in ordered]}


def _curve(contender: _Contender) -> list[Point]:
    return [contender.points[quality] for quality in sorted(contender.points)]


def _ranked(rows: list[dict[str, Any]], about: dict[str, Any]) -> list[dict[str, Any]]:
    """Rows that succeeded by target, then by bitrate; failures last. Those of a sweep keep their order."""
    good = [row for row in rows if row["ok"]]
    if "mode" not in about:
        order = {target: number for number, target in enumerate(about.get("target_vmafs", ()))}
        good.sort(key=lambda row: (order.get(row["target_vmaf"], 0), row["bitrate_kbps"]))
    return [*good, *(row for row in rows if not row["ok"])]


def _savings(request: CompareRequest, contenders: Sequence[_Contender]) -> list[dict[str, Any]]:
    """The BD-rate of each encoder against the first, or why there is none."""
    usable = [contender for contender in contenders if contender.encoder is not None]
    found = []
    for contender in usable[1:]:
        first, other = (
            [(point.bitrate_kbps, _score(request, point)) for point in _curve(each)]
            for each in (usable[0], contender)
        )
        result, reason = compare_curves(first, other), None
        if result.reason is not None:
            reason = result.reason.replace("the first curve", usable[0].name)
            reason = reason.replace("the other curve", contender.name)
        found.append(
            {
                "codec": contender.name,
                "against": usable[0].name,
                "percent": None if result.percent is None else round(result.percent, 3),
                "reason": reason,
            }
        )
    return found


def _notes(request: CompareRequest, source: Material, contenders: Sequence[_Contender]) -> list[str]:
    """Notes on the source and its sample, and those of the searches and points."""
    said = part_notes(source.whole)
    for contender in contenders:
        said += contender.notes
        for point in _curve(contender):
            said += point.notes
        if contender.points and source.sample is not None:
            row = next((row for row in contender.rows if row["ok"]), None)
            if row is not None:
                sampled = source.notes(contender.points[row["best_crf"]], request.target_at(0))
                said += [f"{contender.name}: {note}" for note in sampled if note not in said]
    return list(dict.fromkeys(said))
