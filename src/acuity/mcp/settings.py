"""Settings of the server with their defaults; operators set them by option or environment variable."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from acuity.errors import SettingsError


def data_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """The folder for jobs and reports: ACUITY_DATA, or one in the user's home."""
    if named := environ.get("ACUITY_DATA"):
        return Path(named).absolute()
    home = environ.get("XDG_DATA_HOME") or os.path.join(os.path.expanduser("~"), ".local", "share")
    return Path(home) / "acuity"


@dataclass(frozen=True, slots=True)
class Settings:
    """Limits and folders of the server."""

    data: Path = field(default_factory=data_folder)
    allow: tuple[str, ...] = ()  # further roots, from VMAF_MCP_ALLOW
    binary: str | None = None  # an external vmaf, from VMAF_BIN
    bench_output: str | None = None  # a folder for the rows of benchmarks, from VMAF_BENCH_OUTDIR
    workers: int = 2  # scores at once
    queue: int = 64  # jobs that may wait
    time_limit: float = 600.0  # seconds a job may run
    grace: float = 5.0  # seconds that work may continue after SIGTERM
    calls: int = 256  # requests in flight, all clients together
    calls_each: int = 64  # requests in flight of one client
    streams: int = 256  # open subscriptions, all clients together
    streams_each: int = 64  # subscriptions of one address or token
    body: int = 4 << 20  # bytes of one message
    connections: int = 256  # clients of one endpoint: connections or sessions
    connections_each: int = 64  # sessions or event streams of one address or token
    idle_timeout: float = 1800.0  # seconds until an unused session ends
    write_timeout: float = 30.0  # seconds that a client may leave its answers unread
    kept: int = 500  # finished jobs that are stored

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] = os.environ) -> Settings:
        """Settings from environment variables; raises SettingsError."""
        return cls(
            data=data_folder(environ),
            allow=tuple(part for part in environ.get("VMAF_MCP_ALLOW", "").split(":") if part),
            binary=environ.get("VMAF_BIN") or None,
            bench_output=environ.get("VMAF_BENCH_OUTDIR") or None,
            workers=_whole(environ, "VMAF_MCP_MAX_CONCURRENT", default_workers()),
            time_limit=float(_whole(environ, "VMAF_MCP_SUBPROCESS_TIMEOUT_S", 600)),
        )


def default_workers() -> int:
    """Scores at once: each uses all cores, so a few are enough to keep them busy while files are opened."""
    return max(2, min(8, (os.cpu_count() or 2) // 4))


def _whole(environ: Mapping[str, str], name: str, default: int) -> int:
    text = environ.get(name)
    if not text:
        return default
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise SettingsError(f"{name}='{text}' is no whole number of 1 or more: correct or unset it")
    return int(text)
