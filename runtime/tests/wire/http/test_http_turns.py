"""Large messages take turns: one at a time, each principal in turn, a bounded number of bytes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from fake_responder import FakeResponder
from longwire.principals.principal import PRINCIPAL, Principal
from longwire.wire.http.request import Request, Responder
from longwire.wire.http.turns import LARGE, MOST_WAITING_EACH, Turns

ALICE, BOB = Principal.of_address("10.0.0.1"), Principal.of_address("10.0.0.2")


class Room:
    """Turns with a handler that takes a second for each message, and a loop that turns by hand."""

    def __init__(self) -> None:
        self.now = 0.0
        self.handled: list[tuple[str | None, int]] = []  # by whom, and how many bytes
        self.rests: list[float] = []
        self.refused: Counter[str] = Counter()
        self._due: list[Callable[[], None]] = []
        self._handle = Turns(self._later, lambda: self.now).handler(self._inner, self.refused)

    def send(self, principal: Principal, size: int = LARGE + 1, text: bytes = b"x") -> FakeResponder:
        request, answer = Request("POST", "/mcp", body=text * size, principal=principal), FakeResponder()
        before = PRINCIPAL.set(principal)
        self._handle(request, answer)
        PRINCIPAL.reset(before)
        return answer

    def turn(self) -> None:
        self._due.pop()()

    def _inner(self, request: Request, responder: Responder) -> None:
        principal = PRINCIPAL.get()
        self.handled.append((principal and principal.key, len(request.body)))
        self.now += 1.0
        if request.body.startswith(b"bad"):
            raise ValueError
        responder.answer(200)

    def _later(self, seconds: float, call: Callable[[], None]) -> None:
        assert not self._due, "two turns at a time"
        self.rests.append(seconds)
        self._due.append(call)


def test_large_messages_of_one_principal_are_handled_one_at_a_time() -> None:
    room = Room()
    answers = [room.send(BOB) for _ in range(3)]
    assert [answer.status for answer in answers] == [200, None, None]
    for done in (2, 3):
        room.turn()
        assert len(room.handled) == done
    assert room.rests == [1.0, 1.0, 1.0]  # as long as each took
    room.turn()
    assert room.send(BOB).status == 200  # nobody waits any more


def test_small_messages_and_other_principals_do_not_wait_for_them() -> None:
    room = Room()
    for _ in range(5):
        room.send(BOB)
    assert room.send(ALICE, LARGE).status == 200
    late = room.send(ALICE)
    room.turn()
    room.turn()
    assert late.status == 200
    assert [name for name, _ in room.handled] == [BOB.key, ALICE.key, BOB.key, ALICE.key]


def test_bytes_that_wait_are_bounded_and_a_refusal_takes_its_turn() -> None:
    room = Room()
    size = MOST_WAITING_EACH // 2
    answers = [room.send(BOB, size) for _ in range(4)]
    late = room.send(ALICE, size)  # for whom there is room
    assert answers[3].status is None  # or its client would send the next one at once
    for _ in range(4):
        room.turn()
    assert [answer.status for answer in (*answers, late)] == [200, 200, 200, 429, 200]
    assert room.refused == {"calls": 1}


def test_a_message_whose_client_has_gone_is_not_looked_at() -> None:
    room = Room()
    room.send(BOB)
    room.send(BOB).drop()
    room.turn()
    assert len(room.handled) == 1


def test_a_failure_is_answered_and_the_others_go_on(caplog: pytest.LogCaptureFixture) -> None:
    room = Room()
    room.send(BOB)
    bad, good = room.send(BOB, text=b"bad"), room.send(BOB)
    room.turn()
    room.turn()
    assert (bad.status, good.status) == (500, 200)
    assert "failed" in caplog.text
