"""The SDK's connections: one that a session keeps, and one for each request that brings its own envelope."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AsyncExitStack
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import anyio
from mcp.server.connection import Connection
from mcp.shared.dispatcher import CallOptions
from mcp_types import ClientCapabilities, InitializeRequestParams

from longwire.sessions.sending import tell
from longwire.wire.replies import notification_payload

if TYPE_CHECKING:
    from longwire.sessions.session import Session

# Says no to everything that a server would send outside of a call.
NO_CHANNEL: Final = Connection.from_envelope("", None, None).outbound


class EnvelopeConnection(Connection):
    """The connection of one request that names its version and its client itself.

    The SDK's `from_envelope()` makes all parts of it, of which most calls use none.
    """

    def __init__(self, version: str, client_info: Any = None, client_capabilities: Any = None) -> None:
        self.outbound = NO_CHANNEL
        self.session_id = None
        self.protocol_version = version
        self._envelope = version, client_info, client_capabilities

    @cached_property
    def _made(self) -> Connection:
        return Connection.from_envelope(*self._envelope)

    @property
    def client_params(self) -> InitializeRequestParams | None:
        return self._made.client_params

    @client_params.setter
    def client_params(self, value: InitializeRequestParams | None) -> None:
        self._made.client_params = value

    @cached_property
    def client_capabilities(self) -> ClientCapabilities | None:  # type: ignore[override]
        return self._made.client_capabilities

    @cached_property
    def initialized(self) -> anyio.Event:  # type: ignore[override]
        return self._made.initialized

    @property
    def initialize_accepted(self) -> bool:
        return True

    @cached_property
    def state(self) -> dict[str, Any]:  # type: ignore[override]
        return {}

    @cached_property
    def exit_stack(self) -> AsyncExitStack:  # type: ignore[override]
        return AsyncExitStack()

    @property
    def is_used(self) -> bool:
        """Whether a handler has left something to be cleaned up."""
        return "exit_stack" in self.__dict__


class SessionOutbound:
    """Sends a server's messages outside of calls to a session's client: over a GET, or once there is one."""

    __slots__ = ("_session",)

    def __init__(self, session: Session) -> None:
        self._session = session

    async def notify(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> None:
        session = self._session
        await tell([session], [notification_payload(method, params)], session.patience)

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> dict[str, Any]:
        session = self._session
        return await session.client_requests.ask(session.log.notify, method, params, opts)


def session_connection(session: Session) -> Connection:
    """The connection that a session's handlers see, made when first needed and kept."""
    connection: Connection | None = session.connection
    if connection is None:
        connection = Connection(
            SessionOutbound(session),
            protocol_version=session.version,
            session_id=session.id,
            client_params=InitializeRequestParams.model_validate(session.client, by_name=False),
        )
        if session.initialized:
            connection.initialized.set()
        session.connection = connection
    return connection
