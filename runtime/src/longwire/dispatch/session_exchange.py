"""A call of a session, and the handshake that begins one.

The stream of a call can be resumed, so a client that disconnects ends nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from mcp.server.connection import Connection
from mcp.server.streamable_http import REQUEST_CANCELLED
from mcp.shared.exceptions import NoBackChannelError
from mcp.shared.message import CloseSSEStreamCallback
from mcp_types import INTERNAL_ERROR, ErrorData, RequestId
from mcp_types.version import LATEST_HANDSHAKE_VERSION

from longwire.dispatch.connections import NO_CHANNEL
from longwire.dispatch.exchange import CANCELLED, Cancellable, HttpExchange, Options, Params
from longwire.principals.limits import RETRY_AFTER
from longwire.sessions.registry import Sessions, SessionsFull
from longwire.sessions.sending import TOO_MUCH, Overrun, send
from longwire.sessions.session import Session
from longwire.sessions.streams import Stream
from longwire.wire.http.request import HeaderList, Request, Responder
from longwire.wire.mcp_headers import Accepted, can_resume
from longwire.wire.messages import PlainRequest
from longwire.wire.replies import JSON, error_payload, notification_payload, result_payload

if TYPE_CHECKING:
    from longwire.dispatch.core import Core

_MOMENT: Final = 0.1  # seconds until a call without an answer begins events, with an id to come back with
_ENDED: Final = "the session ended before the request did"


class SessionExchange(HttpExchange):
    """A call of a session: its events are in the session's log, and its client may come back for them."""

    __slots__ = ("_accepted", "_core", "session", "stream")

    can_send_request = True

    def __init__(
        self,
        core: Core,
        session: Session,
        message: PlainRequest,
        request: Request,
        responder: Responder,
        accepted: Accepted,
    ) -> None:
        super().__init__(message, request, responder)
        self.session = session
        self.stream: Stream | None = None
        self._accepted = accepted
        self._core = core

    # ---- for the SDK ------------------------------------------------------------------------

    @property
    def close_sse_stream(self) -> CloseSSEStreamCallback | None:
        return self._close_connection if can_resume(self.session.version) else None

    @property
    def close_standalone_sse_stream(self) -> CloseSSEStreamCallback | None:
        return self._close_gets if can_resume(self.session.version) else None

    async def notify(self, method: str, params: Params, opts: Options = None) -> None:
        if not self.is_over and not self._is_unreachable:
            payload, patience = notification_payload(method, params), self.session.home.limits.send_timeout
            await send(self.session.log, self.opened(), payload, patience)

    async def send_raw_request(self, method: str, params: Params, opts: Options = None) -> dict[str, Any]:
        if self.is_over or self._is_unreachable:
            raise NoBackChannelError(method)
        requests = self.session.client_requests
        return await requests.ask(self.opened().add, method, params, opts, call=self)

    async def _close_connection(self) -> None:
        if not self._is_unreachable:
            self.opened().close_connection()

    async def _close_gets(self) -> None:
        for stream in list(self.session.log.attached_streams()):
            if stream.is_get:
                stream.close_connection()

    # ---- for the runtime --------------------------------------------------------------------

    @property
    def awaits_store(self) -> bool:
        return self.stream is not None and self.session.log.awaits_store(self.stream)

    @property
    def is_attended(self) -> bool:
        """Whether a client waits for the answer now."""
        return self.stream.attached if self.stream is not None else not self._responder.gone

    @property
    def _is_unreachable(self) -> bool:
        """Whether the client left before it had an id to come back with."""
        return self.stream is None and self._responder.gone

    def wait(self, task: Cancellable) -> None:
        super().wait(task)
        if self._reason is not None:  # it was cancelled before its turn
            task.cancel()
            return
        self._responder.on_gone(self._left)
        if self.stream is not None or self._is_unreachable:
            return
        if self._accepted.events_first:
            self.opened()
        else:
            self._timer = self._core.later(_MOMENT, self._open)

    def opened(self) -> Stream:
        """The stream of this call, which begins an answer of events."""
        if self.stream is None:
            self._stop_timer()
            self.stream = _begun(self.session, self.request_id, self._responder)
            if not self.is_over:
                self._core.open_responses.add(self._responder)
        return self.stream

    def prefer_events(self) -> None:
        self._open()

    def _open(self) -> None:
        self._timer = None
        if not self._is_unreachable:
            self.opened()

    def _left(self) -> None:
        if self.session.ended is None:
            self.session.touch()  # its client may come back within the idle time

    def succeed(self, result: Mapping[str, Any]) -> None:
        if self._reason is None and self.stream is not None and self.stream.has_gaps:
            self.fail(Overrun(TOO_MUCH))
        else:
            super().succeed(result)

    def cancelled(self) -> None:
        if self.is_over:
            return
        self.end()
        if self._reason == CANCELLED and self.stream is not None:
            self.stream.finish()  # cancelling clients expect no answer; only a POST without events needs one
        elif self._reason == CANCELLED:
            self._answer(error_payload(self.request_id, REQUEST_CANCELLED, CANCELLED), 200, ())
        elif self.session.ended is None:
            self._answer(error_payload(self.request_id, INTERNAL_ERROR, CANCELLED), 200, ())
        elif self.stream is None:
            self._responder.answer(404, error_payload(None, INTERNAL_ERROR, _ENDED), JSON)

    def end(self) -> None:
        super().end()
        self._core.open_responses.discard(self._responder)
        self.session.end_call(self.request_id)

    def _answer(self, payload: bytes, status: int, headers: HeaderList) -> None:
        events = self._accepted.events_first and status == 200  # the status of events is always 200
        if self.stream is None and (not events or self._is_unreachable):
            both = (*session_headers(self.session), *headers)
            self.session.when_saved(partial(self._responder.answer, status, payload, JSON, both))
        else:
            self.opened().add(payload, "reply")


def session_headers(session: Session) -> HeaderList:
    """The header that names the session in an answer."""
    return ((b"mcp-session-id", session.id.encode()),)


def _begun(session: Session, request_id: RequestId, responder: Responder) -> Stream:
    """The stream of a request, with which an answer of events begins."""
    stream = session.log.open_request_stream(request_id)
    if can_resume(session.version):
        stream.prime()
    responder.begin_events(session_headers(session))
    stream.attach(responder)
    return stream


class HandshakeExchange(HttpExchange):
    """An `initialize` request. Nothing can be sent to the client before it is answered."""

    __slots__ = ("_accepted", "_sessions", "begins", "connection", "state")

    def __init__(
        self,
        sessions: Sessions,
        message: PlainRequest,
        request: Request,
        responder: Responder,
        takes: Accepted,
    ) -> None:
        super().__init__(message, request, responder)
        self._sessions = sessions
        self._accepted = takes
        self.begins = True  # a session, if it succeeds
        self.state: Mapping[str, Any] = {}  # of that session, at first
        self.connection = Connection(NO_CHANNEL, protocol_version=LATEST_HANDSHAKE_VERSION)

    async def notify(self, method: str, params: Params, opts: Options = None) -> None:
        pass

    def succeed(self, result: Mapping[str, Any]) -> None:
        if self.is_over:
            return
        if not self.begins:
            super().succeed(result)
            return
        try:
            session = self._sessions.begin(
                self.request.principal.key, self.connection.protocol_version, self._params or {}
            )
        except SessionsFull as full:  # while the handshake took its time
            data = {RETRY_AFTER: math.ceil(full.seconds)}
            self.refuse(ErrorData(code=full.code, message=full.reason, data=data))
            return
        self.end()
        session.replace_state(self.state)
        payload = result_payload(self.request_id, result)
        if self._accepted.events_first:
            _begun(session, self.request_id, self._responder).add(payload, "reply")
        else:  # when it is saved, so that no client has a session that a restarted server doesn't know
            answer = partial(self._responder.answer, 200, payload, JSON, session_headers(session))
            session.when_saved(answer)

    def wait(self, task: Cancellable) -> None:
        super().wait(task)

        def left() -> None:
            if not self.is_over:  # no session should begin whose client has gone
                task.cancel()

        self._responder.on_gone(left)
