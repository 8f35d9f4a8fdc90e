"""The task of list_backends: the graphics cards of this machine, each with the answer of a kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from acuity.devices import describe_backend
from acuity.jobs.job import Progress


def run(payload: dict[str, Any], report: Callable[[Progress], None]) -> dict[str, Any]:
    """Describe all cards of a backend; one that doesn't work has its `problem`. `error`: there are none."""
    report(Progress(0, None, "looking for cards"))
    found = describe_backend(payload["backend"], probe=True)
    cards = [{"backend": found.name, **card} for card in found.cards]
    return {"cards": cards, "error": None if cards else found.init_status}
