"""The live feed of the operator's page, without I/O: who is told what, and when nobody listens any more."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from fake_responder import FakeResponder
from longwire.admin.port import MOST, PERIOD, LiveFeed
from longwire.principals.principal import Holders, Principal
from longwire.wire.http.request import Request

pytestmark = pytest.mark.usefixtures("leaping_loop")


class Watched:
    """A feed that counts how often its state is made."""

    def __init__(self) -> None:
        self.made = 0
        self.feed = LiveFeed(self._state)

    def _state(self) -> dict[str, int]:
        self.made += 1
        return {"number": self.made}

    def open(self, principal: Principal | None = None) -> FakeResponder:
        responder = FakeResponder()
        self.feed.handle(Request("GET", "/admin/events", principal=principal), responder)
        return responder


def numbers(responder: FakeResponder) -> list[Any]:
    return [json.loads(event.data)["number"] for event in responder.events]


async def test_all_who_watch_get_the_same_state_and_nobody_else_costs_anything() -> None:
    watched = Watched()
    one, other = watched.open(), watched.open()
    assert (numbers(one), numbers(other)) == ([1], [2])
    watched.feed.announce(b"audit", {"number": 77})
    assert b"event: audit" in one.text
    assert numbers(one)[-1] == numbers(other)[-1] == 77  # at once
    await asyncio.sleep(3.5 * PERIOD)
    assert numbers(one)[1:] == numbers(other)[1:]
    one.drop()
    other.drop()
    assert len(watched.feed) == 0
    made = watched.made
    await asyncio.sleep(3 * PERIOD)
    assert watched.made == made


async def test_one_who_does_not_read_is_skipped_and_catches_up_at_once() -> None:
    watched = Watched()
    slow = watched.open()
    slow.stall()
    await asyncio.sleep(5.5 * PERIOD)
    assert len(slow.written) == 2  # what it had, and one that it has not read
    slow.read()
    await asyncio.sleep(PERIOD)
    assert numbers(slow)[-1] == watched.made
    watched.feed.close()
    assert slow.ended


async def test_the_feed_takes_a_few_and_ends_with_the_token() -> None:
    watched = Watched()
    ops = Principal.of_token("ops")
    watching = [watched.open(ops) for _ in range(MOST)]
    refused = watched.open(ops)
    assert refused.status == 503
    assert b"retry-after" in refused.headers
    watched.feed.end_gone(Holders(frozenset({"token:other"})))
    assert len(watched.feed) == MOST
    watched.feed.end_gone(Holders(frozenset({"token:ops"})))
    assert len(watched.feed) == 0
    assert all(responder.ended for responder in watching)
