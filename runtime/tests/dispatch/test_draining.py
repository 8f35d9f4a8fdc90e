"""How a runtime leaves: who is told what, what waits, and what is left for the server that follows."""

from __future__ import annotations

import json
import re
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from core_bench import cancel
from fake_journal import FakeJournal
from fake_responder import FakeResponder
from longwire.counters import RuntimeCounters
from longwire.dispatch.draining import Draining
from longwire.journal.journal import Journal
from longwire.sessions.registry import Sessions
from longwire.sessions.session import Session
from longwire.settings import WireLimits
from longwire.wire.http.request import Request, Responder
from raw_http import HELLO, call

ANSWER = {"jsonrpc": "2.0", "id": 1, "result": {}}


class Ground:
    """Sessions with a drain around a handler that answers 200."""

    def __init__(self, journal: Any = None, *how: Any) -> None:
        self.sessions = Sessions(WireLimits(), journal or Journal(), RuntimeCounters())
        self.drain = Draining(self.sessions, *how)
        self.handle = self.drain.public(self.drain.local(self._inner))
        self.seen: list[Request] = []

    def _inner(self, request: Request, responder: Responder) -> None:
        self.seen.append(request)
        responder.answer(200)

    def ask(self, message: Any = None, method: str = "POST", session: str | None = "s") -> FakeResponder:
        headers = {} if session is None else {"mcp-session-id": session}
        answer = FakeResponder()
        body = b"" if message is None else json.dumps(message).encode()
        self.handle(Request(method, "/mcp", headers=headers, body=body), answer)
        return answer

    def listening(self) -> tuple[Session, FakeResponder]:
        """A session with an open event stream."""
        session = self.sessions.begin("address:127.0.0.1", "2025-11-25", {})
        stream, answer = session.log.open_get_stream(), FakeResponder()
        answer.begin_events()
        stream.prime()
        stream.attach(answer)
        return session, answer


def node() -> tuple[Ground, list[int]]:
    """A node of a cluster, and how many sessions were left whenever it gave them up."""
    left: list[int] = []

    async def release() -> None:
        left.append(len(ground.sessions))

    ground = Ground(FakeJournal(at_once=True), release)
    return ground, left


def retries(answer: FakeResponder) -> list[int]:
    return [int(found) for found in re.findall(rb"^retry: (\d+)$", answer.text, re.MULTILINE)]


def moved(answer: FakeResponder) -> bool:
    return answer.status == 421 and answer.headers[b"longwire-refused"] == b"moved"


@pytest.mark.parametrize(
    ("clustered", "streams", "least", "most"),
    [(True, 50, 100, 1000), (False, 50, 2000, 4000), (True, 250, 100, 2600)],
)
async def test_streams_are_told_when_to_come_back_and_end(
    clustered: bool, streams: int, least: int, most: int
) -> None:
    ground = node()[0] if clustered else Ground(FakeJournal(at_once=True))
    found = [ground.listening() for _ in range(streams)]
    ground.drain.begin()
    await ground.drain.leave()
    told = [retries(answer)[-1] for _, answer in found]
    assert all(least <= retry <= most for retry in told)
    assert len(set(told)) > 20  # not all at once
    assert max(told) > 0.8 * most  # the more there are, the longer the time
    assert all(answer.ended for _, answer in found)
    assert all(session.ended == "stopped" for session, _ in found)


async def test_the_store_has_everything_before_the_sessions_end() -> None:
    """Those that are in memory alone are stored from there, so they have to be there still."""
    left: list[int] = []

    class Journal(FakeJournal):
        async def flush(self, patience: float) -> bool:
            left.append(len(ground.sessions))
            return await super().flush(patience)

    ground = Ground(Journal(at_once=True))
    ground.listening()
    await ground.drain.leave()
    assert set(left) == {1}
    assert len(ground.sessions) == 0


async def test_sessions_that_end_with_the_process_are_not_to_be_asked_for_again() -> None:
    ground = Ground()
    session, answer = ground.listening()
    before = answer.text
    await ground.drain.leave()
    assert answer.text == before
    assert ground.ask(call(1)).status == 503
    assert answer.ended
    assert session.ended == "stopped"


async def test_new_calls_wait_for_the_node_that_follows() -> None:
    ground, left = node()
    ground.listening()
    ground.drain.begin()
    late = [ground.ask(call(number)) for number in range(3)]
    assert [answer.status for answer in late] == [None, None, None]
    # What calls in flight may need is still served here.
    for message, method in ((cancel(1), "POST"), (ANSWER, "POST"), (None, "GET"), (None, "DELETE")):
        assert ground.ask(message, method).status == 200
    assert moved(ground.ask(HELLO, session=None))  # a session begins elsewhere, at once
    await ground.drain.leave()
    assert left == [0]  # all have ended before they are given up
    assert all(moved(answer) for answer in late)
    assert json.loads(late[1].body)["id"] == 1
    assert late[1].headers[b"retry-after"] == b"1"


def test_without_another_node_nobody_waits() -> None:
    ground = Ground(FakeJournal(at_once=True))
    ground.drain.begin()
    assert ground.ask(call(1)).status == 200  # the limits refuse it, with 503


@pytest.mark.parametrize("release", [anyio.lowlevel.checkpoint, None])
def test_a_node_that_can_run_nothing_sends_new_clients_elsewhere(release: Any) -> None:
    unable = [True]
    ground = Ground(FakeJournal(at_once=True), release, lambda: unable[0])
    assert ground.ask(HELLO, session=None).status == (200 if release is None else 421)
    assert ground.ask(call(1)).status == 200  # its session is here
    unable[0] = False
    assert ground.ask(HELLO, session=None).status == 200


async def test_a_node_that_has_left_takes_nothing_again() -> None:
    ground, left = node()
    await ground.drain.leave()
    for message, method in ((call(1), "POST"), (cancel(1), "POST"), (None, "GET"), (None, "DELETE")):
        assert moved(ground.ask(message, method))
    assert moved(ground.ask(HELLO, session=None))
    assert moved(ground.ask("junk"))
    assert ground.seen == []
    await ground.drain.leave()
    assert len(left) == 1


async def fails() -> None:
    raise OSError("Redis is gone")


@pytest.mark.parametrize("release", [fails, anyio.sleep_forever])
async def test_it_leaves_also_if_the_sessions_cannot_be_given_up(release: Any) -> None:
    ground = Ground(FakeJournal(at_once=True), release)
    ground.listening()
    ground.drain.begin()
    late = ground.ask(call(1))
    await ground.drain.leave(patience=0.01)
    assert moved(late)


async def test_while_sessions_are_given_up_everybody_waits() -> None:
    """Or the node that is asked next would find them still taken."""
    answers: list[FakeResponder] = []

    async def release() -> None:
        answers.extend(ground.ask(call(1), session=session) for session in ("s", None))
        answers.append(ground.ask(None, "GET"))
        assert [answer.status for answer in answers] == [None] * 3

    ground = Ground(FakeJournal(at_once=True), release)
    await ground.drain.leave()
    assert all(moved(answer) for answer in answers)
    assert ground.seen == []
