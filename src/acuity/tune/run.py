"""Carries out tuning requests: each command by its name, with the document that it answers with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from acuity.tune.progress import Listener
from acuity.tune.request import (
    DEFAULT_TARGET,
    CompareRequest,
    LadderRequest,
    PerShotRequest,
    SearchRequest,
    TuneRequest,
)
from acuity.tune.workbench import Workbench

Document = dict[str, Any]


@contextmanager
def workbench(request: TuneRequest, listener: Listener | None) -> Iterator[Workbench]:
    """The workbench for a request; the encodes that run are stopped at the end, come what may."""
    from acuity.tune.cache import Cache, default_path

    cache = Cache(None if request.no_cache else default_path())
    bench = Workbench(
        request.scoring(), cache=cache, listener=listener, cores=1 if request.no_parallel else None
    )
    try:
        yield bench
    finally:
        bench.stop()
        cache.close()


def run_search(request: SearchRequest, *, listener: Listener | None = None) -> Document:
    """Find the cheapest encode that reaches the target, and make the final file if asked to."""
    from acuity.tune.search_run import search_document

    with workbench(request, listener) as bench:
        return search_document(request, bench)


def run_compare(request: CompareRequest, *, listener: Listener | None = None) -> Document:
    """Compare encoders."""
    from acuity.tune.compare import compare

    with workbench(request, listener) as bench:
        return compare(request, bench)


def run_per_shot(request: PerShotRequest, *, listener: Listener | None = None) -> Document:
    """Choose the quality of each shot, and make the stitched video if asked to."""
    from acuity.tune.encoders import find_encoder
    from acuity.tune.shots.commands import shell_script
    from acuity.tune.shots.detect import Detection
    from acuity.tune.shots.per_shot import plan_per_shot
    from acuity.tune.shots.stitch import encode_shots

    with workbench(request, listener) as bench:
        clip = request.clip()
        encoder = find_encoder(request.encoder)
        budget = request.target_bitrate
        plan = plan_per_shot(
            bench,
            clip,
            request.settings(encoder),
            target=None if budget else request.target_at(request.target_vmaf or DEFAULT_TARGET),
            bitrate_kbps=budget,
            division=None if budget else request.allocation,
            detection=Detection(),
            quality_range=request.quality_range(encoder),
            max_encodes=request.max_iterations,
        )
        if request.output is not None:
            plan = encode_shots(plan, request.output)
    found = plan.document()
    if request.format != "json":
        found = {
            "format": request.format,
            "plan": plan.csv() if request.format == "csv" else shell_script(plan),
            **found,
        }
    return found
