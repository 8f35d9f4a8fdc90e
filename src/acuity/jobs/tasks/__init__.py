"""The table of tasks that workers can run. Each is imported on first use."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from longwire.work import Progress

Report: TypeAlias = Callable[[Progress], None]
TaskFunction: TypeAlias = Callable[[dict[str, Any], Report], dict[str, Any]]

TASKS: Final[Mapping[str, str]] = {
    "score": "acuity.jobs.tasks.score:run",
    "compare": "acuity.jobs.tasks.compare:run",
    "benchmark": "acuity.jobs.tasks.benchmark:run",
    "probe": "acuity.jobs.tasks.benchmark:probe",
    "cards": "acuity.jobs.tasks.benchmark:list_cards",
    "external": "acuity.jobs.tasks.external:run",
    "tune": "acuity.jobs.tasks.tune:run",
    "worst": "acuity.jobs.tasks.worst:run",
    "evaluate": "acuity.jobs.tasks.evaluate:run",
}

# The modules for scoring. A worker imports them before its first job, so that no caller waits for that.
WARM: Final = (
    "acuity._native",
    "acuity.jobs.tasks.score",
    "acuity.models",
    "acuity.report.writers",
    "acuity.scoring.run",
    "acuity.video.readers.container",
)


def load_task(name: str, table: Mapping[str, str]) -> TaskFunction:
    """The function of that task; KeyError if the table doesn't have it."""
    module, _, function = table[name].partition(":")
    task: TaskFunction = getattr(importlib.import_module(module), function)
    return task
