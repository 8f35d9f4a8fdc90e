"""Dispatch: what runs the requests of clients, in this process or in workers."""

from __future__ import annotations

from typing import Any, Protocol

from mcp.server.connection import Connection
from mcp.shared.dispatcher import DispatchContext
from mcp.shared.transport_context import TransportContext

from longwire.dispatch.exchange import Exchange
from longwire.principals.principal import Holders


class Dispatch(Protocol):
    """Runs requests and notifications. Nothing here waits."""

    def request(
        self, exchange: Exchange, connection: Connection, method: str, params: dict[str, Any] | None
    ) -> None:
        """Run a request; its exchange is given the outcome, now or later."""
        ...

    def notification(
        self,
        context: DispatchContext[TransportContext],
        connection: Connection,
        method: str,
        params: dict[str, Any] | None,
    ) -> None:
        """Run a client's notification, which nobody waits for."""
        ...

    def end_gone(self, gone: Holders) -> None:
        """Cancel the requests of those who may no longer come."""
        ...

    def clean_up(self, connection: Connection) -> None:
        """Call what handlers have left for the end of a connection."""
        ...

    def session_ended(self, session_id: str, reason: str) -> None:
        """Tell those who may keep something of a session that it has ended."""
        ...

    async def close(self) -> None:
        """Cancel what still runs."""
        ...
