"""The SDK's connections: one that a session keeps, and one for each request that brings its own envelope."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from mcp.server.connection import Connection
from mcp_types import InitializeRequestParams

from longwire.dispatch.exchange import Options, Params
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

    def __getattr__(self, name: str) -> Any:
        """Make the parts that are not there yet, but for the one that `is_used` looks for."""
        for part, value in vars(Connection.from_envelope(*self._envelope)).items():
            if part not in self.__dict__ and part != "exit_stack":
                self.__dict__[part] = value
        if name not in self.__dict__:
            raise AttributeError(name)
        return self.__dict__[name]

    @property
    def initialize_accepted(self) -> bool:
        return True

    @cached_property
    def exit_stack(self) -> AsyncExitStack:  # type: ignore[override]
        return AsyncExitStack()

    @property
    def is_used(self) -> bool:
        """Whether a handler has left something to be cleaned up."""
        return "exit_stack" in self.__dict__


@dataclass(slots=True)
class SessionOutbound:
    """Sends a server's messages outside of calls to a session's client: over a GET, or once there is one."""

    session: Session

    async def notify(self, method: str, params: Params, opts: Options = None) -> None:
        patience = self.session.home.limits.send_timeout
        await tell([self.session], [notification_payload(method, params)], patience)

    async def send_raw_request(self, method: str, params: Params, opts: Options = None) -> dict[str, Any]:
        return await self.session.client_requests.ask(self.session.log.notify, method, params, opts)


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
