"""Carries out tuning requests: each kind with the document that it answers with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, cast

from acuity.devices import open_backend
from acuity.tune.encoders import find_encoder
from acuity.tune.encoders.encoding import end_idle_processes
from acuity.tune.encoders.output import check_video_file
from acuity.tune.ladder.ladder import build_ladder
from acuity.tune.ladder.package import check_folder, check_rate, package_ladder
from acuity.tune.ladder.playlists import dash, hls_multivariant
from acuity.tune.ladder.rungs import RungChoice
from acuity.tune.material import material
from acuity.tune.points.point import Cache, default_path
from acuity.tune.points.workbench import Workbench
from acuity.tune.progress import Listener
from acuity.tune.request import CompareRequest, LadderRequest, PerShotRequest, SearchRequest, TuneRequest
from acuity.tune.search.compare import compare
from acuity.tune.search.search_run import search_document
from acuity.tune.shots.detect import THRESHOLD, Detection
from acuity.tune.shots.per_shot import plan_per_shot
from acuity.tune.shots.plan import Division, check_script, shell_script
from acuity.tune.shots.stitch import encode_shots
from acuity.tune.values import qualities, scores, sizes

Document = dict[str, Any]


def run(request: TuneRequest, *, listener: Listener | None = None) -> Document:
    """Carry out a request; the encodes that run are stopped at the end, come what may."""
    request.check()
    open_backend(request.backend, device=request.device)  # before the first encode: raises BackendError
    cache = Cache(None if request.no_cache else default_path())
    cores = 1 if request.no_parallel else None
    bench = Workbench(request.scoring(), cache=cache, listener=listener, cores=cores)
    try:
        return _command(request).answer(request, bench)
    finally:
        bench.stop()
        cache.close()
        end_idle_processes()  # or they stay, ended but not reaped, until the next run


def run_for_tool(request: TuneRequest, *, listener: Listener | None = None) -> Document:
    """Carry out a request; the document as a tool answers it."""
    return _command(request).brief(request, run(request, listener=listener))


def _per_shot(request: PerShotRequest, bench: Workbench) -> Document:
    clip = request.clip()
    if request.format == "shell":
        check_script(clip)
    encoder = request.stepped(find_encoder(request.encoder))
    if request.output is not None:
        check_video_file(request.output, clip, encoder, overwrite=request.overwrite)
    threshold = THRESHOLD if request.scene_threshold is None else request.scene_threshold
    least = max(1, round(request.min_shot_duration * clip.rate))
    plan = plan_per_shot(
        bench,
        clip,
        request.settings(encoder),
        target=request.the_target(),
        bitrate_kbps=request.target_bitrate,
        division=cast("Division", request.allocation),
        detection=Detection(threshold, least, request.max_shot_duration),
        quality_range=request.quality_range(encoder),
        max_encodes=request.max_iterations,
    )
    if request.output is not None:
        plan = encode_shots(plan, request.output, overwrite=request.overwrite)
    found = plan.document()
    if request.format == "json":
        return found
    text = plan.csv() if request.format == "csv" else shell_script(plan)
    said_in_text = ("shots", "segment_commands", "concat_command")
    rest = {name: value for name, value in found.items() if name not in said_in_text}
    return {"format": request.format, "plan": text, **rest}


def _ladder(request: LadderRequest, bench: Workbench) -> Document:
    """Build a ladder, and write its renditions if asked to; `playlist` is its text as HLS or DASH."""
    if request.encode is not None:
        check_folder(request.encode)
    source = material(request, bench)
    encoder = request.stepped(find_encoder(request.encoder))
    if request.encode is not None:
        check_rate(source.whole)
    ladder = build_ladder(
        bench,
        source.clip,
        request.settings(encoder),
        sizes(request.resolutions),
        RungChoice(scores(request.target_vmafs), request.quality_tiers, request.spacing, request.min_step),
        crf_sweep=None if request.crf_sweep is None else qualities(request.crf_sweep),
        quality_range=request.quality_range(encoder),
        segment_seconds=request.segment,
        pool=request.pool,
    )
    found = ladder.document()
    top = ladder.renditions[-1].point
    assert top is not None  # a rendition was measured
    found["notes"] = [*source.notes(top, request.target_at(0)), *found["notes"]]
    found["range"] = source.range(top)
    found["sampling"] = source.document(top, request.target_at(0))
    if request.encode is not None:
        made = package_ladder(bench, ladder, request.encode, clip=source.whole, pool=request.pool)
        found["package"] = made.document()
        found["notes"] += made.notes
    if request.format != "json":
        found["playlist"] = {"hls": hls_multivariant, "dash": dash}[request.format](ladder.variants)
    return found


def _as_manifest(request: LadderRequest, found: Document) -> Document:
    """The ladder as the tool answers it."""
    if "playlist" not in found:
        return {"manifest": found, "format": request.format}
    beside = ("ok", "error", "range", "sampling", "notes")
    return {"manifest": found["playlist"], "format": request.format, **{name: found[name] for name in beside}}


def _brief_rows(_: CompareRequest, found: Document) -> Document:
    """The comparison as the tool answers it: the samples are in `curves` alone, because answers are short."""
    rows = [{name: row[name] for name in row if name != "bisect_samples"} for row in found["rows"]]
    return {**found, "rows": rows}


class Command(NamedTuple):
    """A command by its request: what it answers, in short for the tool, and whether that is a success."""

    request: type[TuneRequest]
    answer: Callable[[Any, Workbench], Document]
    brief: Callable[[Any, Document], Document] = lambda _, found: found
    succeeded: Callable[[Document], bool] = lambda found: bool(found["ok"])


COMMANDS: Final[Mapping[str, Command]] = {
    "search": Command(SearchRequest, search_document),
    "compare": Command(
        CompareRequest, compare, _brief_rows, lambda found: any(row["ok"] for row in found["rows"])
    ),
    "ladder": Command(LadderRequest, _ladder, _as_manifest),
    "tune-per-shot": Command(PerShotRequest, _per_shot, succeeded=lambda found: bool(found["met"])),
}


def _command(request: TuneRequest) -> Command:
    return next(command for command in COMMANDS.values() if command.request is type(request))
