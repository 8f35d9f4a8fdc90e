"""The task of probe_backend: whether a backend scores at all, and how long it takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from acuity.devices import describe_backend
from acuity.jobs.job import Progress
from acuity.jobs.tasks.engines import Engine, ExternalEngine, OwnEngine
from acuity.jobs.tasks.fixtures import GreyClip

# Large enough for every extractor on every backend: some need 36 samples and fail quietly with fewer.
SIZE: Final = 64


def run(payload: dict[str, Any], report: Callable[[Progress], None]) -> dict[str, Any]:
    """Score one mid-grey pair, with another vmaf if the payload has `binary` and `options`."""
    engine: Engine = OwnEngine(payload["backend"])
    if payload.get("binary") is not None:
        engine = ExternalEngine(payload["binary"], payload["backend"], tuple(payload["options"]))
    with engine.open(GreyClip(SIZE, SIZE, 1)) as score:
        done = score(lambda frames: report(Progress(frames, 1, f"probing {engine.backend}")))
    found = {"latency_ms": round(done.seconds * 1000, 3), "score": done.scores[0] if done.scores else None}
    cards = () if isinstance(engine, ExternalEngine) else describe_backend(engine.backend, probe=True).cards
    return {**found, "cards": list(cards)} if cards else found
