"""The traffic between this node and the others, put together around the node's own handler.

The port for other nodes hands signed requests to that handler, never to a third node. All others are refused,
counted and logged. No other port looks at these signatures.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import AsyncIterator, Container
from contextlib import asynccontextmanager
from contextvars import Context
from typing import Final, TypeAlias

from mcp_types import INVALID_REQUEST

from longwire.cluster.cluster_handler import ClusterHandler
from longwire.cluster.cluster_node import ClusterNode
from longwire.cluster.forwarding import REFUSED, Forwarder
from longwire.cluster.nodes import Nodes, NodeStatus
from longwire.cluster.ownership import SessionOwnership
from longwire.cluster.signatures import FORWARDED, BadSignature, Signatures, passed_headers, unsigned
from longwire.counters import RuntimeCounters
from longwire.errors import ClusterUnavailable
from longwire.principals.limits import BUSY
from longwire.principals.principal import PRINCIPAL
from longwire.principals.rates import Allowances, Rate
from longwire.wire.http.request import CURRENT_ID, Handler, Request, Responder
from longwire.wire.mcp_headers import SESSION_ID
from longwire.wire.replies import refuse
from longwire.wire.serving import Serving

logger: Final = logging.getLogger(__name__)

_TOLD: Final = Rate(10, 60.0)  # log lines about one address and reason
_FORBIDDEN: Final = "this port is for the other nodes of the cluster"  # strangers are told no more
_OPERATORS: Final = "/admin/"
_MOVED: Final = "this node doesn't have the session"


class PeersHandler:
    """Answers requests that other nodes pass on."""

    def __init__(
        self, local: Handler, sessions: Container[str], signatures: Signatures, refused: Counter[str]
    ) -> None:
        """`local` serves this node's own sessions alone; `refused` counts, by reason."""
        self._local = local
        self._sessions = sessions
        self._signatures = signatures
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
        try:
            sender = self._signatures.check(request)
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
        reason = (REFUSED.encode(), error.word.encode())
        refuse(responder, 403, INVALID_REQUEST, _FORBIDDEN, headers=(reason,))


_FRESH: Final = 1.0  # seconds that an answer counts
_Alive: TypeAlias = frozenset[tuple[str, str]]  # labels and incarnations


@asynccontextmanager
async def traffic(
    local: Handler,
    sessions: Container[str],
    ownership: SessionOwnership,
    serving: Serving,
    counters: RuntimeCounters,
    cluster: ClusterNode,
) -> AsyncIterator[tuple[Handler, PeersHandler, Forwarder]]:
    """The handlers of a node's two ports while the block lasts.

    `local` serves this node's sessions, whose ids `sessions` has.
    """
    nodes = cluster.nodes
    signatures = Signatures(cluster.keys.forwarding, nodes.label, nodes.incarnation, nodes.link.now)
    forwarder = Forwarder(signatures, serving.limits, Liveness(nodes))
    handler = ClusterHandler(local, sessions, ownership, forwarder, counters, nodes.incarnation)
    undo = serving.access.tokens.on_gone(forwarder.end_gone)
    try:
        yield handler.handle, PeersHandler(local, sessions, signatures, counters.refused), forwarder
    finally:
        undo()
        await handler.close()
        forwarder.close()


class Liveness:
    """Says whether a node lives, as far as is known: while Redis doesn't answer, every node does."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes
        self._asked = 0.0
        self._asking: asyncio.Task[_Alive | None] | None = None

    async def __call__(self, place: NodeStatus) -> bool:
        if self._asking is None or time.monotonic() - self._asked >= _FRESH:
            self._asked = time.monotonic()
            self._asking = asyncio.create_task(self._ask(), context=Context())
        alive = await asyncio.shield(self._asking)
        return alive is None or (place.label, place.incarnation) in alive

    async def _ask(self) -> _Alive | None:
        try:
            found = await self._nodes.statuses()
        except ClusterUnavailable:
            return None
        return frozenset((one.label, one.incarnation) for one in found if one.alive)
