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
