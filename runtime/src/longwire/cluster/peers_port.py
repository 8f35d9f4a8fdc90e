"""The handler of the port for other nodes: signed requests go to this node's own handler, never on.

Everything else is refused, counted and logged. No other port looks at these signatures.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Container
from typing import Final

from mcp_types import INVALID_REQUEST

from longwire.cluster.forwarding import REFUSED
from longwire.cluster.signatures import FORWARDED, BadSignature, Verifier, passed_headers, unsigned
from longwire.principals.limits import BUSY
from longwire.principals.principal import PRINCIPAL
from longwire.principals.rates import Allowances, Rate
from longwire.wire.http.request import CURRENT_ID, Handler, Request, Responder
from longwire.wire.mcp_headers import SESSION_ID
from longwire.wire.replies import refuse

logger: Final = logging.getLogger(__name__)

_TOLD: Final = Rate(10, 60.0)  # log lines about one address and reason
_FORBIDDEN: Final = "this port is for the other nodes of the cluster"  # strangers are told no more
_OPERATORS: Final = "/admin/"
_MOVED: Final = "this node doesn't have the session"


class PeersHandler:
    """Answers requests that other nodes pass on."""

    def __init__(
        self, local: Handler, sessions: Container[str], verifier: Verifier, refused: Counter[str]
    ) -> None:
        """`local` serves this node's own sessions alone; `refused` counts, by reason."""
        self._local = local
        self._sessions = sessions
        self._verifier = verifier
        self._refused = refused
        self._told = Allowances()
        self.operators: Handler | None = None  # of what operators ask about this node, at another one

    def admits(self, request: Request, responder: Responder) -> bool:
        """Whether the body of a request is worth reading; answers it and returns False if it isn't signed.

        Whether the signature is right can be known with the body only.
        """
        if FORWARDED in request.headers:
            return True
        self._refuse(request, responder, unsigned())
        return False

    def handle(self, request: Request, responder: Responder) -> None:
        """Answer a request of another node."""
        try:
            sender = self._verifier.check(request)
        except BadSignature as error:
            self._refuse(request, responder, error)
            return
        if self.operators is not None and request.path.startswith(_OPERATORS):
            self.operators(request, responder)
            return
        session_id = request.headers.get(SESSION_ID)
        if session_id is None or session_id not in self._sessions:
            # Not 404, which would end the session for the client: the other node looks again where it is.
            self._refused["peer_moved"] += 1
            refuse(responder, 421, BUSY, _MOVED, headers=((REFUSED.encode(), b"moved"),))
            return
        request.headers = passed_headers(request.headers)
        request.principal, request.address, request.peer = sender.principal, sender.address, sender.peer
        before, other = PRINCIPAL.set(sender.principal), CURRENT_ID.set(request.id)
        try:
            self._local(request, responder)
        finally:
            PRINCIPAL.reset(before)
            CURRENT_ID.reset(other)

    def _refuse(self, request: Request, responder: Responder, error: BadSignature) -> None:
        self._refused[f"peer_{error.word}"] += 1
        told = request.address, error.word
        if self._told.wait(told, _TOLD) == 0:
            self._told.take(told, _TOLD)
            fields = {"event": "peer_refused", "address": request.address, "reason": error.word}
            logger.warning("refused a request at the port for other nodes: %s", error, extra=fields)
        refuse(
            responder, 403, INVALID_REQUEST, _FORBIDDEN, headers=((REFUSED.encode(), error.word.encode()),)
        )
