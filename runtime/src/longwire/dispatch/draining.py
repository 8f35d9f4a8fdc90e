"""Draining a runtime: clients are told when to come back, sessions are given up, and nothing is lost.

    begin ─► calls in flight go on, new ones wait if others will have the session ─► leave ─► all go elsewhere

Messages that a client hasn't taken by then stay in the store, for the server that continues its session.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from typing import Final, Literal, TypeAlias

from longwire.cluster.forwarding import REFUSED
from longwire.principals.limits import STOPPING
from longwire.sessions.registry import Sessions
from longwire.wire.http.request import Handler, Request, Responder
from longwire.wire.mcp_headers import SESSION_ID
from longwire.wire.messages import PlainRequest, RefusedMessage, parse_request
from longwire.wire.replies import refuse, retry_after

logger: Final = logging.getLogger(__name__)

_MOVED: Final = (REFUSED.encode(), b"moved")  # a node that passed a request on looks for its session again
_SENTENCE: Final = "the server is stopping: connect again later"
_UNABLE: Final = "nothing can be run here now: try again later"
_AGAIN: Final = 1.0  # seconds until a client should try again
_MOST_HELD: Final = 1024  # requests that wait
PATIENCE: Final = 2.0  # seconds for the store, and for giving the sessions up
# Milliseconds after which clients should come back, each after another time or all would come at once: to
# another node, or to the one that is started in place of this one. The more streams, the longer the time.
_TO_ANOTHER: Final = (100, 1000)
_TO_THE_NEXT: Final = (2000, 4000)
_EACH: Final = 10  # for each stream: 100 sessions in a second are continued beside all other work
_LATEST: Final = 60_000

_Phase: TypeAlias = Literal["serving", "draining", "leaving", "left"]


class Draining:
    """The handlers of a runtime, as long as it serves and while it leaves."""

    def __init__(
        self,
        sessions: Sessions,
        release: Callable[[], Awaitable[None]] | None = None,
        unable: Callable[[], bool] = lambda: False,
    ) -> None:
        """`release` gives the sessions up, so that other nodes continue them at once.

        While this node is `unable` to run anything, what belongs to no session goes to another node.
        """
        self._unable = unable
        self._sessions = sessions
        self._release = release
        self._phase: _Phase = "serving"
        self._held: list[tuple[Request, Responder]] = []

    def local(self, inner: Handler) -> Handler:
        """The handler of this node's own sessions; new calls wait while it drains, if other nodes go on."""

        def handle(request: Request, responder: Responder) -> None:
            if self._phase == "serving" and self._is_better_elsewhere(request):
                self._elsewhere(request, responder, _UNABLE)
            elif self._phase == "serving" or self._release is None or _call(request) is None:
                inner(request, responder)  # answers of clients, and streams of calls, are still of use
            elif SESSION_ID in request.headers:
                self._when_free(request, responder)
            else:
                self._elsewhere(request, responder)

        return handle

    def public(self, inner: Handler) -> Handler:
        """The handler of a whole port. It holds requests once sessions are given up: none may find one."""

        def handle(request: Request, responder: Responder) -> None:
            (self._when_free if self._phase in ("leaving", "left") else inner)(request, responder)

        return handle

    def begin(self) -> None:
        """Let new calls of sessions wait."""
        if self._phase == "serving":
            self._phase = "draining"

    async def leave(self, patience: float = PATIENCE) -> None:
        """Send all clients elsewhere, and give the sessions up.

        The store, and giving up, each have so many seconds.
        """
        if self._phase in ("leaving", "left"):
            return
        self._phase = "leaving"
        await self._stored(patience)  # and so written to those who are connected
        self._dismiss()
        await self._stored(patience)
        self._sessions.close()
        if self._release is not None:
            await self._give_up(self._release, patience)
        self._phase = "left"
        held, self._held = self._held, []
        for request, responder in held:
            self._elsewhere(request, responder)

    def _is_better_elsewhere(self, request: Request) -> bool:
        """Whether another node can run a request that this one can't."""
        if self._release is None or SESSION_ID in request.headers or not self._unable():
            return False
        return _call(request) is not None

    def _when_free(self, request: Request, responder: Responder) -> None:
        """Send a request elsewhere as soon as its session is free."""
        if self._phase == "left" or len(self._held) >= _MOST_HELD:
            self._elsewhere(request, responder)
        else:
            self._held.append((request, responder))

    def _elsewhere(self, request: Request, responder: Responder, sentence: str = _SENTENCE) -> None:
        """Send a request to another server.

        After a 421 proxies may send any request again, at once, to another node (RFC 9110, 15.5.20): it was
        not carried out. A node that passed it on looks for its session again.
        """
        request_id = None if (message := _call(request)) is None else message.id
        headers = (retry_after(_AGAIN), _MOVED)
        status = 503 if self._release is None else 421
        refuse(responder, status, STOPPING, sentence, request_id, headers=headers)

    def _dismiss(self) -> None:
        """End the event streams, each with when its client should come back."""
        if not self._sessions.journal.durable and self._release is None:
            return  # nobody continues these sessions
        first, last = _TO_THE_NEXT if self._release is None else _TO_ANOTHER
        streams = [stream for session in self._sessions for stream in session.attached_streams()]
        last = max(last, min(first + len(streams) * _EACH, _LATEST))
        for stream in streams:
            stream.dismiss(random.randint(first, last))
        if streams:
            told = {"event": "dismissed", "streams": len(streams), "seconds": last / 1000}
            logger.info("told %d event streams to come back", len(streams), extra=told)

    async def _stored(self, patience: float) -> None:
        """Wait until the store has everything, but not for long if it takes nothing."""
        if not await self._sessions.journal.flush(patience):
            logger.warning("the store is slow: going on without it", extra={"event": "stopping"})

    async def _give_up(self, release: Callable[[], Awaitable[None]], patience: float) -> None:
        try:
            async with asyncio.timeout(patience):
                await release()
        except Exception as error:  # others take the sessions over when this node's lease has ended
            reason = str(error) or type(error).__name__
            logger.warning("the sessions could not be given up: %s", reason, extra={"event": "stopping"})


def _call(request: Request) -> PlainRequest | None:
    """The call in a request; None: it is something else."""
    if request.method != "POST":
        return None
    try:
        message = parse_request(request.body)
    except RefusedMessage:
        return None
    return message if isinstance(message, PlainRequest) else None
