"""EmbeddedConfig: the sizes and limits that a host can set for the server inside its process; its folders."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

from acuity.access.paths import AllowedPaths
from acuity.agents.settings import allowed_folders
from acuity.agents.standalone.acuity_product import ACUITY
from acuity.errors import EmbeddedError, SettingsError
from acuity.scoring.watched import WatchedRun
from acuity.text import quoted
from longwire.errors import LongwireError
from longwire.guard.tokens import Tokens, parse_tokens
from longwire.settings import Settings, WireLimits

NAME: Final = "acuity-embedded"
_DEFAULTS: Final = {"queue_depth": 64, "max_drain_per_frame": 4}  # what 0 stands for
_RANGES: Final = {
    "queue_depth": (2, 65536),  # as the native ring has it
    "max_drain_per_frame": (1, 64),
    "line_limit": (256, 64 << 20),  # bytes; less holds no request worth the name
    **dict.fromkeys(("connections", "calls", "calls_each"), (1, 1 << 20)),
}
_EXTEND: Final = "pass its folder in paths= of EmbeddedServer"  # what hosts do about a path that is refused
STEERED: Final = "another server steers this measurement already: stop that one first"
LONGEST_LEASE: Final = 86400.0  # seconds
# The tools, which are loaded too late to check the names that a host gives.
READING_TOOLS: Final = (
    *("vmaf.status", "vmaf.features", "vmaf.score", "vmaf.curve", "vmaf.worst_frames", "vmaf.watch"),
    *("vmaf.report", "compute_vmaf", "list_features", "list_models", "describe_model"),
)
STEERING_TOOLS: Final = (
    *("vmaf.request_model_swap", "vmaf.pause", "vmaf.resume", "vmaf.stop_after", "vmaf.stop"),
    "vmaf.set_subsample",
)


@dataclass(frozen=True, slots=True)
class EmbeddedConfig:
    """Sizes and limits; raises EmbeddedError for what can't work."""

    queue_depth: int = 64  # commands under way: a power of two; 0 is 64
    max_drain_per_frame: int = 4  # commands carried out at one frame boundary; 0 is 4
    user_agent: str | None = None  # what the server calls itself
    line_limit: int = 65536  # bytes of one message
    connections: int = 64  # clients of one transport at once
    calls: int = 1024  # requests in flight, all clients together
    calls_each: int = 256  # requests in flight of one client
    write_timeout: float = 30.0  # seconds that a client may leave its answers unread
    command_timeout: float = 5.0  # seconds without a frame boundary until a command is taken back
    linger: float = 5.0  # seconds for telling connected clients of the end
    # What HTTP clients have to send: a token, or lines of NAME TOKEN.
    token: str | Tokens | None = field(default=None, repr=False)
    max_lease: float = LONGEST_LEASE  # seconds that a client may pause before it has to ask again
    tools: Collection[str] | None = None  # names and patterns of those that clients have; None: all
    read_only: bool = False  # whether clients have no tool that steers

    def __post_init__(self) -> None:
        for name, default in _DEFAULTS.items():
            if getattr(self, name) == 0:
                object.__setattr__(self, name, default)
        for name, (least, most) in _RANGES.items():
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool):
                raise EmbeddedError(f"{name} {value!r} is no whole number: pass one")
            if not least <= value <= most:
                raise EmbeddedError(f"{name} {value} must be {least} to {most}")
        if self.queue_depth & (self.queue_depth - 1):
            raise EmbeddedError(f"queue_depth {self.queue_depth} must be a power of two")
        for name in ("write_timeout", "command_timeout"):
            check_seconds(name, getattr(self, name), positive=True)
        check_seconds("linger", self.linger)
        if not 1 <= check_seconds("max_lease", self.max_lease) <= LONGEST_LEASE:
            raise EmbeddedError(f"max_lease {self.max_lease} must be 1 to {LONGEST_LEASE:g} seconds")
        self._check_tools()
        if isinstance(self.token, str):
            try:
                object.__setattr__(self, "token", parse_tokens(self.token, "the configuration"))
            except LongwireError as error:
                raise EmbeddedError(str(error)) from None
        elif not isinstance(self.token, Tokens | None):
            raise EmbeddedError("the token must be text: pass a string of 16 characters or more")
        agent: Any = self.user_agent
        if agent is not None and not (isinstance(agent, str) and agent.strip() and agent.isprintable()):
            raise EmbeddedError(f"user_agent {agent!r} must be a word or two that can be printed")

    def _check_tools(self) -> None:
        if not isinstance(self.read_only, bool):
            raise EmbeddedError(f"read_only {self.read_only!r} must be True or False")
        patterns: Any = self.tools
        if patterns is None:
            return
        if isinstance(patterns, str) or not isinstance(patterns, Collection):
            raise EmbeddedError(f"tools {patterns!r} must be a list: write tools=['vmaf.status', …]")
        for pattern in patterns:
            known = (*READING_TOOLS, *STEERING_TOOLS)
            if not isinstance(pattern, str) or not any(fnmatchcase(name, pattern) for name in known):
                raise EmbeddedError(f"tools has {pattern!r}, which is no tool: there are {', '.join(known)}")
        object.__setattr__(self, "tools", tuple(patterns))

    def offers(self, tool: str) -> bool:
        """Whether clients have this tool."""
        if self.read_only and tool not in READING_TOOLS:
            return False
        return self.tools is None or any(fnmatchcase(tool, pattern) for pattern in self.tools)

    @property
    def name(self) -> str:
        return self.user_agent or NAME

    @property
    def tokens(self) -> Tokens:
        """The tokens that HTTP clients may send; none where every user of this machine may connect."""
        assert not isinstance(self.token, str)
        return self.token or Tokens()

    def wire_limits(self) -> WireLimits:
        """The limits that the transports keep to."""
        return WireLimits(
            max_message=self.line_limit,
            max_connections=self.connections,
            max_in_flight=self.calls_each,
            write_timeout=self.write_timeout,
            keep_alive=self.max_lease,  # a client that pauses and says nothing is still there
        )

    def settings(self) -> Settings:
        """The limits on requests in flight, as CallLimits takes them."""
        return Settings(calls=self.calls, calls_each=self.calls_each, rate=None)


def check_seconds(name: str, value: Any, *, positive: bool = False) -> float:
    """A number of seconds that a host gave; raises EmbeddedError for anything else."""
    fits = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < float("inf")
    if not fits or (positive and not value):
        least = "above 0" if positive else "0 or more"
        raise EmbeddedError(f"{name} {value!r} must be a number of seconds {least}")
    return float(value)


def check_kinds(measurement: Any, config: Any, total: Any, watched: Any) -> None:
    """Refuse arguments that would fail later, while an agent is served."""
    from acuity.measure import Measurement

    if not isinstance(measurement, Measurement):
        raise EmbeddedError(f"{measurement!r} is no Measurement: make one, and add a model to it")
    if measurement.boundary.waiter is not None:
        raise EmbeddedError(STEERED)
    if not isinstance(config, EmbeddedConfig | None):
        raise EmbeddedError(f"config={config!r} is no EmbeddedConfig: write EmbeddedConfig(queue_depth=64)")
    if total is not None and (not isinstance(total, int) or total < 0):
        raise EmbeddedError(f"total={total!r} is no number of frames: pass a whole number, or None")
    if not isinstance(watched, WatchedRun | None):
        raise EmbeddedError(f"watched={watched!r} is no WatchedRun: pass total= for the number of frames")


def check_port(port: int) -> None:
    if not isinstance(port, int) or isinstance(port, bool) or not 0 <= port <= 65535:
        raise EmbeddedError(f"{port!r} is no port: pass 0 to 65535, 0 for any that is free")


def check_url_path(path: object) -> None:
    """Refuse what is no path of a URL, and paths that are taken."""
    if (
        not isinstance(path, str)
        or not path.startswith("/")
        or not path.isascii()
        or not path.isprintable()
        or set(path) & set(" ?#{}")
        or "//" in path
        or {".", ".."} & set(path.split("/"))  # clients would ask for another path
    ):
        raise EmbeddedError(f"{quoted(str(path))} is no path of a URL: write it as in /mcp/sse")
    if path == "/" or path.endswith("/request"):
        raise EmbeddedError(f"the path '{path}' is taken already: write another, as /mcp/sse")


def given_paths(paths: Any) -> AllowedPaths | None:
    """The folders that a host names, which have to exist; None: the default ones."""
    if isinstance(paths, AllowedPaths | None):
        return paths
    if isinstance(paths, str | bytes | os.PathLike) or not isinstance(paths, Sequence):
        raise EmbeddedError(f"paths={paths!r} is no list of folders: write paths=['/data/videos']")
    for folder in paths:
        if not isinstance(folder, str | os.PathLike) or not os.path.isdir(folder):
            raise EmbeddedError(f"paths has {folder!r}, which is no folder: name those that hold videos")
    try:
        # The data folder has the jobs of another server's clients.
        private = [Path(os.path.realpath(ACUITY.data_folder()))]
        return AllowedPaths([Path(folder) for folder in paths], private=private, extend_by=_EXTEND)
    except SettingsError as error:
        raise EmbeddedError(f"paths: {error}") from None


def default_paths() -> AllowedPaths:
    return AllowedPaths.configured(
        ACUITY.data_folder(), allowed_folders(), extend_by=f"set VMAF_MCP_ALLOW, or {_EXTEND},"
    )
