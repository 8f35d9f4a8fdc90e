"""Settings of the server with their defaults; operators set them by option or environment variable."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from acuity.errors import SettingsError
from acuity.mcp.rates import Rate


def data_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """The folder for jobs and reports: ACUITY_DATA, or one in the user's home."""
    if named := environ.get("ACUITY_DATA"):
        return Path(named).absolute()
    home = environ.get("XDG_DATA_HOME") or os.path.join(os.path.expanduser("~"), ".local", "share")
    return Path(home) / "acuity"


# What becomes of a request to a client that can't answer it: sent with a warning in the log, left out, refused.
CapabilityPolicy: TypeAlias = Literal["warn", "drop", "error"]


@dataclass(frozen=True, slots=True)
class WireLimits:
    """Limits that every transport keeps to, in any server. Each has a reason to be finite."""

    max_message: int = 65536  # bytes
    max_connections: int = 256  # clients of one endpoint: connections, event streams or sessions
    max_connections_each: int | None = None  # of one address or token; None: as many as there may be
    max_in_flight: int = 64  # unanswered requests of one connection; more are read when some are answered
    max_events: int = 256  # messages that wait for the reader of an event stream
    read_timeout: float = 30.0  # seconds for a message that has begun to arrive
    write_timeout: float = 30.0  # seconds that a client may leave its answers unread
    heartbeat: float = 15.0  # seconds between signs of life on a silent event stream
    idle_timeout: float = 1800.0  # seconds until a session that nobody uses is forgotten
    max_sessions: int = 256
    max_sessions_each: int = 256  # of one principal
    max_pending: int = 256  # messages that wait for a session's client
    max_pending_bytes: int = 4 << 20
    head_timeout: float = 5.0  # seconds for the head of a request
    max_headers: int = 100
    max_header_line: int = 16 << 10  # bytes
    max_head: int = 64 << 10  # bytes of all header lines together
    client_timeout: float = 300.0  # seconds that a client may take to answer a request of the server
    capability_policy: CapabilityPolicy = "error"  # for clients that didn't declare the capability
    linger: float = float("inf")  # seconds that calls may take after the end of a client's input


@dataclass(frozen=True, slots=True)
class Settings:
    """Limits and folders of the server."""

    data: Path = field(default_factory=data_folder)
    allow: tuple[str, ...] = ()  # further roots, from VMAF_MCP_ALLOW
    binary: str | None = None  # an external vmaf, from VMAF_BIN
    bench_output: str | None = None  # a folder for the rows of benchmarks, from VMAF_BENCH_OUTDIR
    vlm_model: str | None = None  # the folder of a model that describes pictures, from VMAF_MCP_VLM_MODEL
    vlm_seconds: float = 120.0  # that it may take for the pictures of one call
    workers: int = 2  # scores at once
    queue: int = 64  # jobs that may wait
    time_limit: float = 600.0  # seconds a job may run
    grace: float = 5.0  # seconds that work may continue after SIGTERM
    calls: int = 256  # requests in flight, all clients together
    calls_each: int = 64  # requests in flight of one client
    rate: Rate | None = None  # requests of one principal; a token may have a rate of its own
    tool_rates: Mapping[str, Rate] = field(default_factory=dict)  # of calls, by a tool's name or a pattern
    streams: int = 256  # open subscriptions, all clients together
    streams_each: int = 64  # subscriptions of one address or token
    body: int = 4 << 20  # bytes of one message
    connections: int = 256  # clients of one endpoint: connections or sessions
    connections_each: int = 64  # sessions or event streams of one address or token
    idle_timeout: float = 1800.0  # seconds until an unused session ends
    write_timeout: float = 30.0  # seconds that a client may leave its answers unread
    kept: int = 500  # finished jobs that are stored

    def wire_limits(self) -> WireLimits:
        """The part of the limits that the transports keep to."""
        return WireLimits(
            max_message=self.body,
            max_connections=self.connections,
            max_connections_each=self.connections_each,
            # Those that run, and as many that are being refused: more means that answers aren't read.
            max_in_flight=2 * self.calls_each,
            max_events=1,  # answers may be large
            write_timeout=self.write_timeout,
            idle_timeout=self.idle_timeout,
            linger=0.5,  # enough for the quick calls; a client that has gone needs no others
        )

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] = os.environ) -> Settings:
        """Settings from environment variables; raises SettingsError."""
        return cls(
            data=data_folder(environ),
            allow=tuple(part for part in environ.get("VMAF_MCP_ALLOW", "").split(":") if part),
            binary=environ.get("VMAF_BIN") or None,
            bench_output=environ.get("VMAF_BENCH_OUTDIR") or None,
            vlm_model=environ.get("VMAF_MCP_VLM_MODEL") or None,
            vlm_seconds=float(_whole(environ, "VMAF_MCP_VLM_TIMEOUT_S", 120)),
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
