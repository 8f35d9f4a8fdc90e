"""One call: what its handler sends to the client, and the form that the answer takes.

An exchange is the SDK's DispatchContext. Over HTTP its answer is JSON if nothing is sent before it, and
otherwise the last of a stream of events. In a session that stream can be resumed, so a disconnect ends
nothing; without a session it ends the call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol, TypeAlias

import anyio
from mcp.server.runner import modern_error_data
from mcp.shared.dispatcher import CallOptions, Outbound
from mcp.shared.exceptions import NoBackChannelError
from mcp.shared.jsonrpc_dispatcher import progress_token_from_params
from mcp.shared.message import CloseSSEStreamCallback, ServerMessageMetadata
from mcp.shared.transport_context import TransportContext
from mcp_types import INTERNAL_ERROR, ErrorData, RequestId

from longwire.wire.http.request import HeaderList, Request, Responder
from longwire.wire.messages import PlainRequest, progress_params
from longwire.wire.replies import JSON, error_payload, headers_of, result_payload, status_of

_KIND: Final = "streamable-http"
_PROGRESS: Final = "notifications/progress"
CANCELLED: Final = "Request cancelled"


class Cancellable(Protocol):
    """A task, something that goes on when an answer comes, or a timer."""

    def cancel(self) -> object: ...


Given: TypeAlias = dict[str, Any] | None  # the params of a request

# Of a message to a client.
Params: TypeAlias = Mapping[str, Any] | None
Options: TypeAlias = CallOptions | None

# Calls a function after so many seconds.
Later: TypeAlias = Callable[[float, Callable[[], None]], Cancellable]


class _Incoming:
    """The members that the SDK wants of any message of a client; here, nothing can be asked back."""

    __slots__ = ("request",)

    can_send_request = False
    request: Request

    @property
    def transport(self) -> TransportContext:
        return TransportContext(
            kind=_KIND, can_send_request=self.can_send_request, headers=self.request.headers
        )

    async def send_raw_request(self, method: str, params: Params, opts: Options = None) -> dict[str, Any]:
        raise NoBackChannelError(method)


class Exchange(_Incoming):
    """The part that all kinds share: the request, its task, and its one answer."""

    __slots__ = ("_cancel_requested", "_params", "_reason", "_timer", "is_over", "request_id", "task")

    def __init__(self, message: PlainRequest, request: Request) -> None:
        self.request = request
        self.request_id: RequestId = message.id
        self.task: Cancellable | None = None  # once the handler has to wait for something
        self.is_over = False
        self._params = message.params
        self._cancel_requested: anyio.Event | None = None
        self._timer: Cancellable | None = None
        self._reason: str | None = None  # why the call was cancelled, if its client expects nothing any more

    # ---- for the SDK ------------------------------------------------------------------------

    @property
    def message_metadata(self) -> ServerMessageMetadata:
        return ServerMessageMetadata(
            request_context=self.request,
            close_sse_stream=self.close_sse_stream,
            close_standalone_sse_stream=self.close_standalone_sse_stream,
            can_send_request=self.can_send_request,
        )

    @property
    def close_sse_stream(self) -> CloseSSEStreamCallback | None:
        """Ends the connection while the call goes on, where the client can come back; None elsewhere."""
        return None

    @property
    def close_standalone_sse_stream(self) -> CloseSSEStreamCallback | None:
        """The same for the GETs of a session."""
        return None

    @property
    def cancel_requested(self) -> anyio.Event:
        if self._cancel_requested is None:
            self._cancel_requested = anyio.Event()
        return self._cancel_requested

    async def notify(self, method: str, params: Params, opts: Options = None) -> None:
        raise NotImplementedError

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        token = progress_token_from_params(self._params)
        if token is not None:
            await self.notify(_PROGRESS, progress_params(token, progress, total, message))

    # ---- for the runtime --------------------------------------------------------------------

    @property
    def awaits_store(self) -> bool:
        """Whether messages wait to be stored before they can be sent."""
        return False

    def wait(self, task: Cancellable) -> None:
        self.task = task

    def cancel(self, reason: str = CANCELLED) -> None:
        """Cancel the call, because its client or the end of its session asks for that."""
        if self.is_over:
            return
        self._reason = reason
        if self._cancel_requested is not None:
            self._cancel_requested.set()
        if self.task is not None:
            self.task.cancel()

    def succeed(self, result: Mapping[str, Any]) -> None:
        if self.is_over:
            return
        if self._reason is not None:
            self.cancelled()  # whatever came of it
            return
        try:
            payload = result_payload(self.request_id, result)
        except ValueError as problem:  # the handler returned something that JSON can't hold
            self.fail(problem)
        else:
            self.reply(payload)

    def fail(self, problem: Exception) -> None:
        self.refuse(modern_error_data(problem))

    def refuse(self, error: ErrorData) -> None:
        if self._reason is not None:
            self.cancelled()
        elif not self.is_over:
            payload = error_payload(self.request_id, error.code, error.message, error.data)
            self.end()
            self._answer(payload, self._status(error), headers_of(error))

    def reply(self, payload: bytes) -> None:
        self.end()
        self._answer(payload, 200, ())

    def end(self) -> None:
        """Note that nothing more will be sent than the answer."""
        self.is_over = True
        self._stop_timer()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def prefer_events(self) -> None:
        """Answer with events, where the client takes them and nothing was sent yet."""

    def cancelled(self) -> None:
        """Answer a call whose task was cancelled, if there is anybody to answer."""
        raise NotImplementedError

    def _answer(self, payload: bytes, status: int, headers: HeaderList) -> None:
        raise NotImplementedError

    def _status(self, error: ErrorData) -> int:
        raise NotImplementedError


class HttpExchange(Exchange):
    """A call whose answer this process writes to its client."""

    __slots__ = ("_responder",)

    def __init__(self, message: PlainRequest, request: Request, responder: Responder) -> None:
        super().__init__(message, request)
        self._responder = responder

    def cancelled(self) -> None:
        self.end()
        if not self._responder.gone:  # the server stops
            self._answer(error_payload(self.request_id, INTERNAL_ERROR, CANCELLED), 200, ())

    def _answer(self, payload: bytes, status: int, headers: HeaderList) -> None:
        self._responder.answer(status, payload, JSON, headers)

    def _status(self, error: ErrorData) -> int:
        return status_of(error, stateless=False)


class Notice(_Incoming):
    """The SDK's DispatchContext of a client's notification: what is sent goes to the session."""

    __slots__ = ("_outbound", "cancel_requested")

    request_id: Final = None

    def __init__(self, request: Request, outbound: Outbound) -> None:
        self.request = request
        self.cancel_requested = anyio.Event()
        self._outbound = outbound

    @property
    def message_metadata(self) -> ServerMessageMetadata:
        return ServerMessageMetadata(request_context=self.request, can_send_request=False)

    async def notify(self, method: str, params: Params, opts: Options = None) -> None:
        await self._outbound.notify(method, params, opts)

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        pass
