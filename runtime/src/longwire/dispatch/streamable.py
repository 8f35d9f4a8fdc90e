"""Streamable HTTP at /mcp without I/O: sessions for clients with a handshake, single exchanges for others.

    request ─► headers, body ─┬─ no version, or one with a handshake ─► session ─► SessionExchange
                              ├─ another version: headers and envelope agree ─► SingleExchange
                              └─ neither session nor version, where served ─► SingleExchange

Dispatcher runs all of them. Refusals have the status and the words of the SDK's own server, unless a comment
says otherwise.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Final

from mcp.server.connection import Connection
from mcp.shared.jsonrpc_dispatcher import cancelled_request_id_from_params
from mcp_types import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    INVALID_REQUEST,
    JSONRPCNotification,
    JSONRPCRequest,
    RequestId,
)

from longwire.counters import RuntimeCounters
from longwire.dispatch.connections import session_connection
from longwire.dispatch.core import Core, Dispatch
from longwire.dispatch.exchange import Later, Notice
from longwire.dispatch.session_exchange import HandshakeExchange, SessionExchange, session_headers
from longwire.dispatch.stateless import Bare, Stateless, negotiated, parsed
from longwire.principals.limits import BUSY
from longwire.principals.principal import Holders
from longwire.sessions.registry import Sessions
from longwire.sessions.session import Session, compact
from longwire.wire.http.request import Answer, Handler, Request, Responder
from longwire.wire.mcp_headers import (
    HANDSHAKE,
    LAST_EVENT_ID,
    MODERN,
    ROUTING,
    SESSION_ID,
    VERSION,
    Accepted,
    accepted,
    can_resume,
    doubled,
)
from longwire.wire.messages import Message, PlainRequest, RefusedMessage, parse_request
from longwire.wire.replies import JSON, error_payload, headers_of, refuse, retry_after, status_of
from longwire.wire.serving import Serving, has_envelope

if TYPE_CHECKING:
    from longwire.guard.oauth.resource_server import ResourceServer

logger: Final = logging.getLogger(__name__)

PATH: Final = "/mcp"

_CALL: Final = "tools/call"
_INITIALIZE: Final = "initialize"
_INITIALIZED: Final = "notifications/initialized"
_CANCELLED: Final = "notifications/cancelled"
_PROGRESS: Final = "notifications/progress"
_EVENTS: Final = "Not Acceptable: Client must accept text/event-stream"
_NO_SESSION: Final = "Bad Request: Missing session ID"
_POST_ONLY: Final = "Method Not Allowed: a request of this protocol version is a POST"
_LONGEST_HELLO: Final = 16 << 10  # bytes of what a session keeps of its client
_FULL_SECONDS: Final = 5.0  # until a client should try again to open a stream
_LEAST_REST: Final = 0.02  # seconds between two sweeps, left to everything else
_LONGEST_REST: Final = 60.0
_ALLOWED: Final = b"GET, POST, DELETE"


class Streamable:
    """The handler of all requests at that path."""

    def __init__(
        self,
        serving: Serving,
        sessions: Sessions,
        counters: RuntimeCounters,
        *,
        later: Later | None = None,
        dispatch: Dispatch | None = None,
    ) -> None:
        """`later` sets timers, if not the event loop; `dispatch` runs the requests, if not this process."""
        self._core = core = Core(serving, counters, later, dispatch)
        self._serving = serving
        self._sessions = sessions
        self._counters = counters
        self._stateless = Stateless(core)
        self._bare = Bare(core)
        sessions.on_end = self._ended

    @property
    def bare(self) -> Handler:
        """Answers POSTs that need neither a session nor an envelope."""
        return self._bare.handle

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Look after the sessions while the block lasts; then end them and what they run."""
        sweeper = asyncio.get_running_loop().create_task(self._sweep())
        try:
            yield
        finally:
            sweeper.cancel()
            self._sessions.close()
            await self._core.close()

    def end_gone(self, gone: Holders) -> None:
        """End the sessions of principals without a valid token, and calls and streams of single tokens."""
        for key in gone.keys:
            self._sessions.end_principal(key)
        self._core.open_responses.end_gone(gone)
        self._core.dispatcher.end_gone(gone)

    def handle(self, request: Request, responder: Responder) -> None:
        request.charge = self._charge
        version = request.headers.get(VERSION)
        # A session knows its version, even if the client's header names one that doesn't exist.
        stateless = version in MODERN or (
            version is not None and version not in HANDSHAKE and SESSION_ID not in request.headers
        )
        if request.repeated and (name := doubled(request.repeated)) is not None:
            self._refuse_doubled(request, responder, name, stateless)
            return
        if request.method == "POST":
            self._post(request, responder, version if stateless else None)
        elif stateless:
            refuse(responder, 405, INVALID_REQUEST, _POST_ONLY, headers=((b"allow", b"POST"),))
        else:
            self._other(request, responder)

    def _charge(self, request: Request) -> Answer | None:
        """Count a request that is refused here; returns an answer if its principal sends too many."""
        error = self._serving.charge(request.principal)
        if error is None:
            return None
        body = error_payload(None, error.code, error.message, error.data)
        return status_of(error, stateless=False), body, JSON, headers_of(error)

    def _post(self, request: Request, responder: Responder, version: str | None) -> None:
        """`version` is that of a stateless request."""
        message = parsed(request, responder, self._counters)
        if message is None:
            return
        oauth = self._serving.access.oauth
        stateless = version is not None
        if oauth is not None and self._lacks_scope(oauth, request, responder, message, stateless=stateless):
            return
        if version is not None:
            self._stateless.serve(request, responder, message, version)
        elif (session_id := request.headers.get(SESSION_ID)) is not None:
            self._in_session(request, responder, message, session_id)
        else:
            self._without_session(request, responder, message)

    def _lacks_scope(
        self,
        oauth: ResourceServer,
        request: Request,
        responder: Responder,
        message: PlainRequest | Message,
        *,
        stateless: bool,
    ) -> bool:
        """Refuse a call of a tool that another scope of OAuth would open; whether it was refused.

        A client of 2026-07-28 adds the scopes that it has itself. An older one asks for those in the answer
        alone, so they are repeated for it.
        """
        if not isinstance(message, PlainRequest) or message.method != _CALL:
            return False
        tool = (message.params or {}).get("name")
        scope = oauth.missing_scope(request.principal, tool) if isinstance(tool, str) else None
        if scope is None:
            return False
        scopes = [scope] if stateless else [*oauth.granted_scopes(request.principal), scope]
        self._serving.access.refused["scope"] += 1
        reason = f"the token lacks the scope '{scope}', which this call takes"
        challenge = oauth.challenge("insufficient_scope", reason, scopes)
        headers = ((b"www-authenticate", challenge),)
        refuse(responder, 403, INVALID_REQUEST, reason, message.id, headers=headers)
        return True

    # ---- sessions ---------------------------------------------------------------------------

    def _without_session(
        self, request: Request, responder: Responder, message: PlainRequest | Message
    ) -> None:
        if not isinstance(message, PlainRequest):
            self._no_session(responder)
        elif message.method == _INITIALIZE:
            self._begin(request, responder, message)
        elif self._serving.bare and VERSION not in request.headers:
            self._bare.serve(request, responder, message)
        else:
            self._no_session(responder, message)

    def _begin(self, request: Request, responder: Responder, message: PlainRequest) -> None:
        takes = negotiated(request, responder, self._counters, message.id)
        if takes is None:
            return
        if len(request.body) > _LONGEST_HELLO and len(compact(message.params or {})) > _LONGEST_HELLO:
            self._counters.refused["body"] += 1
            reason = f"the parameters of '{_INITIALIZE}' have more than {_LONGEST_HELLO} bytes: send fewer"
            refuse(responder, 400, INVALID_PARAMS, reason, message.id)
            return
        key = request.principal.key
        if (refused := self._sessions.admit(key)) is not None:
            headers = (retry_after(refused.seconds),)
            refuse(responder, refused.status, refused.code, refused.reason, message.id, headers=headers)
            return
        request.client = key
        handshake = HandshakeExchange(self._sessions, message, request, responder, takes)
        self._core.dispatcher.request(handshake, handshake.connection, message.method, message.params)

    def _in_session(
        self, request: Request, responder: Responder, message: PlainRequest | Message, session_id: str
    ) -> None:
        request_id = message.id if isinstance(message, PlainRequest) else None
        session = self._found(request, responder, session_id, request_id)
        if session is None:
            return
        takes = negotiated(request, responder, self._counters, request_id)
        if takes is None:
            return
        if isinstance(message, PlainRequest):
            self._call(session, request, responder, message, takes)
            return
        responder.answer(202, b"", JSON, session_headers(session))
        if isinstance(message, JSONRPCNotification):
            self._notified(session, request, message)
        elif not isinstance(message, JSONRPCRequest):
            session.client_requests.resolve(message)

    def _call(
        self,
        session: Session,
        request: Request,
        responder: Responder,
        message: PlainRequest,
        takes: Accepted,
    ) -> None:
        if message.method == _INITIALIZE:
            reason = f"this session has begun already: send '{_INITIALIZE}' without {SESSION_ID} for another"
            refuse(responder, 400, INVALID_REQUEST, reason, message.id)
            return
        core = self._core
        exchange = SessionExchange(core, session, message, request, responder, takes)
        if not session.begin_call(message.id, exchange):
            self._counters.refused["id"] += 1
            reason = f"a request with the id {message.id!r} is still in flight"
            # Without the id: under this one the first request's own answer is still due.
            refuse(responder, 400, INVALID_REQUEST, reason)
            return
        if (quick := core.quick(message, request.client, session.version)) is not None:
            exchange.reply(quick)
            return
        core.dispatcher.request(exchange, session_connection(session), message.method, message.params)

    def _notified(self, session: Session, request: Request, message: JSONRPCNotification) -> None:
        method, params = message.method, message.params
        if method == _CANCELLED:
            cancelled = cancelled_request_id_from_params(params)
            call = session.find_call(cancelled) if cancelled is not None else None
            if isinstance(call, SessionExchange):
                call.cancel()
        elif method == _PROGRESS:
            session.client_requests.progress(params)
        elif method == _INITIALIZED:
            session.mark_initialized()
        connection = session_connection(session)
        self._core.dispatcher.notification(Notice(request, connection.outbound), connection, method, params)

    def _found(
        self, request: Request, responder: Responder, session_id: str, request_id: RequestId | None = None
    ) -> Session | None:
        """The session that a request belongs to; None: it was refused."""
        session = self._sessions.find(session_id, request.principal.key)
        if session is None:
            self._counters.refused["session"] += 1
            refuse(responder, 404, INVALID_REQUEST, "Session not found", request_id)
            return None
        version = request.headers.get(VERSION)
        if version is not None and version != session.version:
            self._counters.refused["version"] += 1
            reason = f"the {VERSION} header says {version[:64]}, but this session agreed on {session.version}"
            refuse(responder, 400, INVALID_REQUEST, f"Bad Request: {reason}", request_id)
            return None
        request.session_id, request.session = session.id, session
        principal = request.principal
        request.client = principal.key if principal.has_token else f"session:{session.id}"
        return session

    # ---- GET and DELETE ---------------------------------------------------------------------

    def _other(self, request: Request, responder: Responder) -> None:
        serve = {"GET": self._stream, "DELETE": self._delete}.get(request.method)
        if serve is None:
            refuse(responder, 405, INVALID_REQUEST, "Method Not Allowed", headers=((b"allow", _ALLOWED),))
            return
        session_id = request.headers.get(SESSION_ID)
        if session_id is None:
            self._no_session(responder)
            return
        session = self._found(request, responder, session_id)
        if session is not None:
            serve(session, request, responder)

    def _stream(self, session: Session, request: Request, responder: Responder) -> None:
        if not accepted(request.headers.get("accept", "")).events:
            self._counters.refused["accept"] += 1
            refuse(responder, 406, INVALID_REQUEST, _EVENTS)
            return
        if not self._has_room(session):
            self._counters.refused["streams"] += 1
            reason = "this token or address has as many event streams open as it may: end one first"
            refuse(responder, 429, BUSY, reason, headers=(retry_after(_FULL_SECONDS),))
            return
        last = request.headers.get(LAST_EVENT_ID)
        stream = session.log.resume(last) if last else session.log.open_get_stream()
        if stream is None:
            self._counters.refused["event"] += 1
            reason = f"Bad Request: '{last[:64] if last else ''}' is no event of this session"
            refuse(responder, 400, INVALID_REQUEST, reason)
            return
        if not last and can_resume(session.version):
            stream.prime()  # the SDK's server doesn't: a client that loses the first message couldn't resume
        responder.begin_events(session_headers(session))
        stream.attach(responder)
        self._core.open_responses.add(responder, (request.principal, stream))

    def _has_room(self, session: Session) -> bool:
        """Whether a GET may begin; a session that has one gives up its oldest for it."""
        most = self._sessions.limits.max_connections_each
        if most is None or self._sessions.open_gets_of(session.principal) < most:
            return True
        return session.log.end_oldest_get()

    def _delete(self, session: Session, request: Request, responder: Responder) -> None:
        self._sessions.delete(session.id, session.principal)
        answer = partial(responder.answer, 200, b"", JSON, session_headers(session))
        self._sessions.journal.when_stored(answer)  # a restarted server must not know the session either

    # ---- refusals and the end ---------------------------------------------------------------

    def _no_session(self, responder: Responder, message: PlainRequest | None = None) -> None:
        self._counters.refused["session"] += 1
        reason, request_id = _NO_SESSION, None
        if message is not None:
            request_id = message.id
            if has_envelope(message.params):
                reason = f"{_NO_SESSION}, and no {VERSION} header as a request without one has: send either"
        refuse(responder, 400, INVALID_REQUEST, reason, request_id)

    def _refuse_doubled(self, request: Request, responder: Responder, name: str, stateless: bool) -> None:
        self._counters.refused["doubled"] += 1
        reason = f"{name} header appears more than once"
        if not stateless or name not in ROUTING or request.method != "POST":
            refuse(responder, 400, INVALID_REQUEST, reason)
            return
        try:
            message = parse_request(request.body)
        except RefusedMessage as refused:
            refuse(responder, 400, refused.code, refused.reason, refused.request_id)
            return
        request_id = message.id if isinstance(message, PlainRequest) else None
        refuse(responder, 400, HEADER_MISMATCH, reason, request_id)

    def _ended(self, session: Session) -> None:
        """Have the handlers of a session that ended clean up."""
        connection: Connection | None = session.connection
        if connection is not None:
            session.connection = None
            self._core.dispatcher.clean_up(connection)
        self._core.dispatcher.session_ended(session.id, session.ended or "stopped")

    async def _sweep(self) -> None:
        """End sessions when their time has come."""
        while True:
            try:
                rest = self._sessions.sweep() - self._sessions.clock()
            except Exception:  # or no session would ever end again
                logger.exception("a sweep of the sessions failed", extra={"event": "sweep_failed"})
                rest = _LONGEST_REST
            await asyncio.sleep(min(max(_LEAST_REST, rest), _LONGEST_REST))
