"""Carries out tuning requests: each command by its name, with the document that it answers with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from acuity.devices import open_backend
from acuity.tune.points.workbench import Workbench
from acuity.tune.progress import Listener
from acuity.tune.request import CompareRequest, LadderRequest, PerShotRequest, SearchRequest, TuneRequest
from acuity.tune.values import qualities, scores, sizes

if TYPE_CHECKING:
    from acuity.tune.clip import Clip
    from acuity.tune.shots.detect import Detection
    from acuity.tune.shots.plan import Division

Document = dict[str, Any]
_DIVISIONS: Final[Mapping[str, Division]] = {"each": "each", "mean": "mean"}


@contextmanager
def workbench(request: TuneRequest, listener: Listener | None) -> Iterator[Workbench]:
    """The workbench for a request; the encodes that run are stopped at the end, come what may."""
    from acuity.tune.encoders.encoding import end_idle_processes
    from acuity.tune.points.cache import Cache, default_path

    request.check()
    open_backend(request.backend, device=request.device)  # before the first encode: raises BackendError
    cache = Cache(None if request.no_cache else default_path())
    bench = Workbench(
        request.scoring(), cache=cache, listener=listener, cores=1 if request.no_parallel else None
    )
    try:
        yield bench
    finally:
        bench.stop()
        cache.close()
        end_idle_processes()  # or they stay, ended but not reaped, until the next run


def run_search(request: SearchRequest, *, listener: Listener | None = None) -> Document:
    """Find the cheapest encode that reaches the target, and make the final file if asked to."""
    from acuity.tune.search.search_run import search_document

    with workbench(request, listener) as bench:
        return search_document(request, bench)


def run_compare(request: CompareRequest, *, listener: Listener | None = None) -> Document:
    """Compare encoders."""
    from acuity.tune.search.compare import compare

    with workbench(request, listener) as bench:
        return compare(request, bench)


def _detection(request: PerShotRequest, clip: Clip) -> Detection:
    """How shots are found."""
    from acuity.tune.shots.detect import THRESHOLD, Detection

    threshold = THRESHOLD if request.scene_threshold is None else request.scene_threshold
    return Detection(
        threshold, max(1, round(request.min_shot_duration * clip.rate)), request.max_shot_duration
    )


def run_per_shot(request: PerShotRequest, *, listener: Listener | None = None) -> Document:
    """Choose the quality of each shot, and make the stitched video if asked to."""
    from acuity.tune.encoders import find_encoder
    from acuity.tune.encoders.output import check_video_file
    from acuity.tune.shots.per_shot import plan_per_shot
    from acuity.tune.shots.plan import check_script, shell_script
    from acuity.tune.shots.stitch import encode_shots

    with workbench(request, listener) as bench:
        clip = request.clip()
        if request.format == "shell":
            check_script(clip)
        encoder = request.stepped(find_encoder(request.encoder))
        if request.output is not None:
            check_video_file(request.output, clip, encoder, overwrite=request.overwrite)
        budget = request.target_bitrate
        plan = plan_per_shot(
            bench,
            clip,
            request.settings(encoder),
            target=request.the_target(),
            bitrate_kbps=budget,
            division=None if budget else _DIVISIONS[request.allocation],
            detection=_detection(request, clip),
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


def run_ladder(request: LadderRequest, *, listener: Listener | None = None) -> Document:
    """Build a ladder, and write its renditions if asked to; `playlist` is its text as HLS or DASH."""
    from acuity.tune.encoders import find_encoder
    from acuity.tune.ladder.ladder import build_ladder
    from acuity.tune.ladder.package import check_folder, check_rate, package_ladder
    from acuity.tune.material import material

    targets, wanted = scores(request.target_vmafs), sizes(request.resolutions)
    sweep = None if request.crf_sweep is None else qualities(request.crf_sweep)
    if request.encode is not None:
        check_folder(request.encode)
    with workbench(request, listener) as bench:
        source = material(request, bench)
        encoder = request.stepped(find_encoder(request.encoder))
        if request.encode is not None:
            check_rate(source.whole)
        ladder = build_ladder(
            bench,
            source.clip,
            request.settings(encoder),
            wanted,
            targets,
            quality_tiers=request.quality_tiers,
            spacing=request.spacing,
            min_step=request.min_step,
            crf_sweep=sweep,
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
            found["playlist"] = ladder.hls() if request.format == "hls" else ladder.dash()
        return found


def _as_manifest(request: LadderRequest, *, listener: Listener | None = None) -> Document:
    """The ladder as the tool answers it."""
    found = run_ladder(request, listener=listener)
    if "playlist" not in found:
        return {"manifest": found, "format": request.format}
    beside = ("ok", "error", "range", "sampling", "notes")
    return {"manifest": found["playlist"], "format": request.format, **{name: found[name] for name in beside}}


def _brief_rows(request: CompareRequest, *, listener: Listener | None = None) -> Document:
    """The comparison as the tool answers it: the samples are in `curves` alone, because answers are short."""
    found = run_compare(request, listener=listener)
    rows = [{name: row[name] for name in row if name != "bisect_samples"} for row in found["rows"]]
    return {**found, "rows": rows}


class Command(NamedTuple):
    """A command by its request: what the command line answers, and what the tool answers."""

    request: type[TuneRequest]
    run: Callable[..., Document]
    tool: Callable[..., Document]
    succeeded: Callable[[Document], bool] = lambda document: bool(document["ok"])  # what a document says


COMMANDS: Final[Mapping[str, Command]] = {
    "search": Command(SearchRequest, run_search, run_search),
    "compare": Command(
        CompareRequest, run_compare, _brief_rows, lambda found: any(row["ok"] for row in found["rows"])
    ),
    "ladder": Command(LadderRequest, run_ladder, _as_manifest),
    "tune-per-shot": Command(PerShotRequest, run_per_shot, run_per_shot, lambda found: bool(found["met"])),
}
