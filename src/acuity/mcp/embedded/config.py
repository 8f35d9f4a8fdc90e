"""EmbeddedConfig: the sizes and limits that a host can set for the server inside its process."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from acuity.errors import EmbeddedError, SettingsError
from acuity.mcp.settings import Settings, WireLimits
from acuity.mcp.wire.guard.tokens import Tokens, parse_tokens

NAME: Final = "acuity-embedded"
_MAX_DEPTH: Final = 65536  # as the native ring has it
_MAX_DRAINED: Final = 64
_DEFAULTS: Final = {"queue_depth": 64, "max_drain_per_frame": 4}  # what 0 stands for
_MIN_LINE: Final = 256  # bytes; less holds no request worth the name
_MAX_LINE: Final = 64 << 20


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
    linger: float = 5.0  # seconds that the end may take to be told, if clients are connected
    # What HTTP clients have to send: a token, or lines of NAME TOKEN.
    token: str | Tokens | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for name in (
            "queue_depth",
            "max_drain_per_frame",
            "line_limit",
            "connections",
            "calls",
            "calls_each",
        ):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool):
                raise EmbeddedError(f"{name} {value!r} is no whole number: pass one")
        for name, default in _DEFAULTS.items():
            if getattr(self, name) == 0:
                object.__setattr__(self, name, default)
        depth = self.queue_depth
        if not 2 <= depth <= _MAX_DEPTH or depth & (depth - 1):
            raise EmbeddedError(f"queue_depth {depth} must be a power of two from 2 to {_MAX_DEPTH}")
        _check_range("max_drain_per_frame", self.max_drain_per_frame, 1, _MAX_DRAINED)
        _check_range("line_limit", self.line_limit, _MIN_LINE, _MAX_LINE)
        for name in ("connections", "calls", "calls_each"):
            _check_range(name, getattr(self, name), 1, 1 << 20)
        for name in ("write_timeout", "command_timeout"):
            if not 0 < getattr(self, name) < float("inf"):
                raise EmbeddedError(f"{name} {getattr(self, name)} must be a number of seconds above 0")
        if not 0 <= self.linger < float("inf"):
            raise EmbeddedError(f"linger {self.linger} must be a number of seconds, 0 or more")
        if isinstance(self.token, str):
            try:
                object.__setattr__(self, "token", parse_tokens(self.token, "the configuration"))
            except SettingsError as error:
                raise EmbeddedError(str(error)) from None
        if self.user_agent is not None and not (self.user_agent.strip() and self.user_agent.isprintable()):
            raise EmbeddedError(f"user_agent {self.user_agent!r} must be a word or two that can be printed")

    @property
    def name(self) -> str:
        """The name that the server tells its clients."""
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
        )

    def settings(self) -> Settings:
        """The limits on requests in flight, as CallLimits takes them."""
        return Settings(calls=self.calls, calls_each=self.calls_each)


def _check_range(name: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise EmbeddedError(f"{name} {value} must be {least} to {most}")
