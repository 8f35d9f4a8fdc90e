"""Timers: each function is called once, when its time has come, unless it was cancelled."""

from __future__ import annotations

import asyncio

from longwire.dispatch.core import Timers


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


async def test_one_that_is_added_later_waits_for_its_own_time() -> None:
    loop, timers = asyncio.get_running_loop(), Timers()
    due: list[float] = []
    over = asyncio.Event()

    def again() -> None:
        due.append(loop.time())
        timers(0.05, over.set)

    timers(0.05, again)
    began = loop.time()
    await asyncio.wait_for(over.wait(), 10)
    assert loop.time() - began >= 0.099


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


async def test_nothing_is_called_after_the_end() -> None:
    timers, said = Timers(), list[str]()
    timers(0.0, lambda: said.append("late"))
    timers.close()
    over = asyncio.Event()
    asyncio.get_running_loop().call_later(0.01, over.set)
    await over.wait()
    assert said == []
