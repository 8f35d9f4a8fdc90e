"""The handler of a node's public port: sessions of other nodes are passed on, or taken over.

    request ─┬─ no session, or one of this node ─► Streamable
             └─ another's ─► Ownership.find ─┬─ its owner lives ─► passed on to it, once
                                             ├─ its owner is dead, or gave it up ─► taken over ─► Streamable
                                             ├─ nobody has it ─► 404
                                             └─ Redis doesn't answer ─► 503, to be tried again

Requests for one session that come at once share one search and one take-over. Who may use a session is
decided by the node that serves it, by the principal that this node's own checks found.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Container
from contextvars import Context
from math import inf
from typing import Final, Literal, TypeAlias

from mcp_types import INTERNAL_ERROR, RequestId

from longwire.cluster.forwarding import Forwarder, Outcome
from longwire.cluster.nodes import NodeStatus
from longwire.cluster.ownership import SessionOwnership
from longwire.counters import RuntimeCounters
from longwire.errors import ClusterUnavailable
from longwire.principals.limits import BUSY
from longwire.principals.rates import Allowances, Rate
from longwire.sessions.session import LOST_CALL
from longwire.wire.http.request import Handler, Request, Responder
from longwire.wire.mcp_headers import MODERN, SESSION_ID, VERSION
from longwire.wire.messages import PlainRequest, RefusedMessage, parse_request
from longwire.wire.replies import JSON, error_payload, refuse, retry_after
from longwire.wire.tasks import RunningTasks

logger: Final = logging.getLogger(__name__)

_ATTEMPTS: Final = 2  # to have a request answered; each may take a connection and a take-over
_SEARCH_SECONDS: Final = 6.0  # for a search with a take-over: each of its steps has 2 s
_AT_ONCE: Final = 32  # searches; when a node stops, thousands of its sessions are looked for within seconds
_METHODS: Final = frozenset({"GET", "POST", "DELETE"})  # others are refused, by any node
_LONGEST_ID: Final = 256
_FRESH: Final = 1.0  # seconds that a living owner is remembered
_MOST_FOUND: Final = 10_000
_MISSES: Final = Rate(1000, 10.0)  # searches of one token or address that find nothing; each asks Redis
_TOLD: Final = Rate(5, 60.0)  # log lines about one node and outcome
_AGAIN: Final = 1.0  # seconds until a client should try again
_TOO_MANY: Final = "too many sessions that don't exist were asked for: begin one, or try again later"
_MOVING: Final = "the session is on its way between nodes: try again"
_SILENT: Final = "the node that has this session doesn't answer: try again"
_SLOW: Final = "the session's node could not be found in time: try again"
_REJECTED: Final = (
    "the nodes of this server don't accept each other's requests: its operator has to see to it"
)
_UNUSABLE: Final = "the answer of the node that has this session is too long to be passed on"

# Where a session is: at this node, at another, or nowhere.
_Whereabouts: TypeAlias = NodeStatus | Literal["here"] | None
_Sought: TypeAlias = tuple[str, str | None]  # a session, and the incarnation of an owner that didn't answer


class ClusterHandler:
    """A handler around the node's own."""

    def __init__(
        self,
        local: Handler,
        sessions: Container[str],
        ownership: SessionOwnership,
        forwarder: Forwarder,
        counters: RuntimeCounters,
        incarnation: str,
    ) -> None:
        """`sessions` are the ids of those that this node has, and the incarnation is its own."""
        self._local = local
        self._sessions = sessions
        self._ownership = ownership
        self._forwarder = forwarder
        self._counters = counters
        self._incarnation = incarnation
        self._tasks = RunningTasks()
        self._told = Allowances()
        self._misses = Allowances()  # of principals
        self._found: dict[str, tuple[NodeStatus, float]] = {}  # owners that live, with when they were found
        self._searches: dict[_Sought, asyncio.Task[_Whereabouts]] = {}
        self._turns = asyncio.Semaphore(_AT_ONCE)

    def handle(self, request: Request, responder: Responder) -> None:
        """Answer a request, now or later, here or elsewhere."""
        session_id = request.headers.get(SESSION_ID)
        if (
            session_id is None
            or session_id in self._sessions
            or request.method not in _METHODS
            or request.headers.get(VERSION) in MODERN
            or SESSION_ID in request.repeated
            or not 0 < len(session_id) <= _LONGEST_ID
        ):
            self._local(request, responder)
        elif (wait := self._search_wait(session_id, request)) > 0:
            self._counters.refused["searches"] += 1
            refuse(responder, 429, BUSY, _TOO_MANY, _request_id(request), headers=(retry_after(wait),))
        else:
            self._tasks.spawn(self._guarded(request, responder, session_id))

    def _search_wait(self, session_id: str, request: Request) -> float:
        """Seconds until a session may be searched for; 0 for one that was found before."""
        return 0.0 if session_id in self._found else self._misses.wait(request.principal.key, _MISSES)

    async def close(self) -> None:
        await self._tasks.end()

    async def _guarded(self, request: Request, responder: Responder, session_id: str) -> None:
        try:
            await self._elsewhere(request, responder, session_id)
        except Exception:  # or the client would wait for ever
            logger.exception("a request for another node failed", extra={"event": "forward_failed"})
            if not responder.gone:
                self._later(request, responder, _SILENT)

    async def _elsewhere(self, request: Request, responder: Responder, session_id: str) -> None:
        suspect: NodeStatus | None = None  # an owner that didn't answer
        for _ in range(_ATTEMPTS):
            try:
                found = await self._search(session_id, suspect)
            except ClusterUnavailable as error:
                self._counters.refused["cluster"] += 1
                self._later(request, responder, str(error))
                return
            if responder.gone:
                return
            if not isinstance(found, NodeStatus):
                if found is None:
                    self._misses.take(request.principal.key, _MISSES)
                self._local(request, responder)  # the handler answers 404 itself, where there is none
                return
            outcome = await self._forwarder.pass_on(request, responder, found)
            if outcome is Outcome.ANSWERED:
                self._counters.requests_forwarded += 1
                return
            if outcome is Outcome.MOVED:
                self._found.pop(session_id, None)
            else:
                self._found[session_id] = found, -inf  # to be looked for again
            self._note_failure(found, outcome)
            if outcome is Outcome.LOST and request.method == "POST":
                self._lost(request, responder)
                return
            if outcome in _FINAL:
                self._later(request, responder, _FINAL[outcome])
                return
            suspect = None if outcome is Outcome.MOVED else found
        self._later(request, responder, _MOVING)

    def _note_failure(self, place: NodeStatus, outcome: Outcome) -> None:
        """Count and log it; a node that dies fails for all of its clients, and would fill the log."""
        self._counters.forwards_failed[outcome.value] += 1
        told = place.label, outcome
        if self._told.wait(told, _TOLD) == 0:
            self._told.take(told, _TOLD)
            fields = {"event": "forward_failed", "peer": place.label, "outcome": outcome.value}
            sentence = _NOT_TRUSTED if outcome is Outcome.REJECTED else _NOT_PASSED
            logger.warning(sentence, place.label, extra=fields)

    async def _search(self, session_id: str, suspect: NodeStatus | None) -> _Whereabouts:
        """Where a session is, once it can be used; requests that come at once share one search."""
        if suspect is None and (known := self._known(session_id)) is not None:
            return known
        key = session_id, suspect.incarnation if suspect is not None else None
        search = self._searches.get(key)
        if search is None:
            # In no request's context: tasks that a take-over starts belong to the session.
            search = self._searches[key] = self._tasks.spawn(self._find(session_id, suspect), Context())
            search.add_done_callback(lambda done: self._over(key, done))
        return await asyncio.shield(search)

    def _known(self, session_id: str) -> NodeStatus | None:
        """The owner that was found a moment ago; it answers itself if it no longer has the session."""
        place, at = self._found.get(session_id, (None, 0.0))
        return place if time.monotonic() - at < _FRESH else None

    def _note(self, session_id: str, place: NodeStatus) -> NodeStatus:
        if len(self._found) >= _MOST_FOUND:
            del self._found[next(iter(self._found))]
        self._found[session_id] = place, time.monotonic()
        return place

    def _over(self, key: _Sought, search: asyncio.Task[_Whereabouts]) -> None:
        del self._searches[key]
        if not search.cancelled():
            search.exception()  # has been seen, also where all who asked have gone

    async def _find(self, session_id: str, suspect: NodeStatus | None) -> _Whereabouts:
        try:
            async with self._turns, asyncio.timeout(_SEARCH_SECONDS):
                return await self._settle(session_id, suspect)
        except TimeoutError:
            raise ClusterUnavailable(_SLOW) from None

    async def _settle(self, session_id: str, suspect: NodeStatus | None) -> _Whereabouts:
        try:
            place = suspect or await self._ownership.find(session_id)
        except ClusterUnavailable:
            # Without Redis no node can take the session over: its last owner still has it, if that lives.
            place, _ = self._found.get(session_id, (None, 0.0))
            if place is None:
                raise
            return place
        if place is None or place.incarnation == self._incarnation:
            return "here" if session_id in self._sessions else None
        if place.alive and suspect is None:
            return self._note(session_id, place)
        if await self._ownership.take_over(session_id, place) is not None:
            return "here"
        place = await self._ownership.find(session_id)  # another was faster, or it ended
        if place is None or place.incarnation == self._incarnation:
            return "here" if session_id in self._sessions else None
        if not place.alive:
            raise ClusterUnavailable(_MOVING)
        return self._note(session_id, place)

    def _later(self, request: Request, responder: Responder, sentence: str) -> None:
        """Refuse a request that may be sent again."""
        refuse(responder, 503, BUSY, sentence, _request_id(request), headers=(retry_after(_AGAIN),))

    def _lost(self, request: Request, responder: Responder) -> None:
        """Answer a POST whose node died with the request: its call is lost like all others there."""
        request_id = _request_id(request)
        if request_id is None:
            self._later(request, responder, _SILENT)
            return
        self._counters.calls_lost += 1
        responder.answer(200, error_payload(request_id, INTERNAL_ERROR, LOST_CALL), JSON)


_FINAL: Final = {Outcome.SILENT: _SILENT, Outcome.UNUSABLE: _UNUSABLE, Outcome.REJECTED: _REJECTED}
_NOT_PASSED: Final = "a request could not be passed on to '%s'"
_NOT_TRUSTED: Final = (
    "the node '%s' rejects the requests of this one: give both the same secret_file and version, and see "
    "the log of that node for the reason"
)


def _request_id(request: Request) -> RequestId | None:
    """The id of the JSON-RPC request in a body; None: there is none."""
    try:
        message = parse_request(request.body)
    except RefusedMessage as refused:
        return refused.request_id
    return message.id if isinstance(message, PlainRequest) else None
