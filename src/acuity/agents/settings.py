"""Acuity's own settings and keys of a server, beside the runtime's, and the variable for its own workers."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from acuity.jobs.config import default_memory
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


@dataclass(frozen=True, slots=True)
class AcuitySettings(Settings):
    """The settings of vmaf-mcp. Each field is a key, here or of the runtime."""

    allow: tuple[str, ...] = ()  # further folders that videos may be read from
    allow_write: tuple[str, ...] = ()  # and those that files may be written to
    output_bytes: int = 16 << 30  # bytes that each folder of allow_write may hold
    binary: str | None = None  # an external vmaf
    bench_output: str | None = None  # a folder for the rows of benchmarks
    vlm_model: str | None = None  # the folder of a model that describes pictures
    vlm_seconds: float = 120.0  # that it may take for the pictures of one call
    workers: int = field(default_factory=default_workers)  # scores at once
    queue: int = 64  # jobs that may wait
    queue_each: int | None = None  # of one client; None: three quarters of them
    running_each: int | None = None  # jobs of one client at once; None: all workers but one
    time_limit: float = 600.0  # seconds that a call may take
    submitted_limit: float = 21_600.0  # seconds that a submitted job may run
    memory: int = field(default_factory=default_memory)  # bytes of all workers together
    kept: int = 500  # finished jobs that are stored


_COUNT: Final = kinds.whole(most=1 << 24)
_MANY_BYTES: Final = kinds.whole(1 << 20, 1 << 60, "BYTES")
_SECONDS: Final = kinds.seconds()


def _key(name: str, kind: kinds.Kind, text: str, setting: str = "", group: str = WORK, **more: Any) -> Key:
    section = "limits" if group == LIMITS else "server"
    return Key(name, kind, text, section=section, group=group, setting=setting or name, **more)


def _limit(name: str, kind: kinds.Kind, text: str, setting: str, default: str = "") -> Key:
    return _key(name, kind, text, setting, LIMITS, default_text=default)


_WAITING: Final = "jobs of one client that may wait"
_RUNNING: Final = "jobs of one client that may run at once, beside a short one"
_ALL_BUT_ONE: Final = "all workers but one, at least 1; over stdio alone all"
_HELD: Final = "bytes that each folder of allow_write may hold, what is there already included"
_READ: Final = "a folder with videos to read, beside those of VMAF_MCP_ALLOW"
_WRITTEN: Final = "a folder that clients may also write new videos to"
_BINARY: Final = "an external vmaf that scores instead of Acuity's engine"
_SEEING: Final = "seconds that it may take for the pictures of one call"
_FOLDER: Final[dict[str, Any]] = {"group": ACCESS, "adds": True}

KEYS: Final[tuple[Key, ...]] = (
    _limit("max_waiting_jobs_per_client", _COUNT, _WAITING, "queue_each", "three quarters of `queue`"),
    _limit("max_running_jobs_per_client", _COUNT, _RUNNING, "running_each", _ALL_BUT_ONE),
    _limit("max_output_bytes", _MANY_BYTES, _HELD, "output_bytes"),
    _key("allow", kinds.FOLDERS, _READ, variable=ALLOW_VARIABLE, **_FOLDER),
    _key("allow_write", kinds.FOLDERS, _WRITTEN, variable=ALLOW_WRITE_VARIABLE, **_FOLDER),
    _key(
        *("workers", _COUNT, "scores at once, beside a short one"),
        variable="VMAF_MCP_MAX_CONCURRENT",
        default_text="a quarter of the cores, 2 to 8",
    ),
    _key("queue", _COUNT, "jobs that may wait"),
    _key("kept_jobs", _COUNT, "finished jobs that are remembered", "kept"),
    _key("time_limit", _SECONDS, "seconds that a call may take", variable="VMAF_MCP_SUBPROCESS_TIMEOUT_S"),
    _key("job_time_limit", _SECONDS, "seconds that a submitted job may run", "submitted_limit"),
    _key(
        *("memory", _MANY_BYTES, "bytes of memory for all workers together"),
        default_text="three quarters of the machine's",
    ),
    _key("vmaf_binary", kinds.PROGRAM, _BINARY, "binary", variable="VMAF_BIN"),
    _key(
        *("bench_output", kinds.PATH, "a folder for the rows of run_benchmark"),
        variable="VMAF_BENCH_OUTDIR",
        metavar="DIR",
    ),
    _key(
        *("vlm_model", kinds.PATH, "the folder of a model that describes pictures"),
        variable="VMAF_MCP_VLM_MODEL",
        metavar="DIR",
    ),
    _key("vlm_timeout_seconds", _SECONDS, _SEEING, "vlm_seconds", variable="VMAF_MCP_VLM_TIMEOUT_S"),
)


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
