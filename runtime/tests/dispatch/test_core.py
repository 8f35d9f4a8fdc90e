"""Signs of life on event streams, what is kept of streams that have ended, and timers."""

from __future__ import annotations

import asyncio
import gc
import weakref
from typing import Any

from longwire.dispatch.core import PING, OpenResponses, Timers


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


async def test_functions_are_called_in_their_order_and_cancelled_ones_never() -> None:
    timers, said, over = Timers(), list[str](), asyncio.Event()
    timers(0.02, lambda: said.append("a"))
    timers(0.02, lambda: said.append("never")).cancel()
    timers(0.01, lambda: said.append("sooner"))
    timers(0.02, lambda: said.append("b"))
    timers(0.03, over.set)
    began = asyncio.get_running_loop().time()
    await asyncio.wait_for(over.wait(), 10)
    assert said == ["sooner", "a", "b"]
    assert asyncio.get_running_loop().time() - began >= 0.029


async def test_one_may_cancel_the_next_or_fail() -> None:
    loop, timers, said = asyncio.get_running_loop(), Timers(), list[str]()
    problems: list[object] = []
    loop.set_exception_handler(lambda _, context: problems.append(context["exception"]))
    over = asyncio.Event()

    def first() -> None:
        second.cancel()
        raise ValueError

    timers(0.0, first)
    second = timers(0.0, lambda: said.append("second"))
    timers(0.0, over.set)
    await asyncio.wait_for(over.wait(), 10)
    assert said == []
    assert len(problems) == 1
