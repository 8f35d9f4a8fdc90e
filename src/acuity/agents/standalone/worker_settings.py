"""The settings of Acuity's own workers, which the server hands them in a variable."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any, Final

from acuity.agents.settings import AcuitySettings
from longwire.server.serve import ServeOptions

SETTINGS_VARIABLE: Final = "ACUITY_WORKER_SETTINGS"
# The settings that matter to Acuity's own workers; all others are the runtime's.
_SENT: Final = (
    "data",
    "allow",
    "allow_write",
    "output_bytes",
    "binary",
    "bench_output",
    "vlm_model",
    "vlm_seconds",
    "workers",
    "queue",
    "queue_each",
    "running_each",
    "time_limit",
    "submitted_limit",
    "memory",
    "grace",
    "kept",
    "calls",
    "body",
    "client_timeout",
    "capability_policy",
    "cluster_redis",
    "cluster_node",
    "cluster_prefix",
)


def worker_environment(options: ServeOptions, turns: Path) -> dict[str, str]:
    """The variable that has everything Acuity's own workers need to know."""
    told = {name: getattr(options.settings, name) for name in _SENT}
    document = {
        "settings": {name: str(value) if isinstance(value, Path) else value for name, value in told.items()},
        "turns": str(turns),
        "log_level": options.log_level,
        "log_format": options.log_format,
    }
    return {SETTINGS_VARIABLE: json.dumps(document)}


def settings_from(document: dict[str, Any]) -> AcuitySettings:
    """The settings of a worker, from that variable."""
    told = dict(document)
    told["data"] = Path(told["data"])
    told |= {name: tuple(told[name]) for name in ("allow", "allow_write")}
    return dataclasses.replace(AcuitySettings(), **told)
