"""The pages that are open, and the wait for the last of them."""

from __future__ import annotations

import asyncio

import pytest

from acuity.agents.embedded.presence import Watchers


def test_pages_come_and_go() -> None:
    watchers = Watchers()
    assert watchers.heard("one")
    assert not watchers.heard("one")
    assert watchers.heard("two")
    assert len(watchers) == 2
    watchers.left("one")
    watchers.left("one")  # of its own accord, and then its connection's
    assert len(watchers) == 1


def test_a_silent_page_counts_as_closed_until_it_speaks() -> None:
    now = 0.0
    watchers = Watchers(silence=10.0, clock=lambda: now)
    watchers.heard("page")
    now = 10.5
    assert len(watchers) == 0
    watchers.heard("page")
    assert len(watchers) == 1


@pytest.mark.usefixtures("leaping_loop")
async def test_the_wait_ends_when_the_last_has_left_and_not_for_a_reload() -> None:
    watchers = Watchers()
    watchers.heard("first")
    waiting = asyncio.ensure_future(watchers.everybody_left(0.05))
    await asyncio.sleep(0)
    watchers.left("first")
    await asyncio.sleep(0)
    watchers.heard("reloaded")
    await asyncio.sleep(0.1)  # longer than the patience: the page came back in time
    assert not waiting.done()
    watchers.left("reloaded")
    await waiting
