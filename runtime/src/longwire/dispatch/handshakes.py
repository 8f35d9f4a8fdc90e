"""The handshake: a request that begins a session if it succeeds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

from mcp.server.connection import Connection
from mcp.shared.dispatcher import CallOptions
from mcp_types import ErrorData
from mcp_types.version import LATEST_HANDSHAKE_VERSION

from longwire.dispatch.connections import NO_CHANNEL
from longwire.dispatch.exchange import Cancellable, HttpExchange
from longwire.dispatch.session_exchange import session_headers
from longwire.principals.limits import RETRY_AFTER
from longwire.sessions.registry import Sessions, SessionsFull
from longwire.wire.http.request import Request, Responder
from longwire.wire.mcp_headers import Accepted, can_resume
from longwire.wire.messages import PlainRequest
from longwire.wire.replies import JSON, result_payload


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

    async def notify(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> None:
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
        responder, headers = self._responder, session_headers(session)
        if not self._accepted.events_first:
            # So that no client has a session that a restarted server doesn't know.
            session.when_saved(partial(responder.answer, 200, payload, JSON, headers))
            return
        stream = session.log.open_request_stream(self.request_id)
        if can_resume(session.version):
            stream.prime()
        responder.begin_events(headers)
        stream.attach(responder)
        stream.add(payload, "reply")

    def wait(self, task: Cancellable) -> None:
        super().wait(task)

        def left() -> None:
            if not self.is_over:  # no session should begin whose client has gone
                task.cancel()

        self._responder.on_gone(left)
