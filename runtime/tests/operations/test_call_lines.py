"""When lines about calls are written, and what time they carry."""

from __future__ import annotations

import asyncio
import gc
import logging
from datetime import UTC, datetime

import pytest

from log_lines import LogLines, logging_to_lines
from longwire.operations import logs as call_lines
from longwire.operations.logs import CallLines, EndedCall

GOOD = EndedCall(logging.INFO, "list_models", "local", "ok", 0.0012345678, None, 1e9)
BAD = GOOD._replace(outcome="error", error="no such file", ended=1e9 + 1)


def _said(lines: LogLines) -> list[str]:
    return [record["outcome"] for record in lines.records()]


async def test_good_news_waits_for_the_timer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_lines, "_DELAY", 0.001)
    with logging_to_lines() as lines:
        kept = CallLines()
        kept.add(GOOD)
        kept.add(GOOD)
        assert _said(lines) == []
        written = asyncio.Event()
        asyncio.get_running_loop().call_later(call_lines._DELAY, written.set)
        await asyncio.wait_for(written.wait(), 10)
        assert _said(lines) == ["ok", "ok"]
        kept.add(GOOD)  # the timer is wound up again
        again = asyncio.Event()
        asyncio.get_running_loop().call_later(call_lines._DELAY, again.set)
        await asyncio.wait_for(again.wait(), 10)
        assert _said(lines) == ["ok"]


async def test_bad_news_is_written_at_once_and_in_order() -> None:
    with logging_to_lines() as lines:
        kept = CallLines()
        kept.add(GOOD)
        kept.add(BAD)
        assert _said(lines) == ["ok", "error"]
        kept.flush()
        assert _said(lines) == []


async def test_lines_are_in_the_order_of_their_times() -> None:
    with logging_to_lines() as lines:
        kept = CallLines()
        kept.add(GOOD)
        logging.getLogger("longwire.other").warning("something else")
        assert [record["logger"] for record in lines.records()] == [
            "longwire.product.calls",
            "longwire.other",
        ]


def test_nothing_is_lost_when_the_server_ends() -> None:
    async def main() -> None:
        kept = CallLines()
        kept.add(GOOD)
        kept._timer = None  # as when the loop is gone

    with logging_to_lines() as lines:
        asyncio.run(main())
        gc.collect()
        assert _said(lines) == ["ok"]


async def test_lines_carry_the_time_of_their_call() -> None:
    with logging_to_lines() as lines:
        kept = CallLines()
        kept.add(BAD)
        (record,) = lines.records()
        assert datetime.fromisoformat(record.pop("time")) == datetime.fromtimestamp(BAD.ended, UTC)
        assert record == {
            "level": "info",
            "logger": "longwire.product.calls",
            "message": "list_models error in 1.2 ms",
            "tool": "list_models",
            "client": "local",
            "outcome": "error",
            "seconds": 0.001235,
            "error": "no such file",
        }
