"""The connection to Redis or Valkey that all parts of a node share. Calls are bounded in time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol


class RedisLink(Protocol):
    """Commands, messages and the clock of one Redis server."""

    node: str  # this node's label

    @property
    def healthy(self) -> bool:
        """Whether the last command was answered."""
        ...

    def key(self, *parts: str) -> str:
        """A key in this cluster's own name space."""
        ...

    def now(self) -> float:
        """Redis's clock, in seconds since 1970: the one that all nodes share."""
        ...

    async def call(self, *command: str | bytes | int | float) -> Any:
        """The answer to a command; raises ClusterUnavailable."""
        ...

    async def script(
        self, source: str, keys: Sequence[str], arguments: Sequence[str | bytes | int | float]
    ) -> Any:
        """The answer of a Lua script; raises ClusterUnavailable."""
        ...

    def publish(self, channel: str, payload: bytes) -> None:
        """Send a message to the subscribers on all nodes, if Redis answers; nothing waits."""
        ...

    def subscribe(self, channel: str, callback: Callable[[bytes], None]) -> Callable[[], None]:
        """Have a function called for each message from then on, also after reconnecting; returns the undo."""
        ...
