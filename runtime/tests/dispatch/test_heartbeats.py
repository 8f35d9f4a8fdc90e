"""Signs of life on event streams, and what is kept of streams that have ended."""

from __future__ import annotations

import gc
import weakref
from typing import Any

from longwire.dispatch.core import PING, OpenResponses


class Stream:
    """The part of a responder that is used here."""

    def __init__(self) -> None:
        self.gone = False
        self.unsent = 0
        self.sent: list[bytes] = []

    def send(self, events: bytes) -> None:
        self.sent.append(events)


async def test_open_streams_whose_clients_read_get_a_comment() -> None:
    heartbeats = OpenResponses(60.0)
    reading, slow, ended = streams = [Stream(), Stream(), Stream()]
    for stream in streams:
        added: Any = stream
        heartbeats.add(added)
    slow.unsent, ended.gone = 100, True
    heartbeats.beat()
    assert [stream.sent for stream in (reading, slow, ended)] == [[PING], [], []]
    heartbeats.close()


async def test_streams_that_ended_are_forgotten_long_before_the_next_comment() -> None:
    heartbeats = OpenResponses(3600.0)
    lasting: Any = Stream()
    heartbeats.add(lasting)
    seen = weakref.WeakSet[Stream]()
    for _ in range(1000):
        stream: Any = Stream()
        seen.add(stream)
        heartbeats.add(stream)
        stream.gone = True
    del stream
    gc.collect()
    assert len(seen) < 40
    heartbeats.beat()
    assert lasting.sent == [PING]
    assert len(seen) == 0
    heartbeats.close()
