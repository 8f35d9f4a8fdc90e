"""One call over HTTP: what its handler sends to the client, and the form that the answer takes.

An exchange is the SDK's DispatchContext. Its answer is JSON if nothing is sent before it, and otherwise the
last of a stream of events. In a session that stream can be resumed, so a client that leaves ends nothing;
without a session it ends its call.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import anyio
from mcp.server.streamable_http import REQUEST_CANCELLED
from mcp.shared.dispatcher import CallOptions, Outbound
from mcp.shared.exceptions import NoBackChannelError
from mcp.shared.jsonrpc_dispatcher import progress_token_from_params
from mcp.shared.message import CloseSSEStreamCallback, ServerMessageMetadata
from mcp.shared.transport_context import TransportContext
from mcp_types import INTERNAL_ERROR, ErrorData, RequestId

from acuity.mcp.runtime.headers import Accepted, can_resume
from acuity.mcp.runtime.heartbeats import PING, Heartbeats
from acuity.mcp.runtime.replies import (
    JSON,
    error_of,
    error_payload,
    headers_of,
    notification_payload,
    result_payload,
    status_of,
)
from acuity.mcp.wire.http.request import HeaderList, Request, Responder
from acuity.mcp.wire.messages import PlainRequest, progress_params

if TYPE_CHECKING:
    from acuity.mcp.runtime.session import Session
    from acuity.mcp.runtime.streams import Stream

ROOM: Final = 64 << 10  # bytes that a client may leave unread before a handler that sends more has to wait
_KIND: Final = "streamable-http"
_PROGRESS: Final = "notifications/progress"
_CANCELLED: Final = "Request cancelled"
_ENDED: Final = "the session ended before the request did"

# Calls a function after so many seconds.
Later: TypeAlias = Callable[[float, Callable[[], None]], asyncio.TimerHandle]


class Exchange:
    """The part that both kinds share: the request, its task, and its one answer."""

    __slots__ = (
        "_cancel_requested",
        "_params",
        "_responder",
        "_timer",
        "is_over",
        "request",
        "request_id",
        "task",
    )

    can_send_request = False

    def __init__(self, message: PlainRequest, request: Request, responder: Responder) -> None:
        self.request_id: RequestId = message.id
        self.request = request
        self.task: asyncio.Task[None] | None = None  # once the handler has to wait for something
        self.is_over = False
        self._params = message.params
        self._responder = responder
        self._cancel_requested: anyio.Event | None = None
        self._timer: asyncio.TimerHandle | None = None

    # ---- for the SDK ------------------------------------------------------------------------

    @property
    def transport(self) -> TransportContext:
        return TransportContext(
            kind=_KIND, can_send_request=self.can_send_request, headers=self.request.headers
        )

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

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> dict[str, Any]:
        raise NoBackChannelError(method)

    async def notify(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> None:
        raise NotImplementedError

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        token = progress_token_from_params(self._params)
        if token is not None:
            await self.notify(_PROGRESS, progress_params(token, progress, total, message))

    # ---- for the runtime --------------------------------------------------------------------

    def wait(self, task: asyncio.Task[None]) -> None:
        """Note that the handler goes on in a task."""
        self.task = task

    def succeed(self, result: Mapping[str, Any]) -> None:
        """Answer with the handler's result."""
        if self.is_over:
            return
        try:
            payload = result_payload(self.request_id, result)
        except ValueError as problem:  # the handler returned something that JSON can't hold
            self.fail(problem)
            return
        self.end()
        self._answer(payload, 200, ())

    def fail(self, problem: Exception) -> None:
        """Answer with an exception of the handler."""
        self.refuse(error_of(problem))

    def refuse(self, error: ErrorData) -> None:
        """Answer with an error."""
        if not self.is_over:
            payload = error_payload(self.request_id, error.code, error.message, error.data)
            self.end()
            self._answer(payload, self._status(error), headers_of(error))

    def reply(self, payload: bytes) -> None:
        """Answer with a reply that is written already."""
        self.end()
        self._answer(payload, 200, ())

    def end(self) -> None:
        """Note that nothing more will be sent than the answer."""
        self.is_over = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def cancelled(self) -> None:
        """Answer a call whose task was cancelled, if there is anybody to answer."""
        raise NotImplementedError

    def _answer(self, payload: bytes, status: int, headers: HeaderList) -> None:
        raise NotImplementedError

    def _status(self, error: ErrorData) -> int:
        raise NotImplementedError


class SingleExchange(Exchange):
    """A call that belongs to no session: its client gets everything in this one answer."""

    __slots__ = ("_heartbeats", "_later", "_silence", "_statuses", "_streaming", "_takes_events", "_waiters")

    def __init__(
        self,
        message: PlainRequest,
        request: Request,
        responder: Responder,
        heartbeats: Heartbeats,
        *,
        later: Later,
        silence: float,
        takes_events: bool = True,
        statuses: bool = True,
    ) -> None:
        """`silence`: seconds until a sign of life; `statuses`: whether errors have a status of their own."""
        super().__init__(message, request, responder)
        self._heartbeats = heartbeats
        self._later = later
        self._silence = silence
        self._takes_events = takes_events
        self._statuses = statuses
        self._streaming = False
        self._waiters: list[asyncio.Future[None]] = []

    def wait(self, task: asyncio.Task[None]) -> None:
        super().wait(task)
        if self._responder.gone:
            task.cancel()
            return
        self._responder.on_gone(self._left)
        if self._takes_events and not self._streaming:
            self._timer = self._later(self._silence, self._show_life)

    async def notify(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> None:
        if not self._takes_events or self.is_over:
            return
        self._begin()
        self._responder.send(_event(notification_payload(method, params)))
        while self._responder.unsent > ROOM and not self._responder.gone:
            room = asyncio.get_running_loop().create_future()
            self._waiters.append(room)
            await room

    def cancelled(self) -> None:
        self.end()
        if not self._responder.gone:  # the server stops
            self._answer(error_payload(self.request_id, INTERNAL_ERROR, _CANCELLED), 200, ())

    def _begin(self) -> None:
        if not self._streaming:
            self._streaming = True
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            self._responder.begin_events()
            self._responder.on_room(self._freed)
            self._heartbeats.add(self._responder)

    def _show_life(self) -> None:
        self._timer = None
        self._begin()
        self._responder.send(PING)

    def _freed(self) -> None:
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    def _left(self) -> None:
        if self._cancel_requested is not None:
            self._cancel_requested.set()
        self._freed()
        if self.task is not None and not self.is_over:
            self.task.cancel()

    def _answer(self, payload: bytes, status: int, headers: HeaderList) -> None:
        if self._streaming:
            self._responder.send(_event(payload))
            self._responder.end()
        else:
            self._responder.answer(status, payload, JSON, headers)

    def _status(self, error: ErrorData) -> int:
        return status_of(error, stateless=self._statuses)


class SessionExchange(Exchange):
    """A call of a session: its events are in the session's log, and its client may come back for them."""

    __slots__ = ("_accepted", "_heartbeats", "_later", "_moment", "_reason", "session", "stream")

    can_send_request = True

    def __init__(
        self,
        session: Session,
        message: PlainRequest,
        request: Request,
        responder: Responder,
        heartbeats: Heartbeats,
        *,
        accepted: Accepted,
        later: Later,
        moment: float,
    ) -> None:
        """`moment` is how long a client goes without an id to come back with."""
        super().__init__(message, request, responder)
        self.session = session
        self.stream: Stream | None = None
        self._accepted = accepted
        self._heartbeats = heartbeats
        self._later = later
        self._moment = moment
        self._reason: str | None = None  # why the call was cancelled

    # ---- for the SDK ------------------------------------------------------------------------

    @property
    def close_sse_stream(self) -> CloseSSEStreamCallback | None:
        return self._close_connection if can_resume(self.session.version) else None

    @property
    def close_standalone_sse_stream(self) -> CloseSSEStreamCallback | None:
        return self._close_gets if can_resume(self.session.version) else None

    async def notify(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> None:
        if not self.is_over:
            self.opened().add(notification_payload(method, params), "notification")

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> dict[str, Any]:
        if self.is_over:
            raise NoBackChannelError(method)
        requests = self.session.client_requests
        return await requests.ask(self.opened().add, method, params, opts, call=self)

    async def _close_connection(self) -> None:
        self.opened().close_connection()

    async def _close_gets(self) -> None:
        for stream in list(self.session.log.attached_streams()):
            if stream.is_get:
                stream.close_connection()

    # ---- for the runtime --------------------------------------------------------------------

    @property
    def is_attended(self) -> bool:
        """Whether a client waits for the answer now."""
        return self.stream.attached if self.stream is not None else not self._responder.gone

    def wait(self, task: asyncio.Task[None]) -> None:
        super().wait(task)
        self._responder.on_gone(self._left)
        if self.stream is not None:
            return
        if self._accepted.events_first:
            self.opened()
        else:
            self._timer = self._later(self._moment, self._open)

    def opened(self) -> Stream:
        """The stream of this call, which begins an answer of events."""
        if self.stream is None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            session, responder = self.session, self._responder
            self.stream = stream = session.log.open_request_stream(self.request_id)
            if can_resume(session.version):
                stream.prime()
            if not responder.gone:
                responder.begin_events(session_headers(session))
                stream.attach(responder)
                self._heartbeats.add(responder)
        return self.stream

    def _open(self) -> None:
        self._timer = None
        self.opened()

    def _left(self) -> None:
        if self.session.ended is None:
            self.session.touch()  # its client may come back within the idle time

    def cancel(self, reason: str = _CANCELLED) -> None:
        """Cancel the call, because its client or the end of its session asks for that."""
        if self.is_over:
            return
        self._reason = reason
        if self._cancel_requested is not None:
            self._cancel_requested.set()
        if self.task is not None:
            self.task.cancel()

    def succeed(self, result: Mapping[str, Any]) -> None:
        if self._reason is None:
            super().succeed(result)
        else:
            self.cancelled()  # whatever came of it

    def refuse(self, error: ErrorData) -> None:
        if self._reason is None:
            super().refuse(error)
        else:
            self.cancelled()

    def cancelled(self) -> None:
        if self.is_over:
            return
        self.end()
        if self._reason == _CANCELLED:
            self._answer(error_payload(self.request_id, REQUEST_CANCELLED, _CANCELLED), 200, ())
        elif self.stream is None:
            self._responder.answer(404, error_payload(None, INTERNAL_ERROR, _ENDED), JSON)

    def end(self) -> None:
        super().end()
        self.session.end_call(self.request_id)

    def _answer(self, payload: bytes, status: int, headers: HeaderList) -> None:
        if self.stream is None and not self._accepted.events_first:
            both = (*session_headers(self.session), *headers)
            self.session.when_saved(partial(self._responder.answer, status, payload, JSON, both))
            return
        stream = self.opened()
        stream.add(payload, "reply")

    def _status(self, error: ErrorData) -> int:
        return status_of(error, stateless=False)


def session_headers(session: Session) -> HeaderList:
    """The header that names the session in an answer."""
    return ((b"mcp-session-id", session.id.encode()),)


def _event(payload: bytes) -> bytes:
    return b"event: message\ndata: %b\n\n" % payload


class Notice:
    """The SDK's DispatchContext of a client's notification: what is sent goes to the session."""

    __slots__ = ("_outbound", "cancel_requested", "request")

    can_send_request: Final = False
    request_id: Final = None

    def __init__(self, request: Request, outbound: Outbound) -> None:
        self.request = request
        self.cancel_requested = anyio.Event()
        self._outbound = outbound

    @property
    def transport(self) -> TransportContext:
        return TransportContext(kind=_KIND, can_send_request=False, headers=self.request.headers)

    @property
    def message_metadata(self) -> ServerMessageMetadata:
        return ServerMessageMetadata(request_context=self.request, can_send_request=False)

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> dict[str, Any]:
        raise NoBackChannelError(method)

    async def notify(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> None:
        await self._outbound.notify(method, params, opts)

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        pass
