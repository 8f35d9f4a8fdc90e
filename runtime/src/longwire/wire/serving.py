"""The parts that all transports of a server share: limits, hooks, and the serving of messages."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Container, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

from mcp.server.connection import Connection
from mcp.server.lowlevel import Server
from mcp.server.runner import (
    ServerRunner,
    aclose_shielded,
    modern_error_data,
    modern_on_request,
    serve_dual_era_loop,
)
from mcp.shared.dispatcher import DispatchContext
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import InboundLadderRejection, classify_inbound_request
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.transport_context import TransportContext
from mcp_types import PROTOCOL_VERSION_META_KEY, ErrorData, RequestId
from mcp_types.version import LATEST_HANDSHAKE_VERSION
from pydantic import ValidationError

from longwire.principals.limits import CONNECTION
from longwire.principals.principal import Principal
from longwire.settings import WireLimits
from longwire.wire.http.turns import Turns
from longwire.wire.messages import Incoming
from longwire.wire.streams import Inbox, Outbox

if TYPE_CHECKING:
    from longwire.guard.access import Access

HANDSHAKE: Final = "initialize"


@dataclass(slots=True)
class Handshake:
    """The protocol version that holds for requests without an envelope on one connection."""

    client: str  # the connection's name
    version: str = LATEST_HANDSHAKE_VERSION  # for clients that never begin a handshake
    pending: int = 0  # handshakes that were read and not yet answered: until then the version may change


class QuickAnswerer(Protocol):
    """Answers some requests without the SDK."""

    def answer(
        self, message: Incoming, handshake: Handshake, in_flight: Container[RequestId] = ()
    ) -> bytes | None:
        """The whole reply, or None if the SDK has to answer."""
        return None


class Presence(Protocol):
    """Is told about network connections."""

    def came(self, connection: object) -> None:
        return

    def heard(self, connection: object) -> None:
        """It sent something."""
        return

    def spoke(self, connection: object, client: str) -> None:
        """It sent an HTTP request of this session, or of this client where there is none."""
        return

    def left(self, connection: object) -> None:
        return


class Accounts(Protocol):
    """Keeps accounts of what clients cost, by the names of their connections."""

    def enter(self, client: str) -> None:
        return

    def leave(self, client: str) -> None:
        return


class _Ignored(QuickAnswerer, Presence, Accounts):
    """Hooks of a server that has none."""


IGNORED: Final = _Ignored()


@dataclass(frozen=True, slots=True)
class Serving:
    """A server object and what its transports need to serve it."""

    server: Server[Any]
    limits: WireLimits
    lifespan_state: Any
    access: Access
    bare: bool = False  # whether requests are answered that come without a handshake and without an envelope
    quick: QuickAnswerer = IGNORED
    turns: Turns = field(default_factory=Turns)  # of large messages
    presence: Presence = IGNORED
    accounts: Accounts = IGNORED
    # Counts a request that was refused before it became a call; the error where its principal sends too many.
    charge: Callable[[Principal], ErrorData | None] = lambda _: None
    # Is given the SDK's connection of each client that has a lasting one.
    on_connection: Callable[[Connection], object] = lambda _: None


async def serve_messages(serving: Serving, read: Inbox, write: Outbox, handshake: Handshake) -> None:
    """Answer a client until its stream ends."""
    CONNECTION.set(handshake.client)
    try:
        if serving.bare:
            await _serve_any(serving, read, write, handshake)
        else:
            await serve_dual_era_loop(
                serving.server, read.stream, write, lifespan_state=serving.lifespan_state
            )
    finally:
        read.close()


async def _serve_any(serving: Serving, read: Inbox, write: Outbox, handshake: Handshake) -> None:
    """Serve every request by what it says itself: after a handshake, with an envelope, or without either.

    The SDK's own loop decides on the first request and refuses the other kinds from then on. A line typed by
    hand has neither.
    """
    dispatcher: JSONRPCDispatcher[TransportContext] = JSONRPCDispatcher(
        read.stream,
        write,
        # A client may send more before the handshake was answered: that waits for it.
        inline_methods=frozenset({HANDSHAKE}),
    )
    connection = Connection.for_loop(dispatcher)
    serving.on_connection(connection)
    runner = ServerRunner(serving.server, connection, serving.lifespan_state)
    serve_enveloped = modern_on_request(serving.server, serving.lifespan_state)

    async def on_request(
        context: DispatchContext[TransportContext], method: str, params: Mapping[str, Any] | None
    ) -> dict[str, Any]:
        if method == HANDSHAKE:
            try:
                return await runner.on_request(context, method, params)
            finally:
                handshake.version = connection.protocol_version
                handshake.pending -= 1
        if has_envelope(params):
            route = classify_inbound_request({"method": method, "params": params})
            if isinstance(route, InboundLadderRejection):
                raise MCPError(code=route.code, message=route.message, data=route.data)
            try:
                return await serve_enveloped(context, method, params)
            except (MCPError, ValidationError):
                raise
            except Exception as error:  # its text is for the log, not for clients
                raise MCPError.from_error_data(modern_error_data(error)) from error
        if not connection.initialize_accepted:
            connection.initialized.set()  # the SDK would have the request wait for a handshake
        return await runner.on_request(context, method, params)

    try:
        await dispatcher.run(on_request, runner.on_notify)
    finally:
        await aclose_shielded(connection)
        await write.aclose()


def has_envelope(params: Mapping[str, Any] | None) -> bool:
    """Whether a request says by itself which protocol version it is of."""
    meta = (params or {}).get("_meta")
    return isinstance(meta, Mapping) and PROTOCOL_VERSION_META_KEY in meta


@asynccontextmanager
async def shared_lifespan(server: Server[Any]) -> AsyncIterator[Any]:
    """Enter the server's lifespan once, for all connections of all transports.

    The SDK enters it for each connection of some transports and for each manager of others; until the block
    ends, they all get the state made here.
    """
    enter = server.lifespan
    async with enter(server) as state:

        @asynccontextmanager
        async def entered(_: Server[Any]) -> AsyncIterator[Any]:
            yield state

        server.lifespan = entered
        try:
            yield state
        finally:
            server.lifespan = enter
