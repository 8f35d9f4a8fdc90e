"""One request without a connection to remember anything of: asked in a POST, answered in its reply."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import anyio
from mcp.server.connection import Connection
from mcp.server.lowlevel import Server
from mcp.server.runner import modern_error_data, modern_on_request, serve_one
from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import NoBackChannelError
from mcp.shared.jsonrpc_dispatcher import progress_token_from_params
from mcp.shared.message import MessageMetadata
from mcp.shared.transport_context import TransportContext
from mcp_types import (
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    ProgressToken,
    RequestId,
)
from mcp_types.version import LATEST_HANDSHAKE_VERSION

from acuity.mcp.embedded.mixed import checked_envelopes, has_envelope
from acuity.mcp.wire.messages import progress_params

# Takes what is told before the answer.
Tell: TypeAlias = Callable[[JSONRPCNotification], Awaitable[None]]

_TRANSPORT: Final = TransportContext(kind="exchange", can_send_request=False)


async def exchange(
    server: Server[Any], request: JSONRPCRequest, lifespan_state: Any, tell: Tell | None
) -> JSONRPCResponse | JSONRPCError:
    """The answer to a request, with an envelope or without one; nothing is told before if `tell` is None."""
    context = _Context(request.id, progress_token_from_params(request.params), tell)
    try:
        if has_envelope(request.params):
            serve = checked_envelopes(modern_on_request(server, lifespan_state))
            result = await serve(context, request.method, request.params)
        else:
            result = await serve_one(
                server,
                context,
                request.method,
                request.params,
                connection=Connection.from_envelope(LATEST_HANDSHAKE_VERSION, None, None),
                lifespan_state=lifespan_state,
            )
    except Exception as error:
        return JSONRPCError(jsonrpc="2.0", id=request.id, error=modern_error_data(error))
    return JSONRPCResponse(jsonrpc="2.0", id=request.id, result=result)


@dataclass
class _Context:
    """What the SDK wants to know of the way that a request came, and where to tell of its progress."""

    request_id: RequestId
    progress_token: ProgressToken | None
    tell: Tell | None
    transport: TransportContext = _TRANSPORT
    message_metadata: MessageMetadata = None
    cancel_requested: anyio.Event = field(default_factory=anyio.Event)
    can_send_request: bool = False

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> dict[str, Any]:
        raise NoBackChannelError(method)

    async def notify(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> None:
        if self.tell is not None:
            given = {} if params is None else {"params": dict(params)}
            await self.tell(JSONRPCNotification(jsonrpc="2.0", method=method, **given))

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        if self.progress_token is None:
            return
        await self.notify(
            "notifications/progress", progress_params(self.progress_token, progress, total, message)
        )
