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

from longwire.dispatch.connections import session_connection
from longwire.dispatch.core import Core
from longwire.dispatch.exchange import Notice
from longwire.dispatch.session_exchange import HandshakeExchange, SessionExchange, session_headers
from longwire.dispatch.stateless import Stateless, negotiated, parsed
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
from longwire.wire.messages import Incoming, PlainRequest, RefusedMessage, parse_request
from longwire.wire.replies import JSON, error_payload, headers_of, retry_after, status_of
from longwire.wire.serving import has_envelope

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

    def __init__(self, core: Core, sessions: Sessions) -> None:
        self._core = core
        self._serving = core.serving
        self._sessions = sessions
        self._stateless = Stateless(core)
        sessions.on_end = self._ended

    @property
    def bare(self) -> Handler:
        """Answers POSTs that need neither a session nor an envelope."""
        return partial(self._core.serve, self._stateless.bare)

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
        self._core.serve(self._handle, request, responder)

    def _handle(self, request: Request, responder: Responder) -> None:
        version = request.headers.get(VERSION)
        # A session knows its version, even if the client's header names one that doesn't exist.
        stateless = version in MODERN or (
            version is not None and version not in HANDSHAKE and SESSION_ID not in request.headers
        )
        if request.repeated and (name := doubled(request.repeated)) is not None:
            raise _doubled(request, name, stateless)
        if request.method == "POST":
            self._post(request, responder, version if stateless else None)
        elif stateless:
            raise _not_allowed(_POST_ONLY, b"POST")
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
        message = parsed(request)
        if (oauth := self._serving.access.oauth) is not None:
            self._check_scope(oauth, request, message, stateless=version is not None)
        if version is not None:
            self._stateless.serve(request, responder, message, version)
        elif (session_id := request.headers.get(SESSION_ID)) is not None:
            self._in_session(request, responder, message, session_id)
        elif not isinstance(message, PlainRequest):
            raise _no_session()
        elif message.method == _INITIALIZE:
            self._begin(request, responder, message)
        elif self._serving.bare and VERSION not in request.headers:
            self._stateless.serve_bare(request, responder, message)
        else:
            raise _no_session(message)

    def _check_scope(
        self, oauth: ResourceServer, request: Request, message: Incoming, *, stateless: bool
    ) -> None:
        """Refuse a call of a tool that another scope of OAuth would open.

        A client of 2026-07-28 adds the scopes that it has itself. An older one asks for those in the answer
        alone, so they are repeated for it.
        """
        if not isinstance(message, PlainRequest) or message.method != _CALL:
            return
        tool = (message.params or {}).get("name")
        scope = oauth.missing_scope(request.principal, tool) if isinstance(tool, str) else None
        if scope is None:
            return
        scopes = [scope] if stateless else [*oauth.granted_scopes(request.principal), scope]
        reason = f"the token lacks the scope '{scope}', which this call takes"
        challenge = oauth.challenge("insufficient_scope", reason, scopes)
        headers = ((b"www-authenticate", challenge),)
        raise RefusedMessage(INVALID_REQUEST, reason, message.id, 403, counted="scope", headers=headers)

    # ---- sessions ---------------------------------------------------------------------------

    def _begin(self, request: Request, responder: Responder, message: PlainRequest) -> None:
        takes = negotiated(request, message.id)
        if len(request.body) > _LONGEST_HELLO and len(compact(message.params or {})) > _LONGEST_HELLO:
            reason = f"the parameters of '{_INITIALIZE}' have more than {_LONGEST_HELLO} bytes: send fewer"
            raise RefusedMessage(INVALID_PARAMS, reason, message.id)
        key = request.principal.key
        if (full := self._sessions.admit(key)) is not None:
            wait, status = (retry_after(full.seconds),), full.status
            raise RefusedMessage(full.code, full.reason, message.id, status, counted="", headers=wait)
        request.client = key
        handshake = HandshakeExchange(self._sessions, message, request, responder, takes)
        self._core.dispatcher.request(handshake, handshake.connection, message.method, message.params)

    def _in_session(self, request: Request, responder: Responder, message: Incoming, session_id: str) -> None:
        request_id = message.id if isinstance(message, PlainRequest) else None
        session = self._found(request, session_id, request_id)
        takes = negotiated(request, request_id)
        if isinstance(message, PlainRequest):
            self._call(session, request, responder, message, takes)
            return
        responder.answer(202, b"", JSON, session_headers(session))
        if isinstance(message, JSONRPCNotification):
            self._notified(session, request, message)
        elif not isinstance(message, JSONRPCRequest):
            session.client_requests.resolve(message)

    def _call(
        self, session: Session, request: Request, responder: Responder, message: PlainRequest, takes: Accepted
    ) -> None:
        if message.method == _INITIALIZE:
            reason = f"this session has begun already: send '{_INITIALIZE}' without {SESSION_ID} for another"
            raise RefusedMessage(INVALID_REQUEST, reason, message.id, counted="")
        core = self._core
        exchange = SessionExchange(core, session, message, request, responder, takes)
        if not session.begin_call(message.id, exchange):
            reason = f"a request with the id {message.id!r} is still in flight"
            # Without the id: under this one the first request's own answer is still due.
            raise RefusedMessage(INVALID_REQUEST, reason, counted="id")
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

    def _found(self, request: Request, session_id: str, request_id: RequestId | None = None) -> Session:
        """The session that a request belongs to."""
        session = self._sessions.find(session_id, request.principal.key)
        if session is None:
            raise RefusedMessage(INVALID_REQUEST, "Session not found", request_id, 404, counted="session")
        version = request.headers.get(VERSION)
        if version is not None and version != session.version:
            reason = f"the {VERSION} header says {version[:64]}, but this session agreed on {session.version}"
            raise RefusedMessage(INVALID_REQUEST, f"Bad Request: {reason}", request_id, counted="version")
        request.session_id, request.session = session.id, session
        principal = request.principal
        request.client = principal.key if principal.has_token else f"session:{session.id}"
        return session

    # ---- GET and DELETE ---------------------------------------------------------------------

    def _other(self, request: Request, responder: Responder) -> None:
        serve = {"GET": self._stream, "DELETE": self._delete}.get(request.method)
        if serve is None:
            raise _not_allowed("Method Not Allowed", _ALLOWED)
        session_id = request.headers.get(SESSION_ID)
        if session_id is None:
            raise _no_session()
        serve(self._found(request, session_id), request, responder)

    def _stream(self, session: Session, request: Request, responder: Responder) -> None:
        if not accepted(request.headers.get("accept", "")).events:
            raise RefusedMessage(INVALID_REQUEST, _EVENTS, status=406, counted="accept")
        if not self._has_room(session):
            reason = "this token or address has as many event streams open as it may: end one first"
            headers = (retry_after(_FULL_SECONDS),)
            raise RefusedMessage(BUSY, reason, status=429, counted="streams", headers=headers)
        last = request.headers.get(LAST_EVENT_ID)
        stream = session.log.resume(last) if last else session.log.open_get_stream()
        if stream is None:
            reason = f"Bad Request: '{last[:64] if last else ''}' is no event of this session"
            raise RefusedMessage(INVALID_REQUEST, reason, counted="event")
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

    # ---- the end ----------------------------------------------------------------------------

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


def _not_allowed(reason: str, methods: bytes) -> RefusedMessage:
    return RefusedMessage(INVALID_REQUEST, reason, status=405, counted="", headers=((b"allow", methods),))


def _no_session(message: PlainRequest | None = None) -> RefusedMessage:
    reason, request_id = _NO_SESSION, None if message is None else message.id
    if message is not None and has_envelope(message.params):
        reason = f"{_NO_SESSION}, and no {VERSION} header as a request without one has: send either"
    return RefusedMessage(INVALID_REQUEST, reason, request_id, counted="session")


def _doubled(request: Request, name: str, stateless: bool) -> RefusedMessage:
    reason, code, request_id = f"{name} header appears more than once", INVALID_REQUEST, None
    if stateless and name in ROUTING and request.method == "POST":
        try:
            message = parse_request(request.body)
        except RefusedMessage as refused:
            refused.counted = "doubled"
            return refused
        code, request_id = HEADER_MISMATCH, message.id if isinstance(message, PlainRequest) else None
    return RefusedMessage(code, reason, request_id, counted="doubled")
