"""Signs of life on event streams, what is kept of streams that have ended, and timers."""

from __future__ import annotations

import asyncio
import gc
import weakref

from fake_responder import FakeResponder
from longwire.dispatch.core import PING, OpenResponses, Timers


async def test_open_streams_whose_clients_read_get_a_comment() -> None:
    heartbeats = OpenResponses(60.0)
    reading, slow, ended = FakeResponder(), FakeResponder(reading=False), FakeResponder()
    for responder in (reading, slow, ended):
        heartbeats.add(responder)
    slow.send(b"data: 1\n\n")
    ended.end()
    heartbeats.beat()
    assert (reading.text, slow.text) == (PING, b"data: 1\n\n")
    heartbeats.close()


async def test_streams_that_ended_are_forgotten_long_before_the_next_comment() -> None:
    heartbeats, lasting, seen = OpenResponses(3600.0), FakeResponder(), weakref.WeakSet[FakeResponder]()
    heartbeats.add(lasting)
    for _ in range(1000):
        responder = FakeResponder()
        seen.add(responder)
        heartbeats.add(responder)
        responder.end()
    del responder
    gc.collect()
    assert len(seen) < 40
    heartbeats.beat()
    assert lasting.text == PING
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
