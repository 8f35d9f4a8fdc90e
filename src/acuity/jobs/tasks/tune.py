"""The task that tunes encodes: a search, a comparison, a ladder or a plan by shot."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from longwire.work import Progress

if TYPE_CHECKING:
    from acuity.tune import progress as tuning
    from acuity.tune.request import TuneRequest


def tune_payload(command: str, request: TuneRequest) -> dict[str, Any]:
    return {"command": command, "request": request.to_document()}


def run(payload: dict[str, Any], report: Callable[[Progress], None]) -> dict[str, Any]:
    """Carry out the command, and return its document."""
    from acuity.tune.run import COMMANDS, run_for_tool

    request = COMMANDS[payload["command"]].request.from_document(payload["request"])

    def tell(found: tuning.Progress) -> None:
        share = found.frames / found.total if found.total else 0.0
        done = found.encodes_done + min(share, 0.99)
        planned = found.encodes_planned
        total = None if planned is None or planned < done else float(planned)
        report(Progress(done, total, found.line(), found.details()))

    return run_for_tool(request, listener=tell)
