"""One connection on which a client may speak as it likes: after a handshake, with an envelope, or just so.

The SDK's own loop decides on the first request and refuses the other ways from then on. Here each request
says by itself which it is, so that a line typed by hand works as well as any client.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp.server.connection import Connection
from mcp.server.lowlevel import Server
from mcp.server.runner import ServerRunner, aclose_shielded, modern_error_data, modern_on_request
from mcp.shared._stream_protocols import ReadStream, WriteStream
from mcp.shared.dispatcher import DispatchContext, OnRequest
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import InboundLadderRejection, classify_inbound_request
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.message import SessionMessage
from mcp.shared.transport_context import TransportContext
from mcp_types import PROTOCOL_VERSION_META_KEY
from pydantic import ValidationError

from acuity.mcp.embedded.agreed import Agreed
from acuity.mcp.embedded.steering.clients import CONNECTED
from acuity.mcp.limits import CONNECTION

_HANDSHAKE = "initialize"


async def serve_mixed(
    server: Server[Any],
    read: ReadStream[SessionMessage | Exception],
    write: WriteStream[SessionMessage],
    agreed: Agreed,
    *,
    name: str,
    lifespan_state: Any,
) -> None:
    """Answer a client until its stream ends. The name tells it from others in queues and logs."""
    CONNECTION.set(name)
    dispatcher: JSONRPCDispatcher[TransportContext] = JSONRPCDispatcher(
        read,
        write,
        # A client may send more before the handshake was answered: that waits for it.
        inline_methods=frozenset({_HANDSHAKE}),
    )
    connection = Connection.for_loop(dispatcher)
    CONNECTED.set(connection)
    runner = ServerRunner(server, connection, lifespan_state)
    enveloped = checked_envelopes(modern_on_request(server, lifespan_state))

    async def on_request(
        context: DispatchContext[TransportContext], method: str, params: Mapping[str, Any] | None
    ) -> dict[str, Any]:
        if method == _HANDSHAKE:
            try:
                return await runner.on_request(context, method, params)
            finally:
                agreed.version = connection.protocol_version
                agreed.shaking -= 1
        if has_envelope(params):
            return await enveloped(context, method, params)
        if not connection.initialize_accepted:
            connection.initialized.set()  # who asks without a handshake wants none
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


def checked_envelopes(serve: OnRequest) -> OnRequest:
    """The same for requests with an envelope, which is looked at first."""

    async def on_request(
        context: DispatchContext[TransportContext], method: str, params: Mapping[str, Any] | None
    ) -> dict[str, Any]:
        route = classify_inbound_request({"method": method, "params": params})
        if isinstance(route, InboundLadderRejection):
            raise MCPError(code=route.code, message=route.message, data=route.data)
        try:
            return await serve(context, method, params)
        except (MCPError, ValidationError):
            raise
        except Exception as error:  # its text is for the log, not for clients
            data = modern_error_data(error)
            raise MCPError(code=data.code, message=data.message, data=data.data) from error

    return on_request
