"""The work that workers can do: a table of tasks, imported when first asked for."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from acuity.jobs.job import Progress

Report: TypeAlias = Callable[[Progress], None]
TaskFunction: TypeAlias = Callable[[dict[str, Any], Report], dict[str, Any]]

TASKS: Final[Mapping[str, str]] = {
    "score": "acuity.jobs.tasks.score:run",
    "benchmark": "acuity.jobs.tasks.benchmark:run",
    "probe": "acuity.jobs.tasks.probe:run",
    "external": "acuity.jobs.tasks.external:run",
}

# What scoring needs; a worker imports them before its first job, so that no caller waits for it.
WARM: Final = (
    "acuity._native",
    "acuity.jobs.tasks.score",
    "acuity.models",
    "acuity.report",
    "acuity.scoring.run",
    "acuity.video.readers.container",
)


def load_task(name: str, table: Mapping[str, str]) -> TaskFunction:
    """The function of that name; KeyError for one that the table doesn't have."""
    module, _, function = table[name].partition(":")
    task: TaskFunction = getattr(importlib.import_module(module), function)
    return task
