"""Acuity's own settings and keys of a server, beside the runtime's, and the variable for its own workers."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from acuity.jobs.config import JobsConfig, default_memory
from longwire.config import kinds
from longwire.config.key import Key
from longwire.config.keys import ACCESS, LIMITS, WORK
from longwire.settings import Settings

if TYPE_CHECKING:
    from longwire.server.serve import ServeOptions

ALLOW_VARIABLE: Final = "VMAF_MCP_ALLOW"
ALLOW_WRITE_VARIABLE: Final = "VMAF_MCP_ALLOW_WRITE"


def allowed_folders(environ: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    return tuple(part for part in environ.get(ALLOW_VARIABLE, "").split(":") if part)


def default_workers() -> int:
    """Scores at once: each uses all cores, so a few are enough to keep them busy while files are opened."""
    return max(2, min(8, (os.cpu_count() or 2) // 4))


_COUNT: Final = kinds.whole(most=1 << 24)
_MANY_BYTES: Final = kinds.whole(1 << 20, 1 << 60, "BYTES")
_SECONDS: Final = kinds.seconds()


def _key(default: Any, name: str, kind: kinds.Kind, help: str, group: str = WORK, **more: Any) -> Any:
    """A field of the settings with its key."""
    key = Key(name, kind, help, "limits" if group == LIMITS else "server", group, **more)
    made: dict[str, Any] = {"default_factory" if callable(default) else "default": default}
    return field(**made, metadata={"key": key})


@dataclass(frozen=True, slots=True)
class AcuitySettings(Settings):
    """The settings of vmaf-mcp beside the runtime's. Each field has its key."""

    # fmt: off
    queue_each: int | None = _key(
        None, "max_waiting_jobs_per_client", _COUNT, "jobs of one client that may wait", LIMITS,
        default_text="three quarters of `queue`")
    running_each: int | None = _key(
        None, "max_running_jobs_per_client", _COUNT,
        "jobs of one client that may run at once, beside a short one", LIMITS,
        default_text="all workers but one, at least 1; over stdio alone all")
    output_bytes: int = _key(
        16 << 30, "max_output_bytes", _MANY_BYTES,
        "bytes that each folder of allow_write may hold, what is there already included", LIMITS)
    allow: tuple[str, ...] = _key(
        (), "allow", kinds.FOLDERS, "a folder with videos to read, beside those of VMAF_MCP_ALLOW", ACCESS,
        variable=ALLOW_VARIABLE, adds=True)
    allow_write: tuple[str, ...] = _key(
        (), "allow_write", kinds.FOLDERS, "a folder that clients may also write new videos to", ACCESS,
        variable=ALLOW_WRITE_VARIABLE, adds=True)
    workers: int = _key(
        default_workers, "workers", _COUNT, "scores at once, beside a short one",
        variable="VMAF_MCP_MAX_CONCURRENT", default_text="a quarter of the cores, 2 to 8")
    queue: int = _key(64, "queue", _COUNT, "jobs that may wait")
    kept: int = _key(500, "kept_jobs", _COUNT, "finished jobs that are remembered")
    time_limit: float = _key(
        600.0, "time_limit", _SECONDS, "seconds that a call may take",
        variable="VMAF_MCP_SUBPROCESS_TIMEOUT_S")
    submitted_limit: float = _key(
        21_600.0, "job_time_limit", _SECONDS, "seconds that a submitted job may run")
    memory: int = _key(
        default_memory, "memory", _MANY_BYTES, "bytes of memory for all workers together",
        default_text="three quarters of the machine's")
    binary: str | None = _key(
        None, "vmaf_binary", kinds.PROGRAM, "an external vmaf that scores instead of Acuity's engine",
        variable="VMAF_BIN")
    bench_output: str | None = _key(
        None, "bench_output", kinds.PATH, "a folder for the rows of run_benchmark",
        variable="VMAF_BENCH_OUTDIR", metavar="DIR")
    vlm_model: str | None = _key(
        None, "vlm_model", kinds.PATH, "the folder of a model that describes pictures",
        variable="VMAF_MCP_VLM_MODEL", metavar="DIR")
    vlm_seconds: float = _key(
        120.0, "vlm_timeout_seconds", _SECONDS, "seconds that it may take for the pictures of one call",
        variable="VMAF_MCP_VLM_TIMEOUT_S")
    # fmt: on


KEYS: Final = tuple(
    replace(one.metadata["key"], setting=one.name) for one in fields(AcuitySettings) if "key" in one.metadata
)


def jobs_config(settings: AcuitySettings, **more: Any) -> JobsConfig:
    """The configuration of the job service, by the settings of the same names."""
    names = [one.name for one in fields(JobsConfig) if hasattr(settings, one.name)]
    return JobsConfig(**{**{name: getattr(settings, name) for name in names}, **more})


SETTINGS_VARIABLE: Final = "ACUITY_WORKER_SETTINGS"
# The settings that matter to Acuity's own workers; all others are the runtime's.
_SENT: Final = (
    *AcuitySettings.__annotations__,
    *("data", "grace", "calls", "body", "client_timeout", "capability_policy"),
    *("cluster_redis", "cluster_node", "cluster_prefix"),
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
    return replace(AcuitySettings(), **told)
