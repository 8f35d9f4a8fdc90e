"""The tasks of probe_backend, whether a backend scores at all, and of list_backends, the graphics cards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from acuity.devices import describe_backend
from acuity.jobs.tasks.engines import Engine, ExternalEngine, GreyClip, OwnEngine
from longwire.work import Progress

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


def list_cards(payload: dict[str, Any], report: Callable[[Progress], None]) -> dict[str, Any]:
    """Describe all cards of a backend; one that doesn't work has its `problem`. `error`: there are none."""
    report(Progress(0, None, "looking for cards"))
    found = describe_backend(payload["backend"], probe=True)
    cards = [{"backend": found.name, **card} for card in found.cards]
    return {"cards": cards, "error": None if cards else found.init_status}
