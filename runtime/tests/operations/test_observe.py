"""What is recorded of requests: outcomes, figures and lines of the log."""

from __future__ import annotations

import asyncio
import gc
import logging
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError
from mcp_types import CallToolResult, InputRequiredResult, TextContent

from log_lines import LogLines, logging_to_lines
from longwire.errors import ToolError
from longwire.operations.logs import CALLS, CallLines, EndedCall
from longwire.operations.metrics import Metrics
from longwire.operations.observe import Observer, shown
from longwire.product.app import build_server
from longwire.product.catalog import Answer, Call, Catalog, Tool

OBJECT = {"type": "object", "properties": {}, "additionalProperties": False}
ERAS = ["legacy", "2026-07-28"]


class Server:
    """A server with tools that end in every way, and what was counted about them."""

    def __init__(self) -> None:
        self.started = anyio.Event()
        tools = [
            Tool(name, name, name, OBJECT, run)
            for name, run in {
                "good": self._good,
                "refusing": self._refusing,
                "broken": self._broken,
                "endless": self._endless,
                "protocol": self._protocol,
                "lost": self._lost,
                "get_job": self._good,
            }.items()
        ]
        self.metrics = Metrics([tool.name for tool in tools])
        self.observer = Observer(self.metrics)
        self.sdk = build_server(Catalog(tools=tools), name="test", version="1", middleware=[self.observer])

    def counted(self, tool: str, outcome: str) -> float | None:
        return self.metrics.registry.get_sample_value(
            "longwire_mcp_calls_total", {"tool": tool, "outcome": outcome}
        )

    @property
    def in_flight(self) -> float | None:
        return self.metrics.registry.get_sample_value("longwire_mcp_calls_in_flight")

    async def _good(self, _: Call) -> Answer:
        return {"value": 1}

    async def _refusing(self, _: Call) -> Answer:
        raise ToolError("'a.yuv' does not exist: check the path")

    async def _broken(self, _: Call) -> Answer:
        raise KeyError("a bug")

    async def _endless(self, _: Call) -> Answer:
        self.started.set()
        await anyio.sleep_forever()
        raise AssertionError

    async def _protocol(self, _: Call) -> Answer:
        raise MCPError(-32602, "that capability is missing")

    async def _lost(self, _: Call) -> Answer:
        raise MCPError(-32603, "it ended before it answered", {"errorClass": "worker_lost"})


@pytest.mark.parametrize("era", ERAS)
async def test_each_call_is_a_line_and_a_count_and_every_request_is_timed(era: str) -> None:
    server = Server()
    with logging_to_lines() as lines:
        async with Client(server.sdk, mode=era) as client:
            await client.list_tools()
            for tool in ("good", "refusing", "no such\ntool", "broken"):
                await client.call_tool(tool, {})
            for tool, sentence in (("protocol", "that capability is missing"), ("lost", "it ended before")):
                with pytest.raises(MCPError, match=sentence):
                    await client.call_tool(tool, {})
            await client.call_tool("good", {})
            server.observer.flush()
        records = lines.records()
    assert any("a bug" in record.get("exception", "") for record in records)
    calls = [record for record in records if "outcome" in record]
    assert [(record["tool"], record["outcome"]) for record in calls] == [
        ("good", "ok"),
        ("refusing", "error"),
        ("unknown: no such\ntool", "error"),
        ("broken", "error"),
        ("protocol", "refused"),
        ("lost", "crashed"),
        ("good", "ok"),
    ]
    assert (calls[0]["level"], calls[0]["client"]) == ("info", "local")
    assert 0 < calls[0]["seconds"] < 60
    assert "error" not in calls[0]
    assert calls[1]["error"] == "'a.yuv' does not exist: check the path"
    assert calls[4]["error"] == "that capability is missing"
    for record in calls:
        tool = "unknown" if "unknown" in record["tool"] else record["tool"]
        assert server.counted(tool, record["outcome"]) == (2 if tool == "good" else 1)
    assert server.in_flight == 0
    timed = {
        sample.labels["method"]: sample.value
        for family in server.metrics.registry.collect()
        for sample in family.samples
        if sample.name == "longwire_mcp_request_seconds_count" and sample.value
    }
    assert (timed["tools/list"], timed["tools/call"]) == (1, 7)
    # A handshake is a request, too; notifications are none.
    assert set(timed) <= {"initialize", "server/discover", "tools/list", "tools/call"}


@pytest.mark.parametrize("era", ERAS)
async def test_a_cancelled_call_is_one(era: str) -> None:
    server = Server()
    with logging_to_lines() as lines:
        async with Client(server.sdk, mode=era) as client, anyio.create_task_group() as group:
            group.start_soon(client.call_tool, "endless", {})
            with anyio.fail_after(10):
                await server.started.wait()
                assert server.in_flight == 1
                group.cancel_scope.cancel()
        (record,) = [record for record in lines.records() if record["logger"] == CALLS.name]
    assert record["outcome"] == "cancelled"
    assert server.counted("endless", "cancelled") == 1
    assert server.in_flight == 0


def test_polling_is_logged_at_debug_only() -> None:
    async def main(level: str) -> list[str]:
        server = Server()
        with logging_to_lines(level=level) as lines:
            async with Client(server.sdk, mode="legacy") as client:
                await client.call_tool("get_job", {})
            server.observer.flush()
            assert server.counted("get_job", "ok") == 1
            return [record["logger"] for record in lines.records()]

    assert anyio.run(main, "info") == []
    heard = anyio.run(main, "debug")
    assert "longwire.product.calls" in heard
    assert "longwire.requests" in heard


def context(**changes: Any) -> Any:
    return SimpleNamespace(
        **{"method": "tools/call", "params": {"name": "good"}, "request": None, "request_id": 1, **changes}
    )


@pytest.mark.parametrize(
    ("result", "outcome"),
    [
        ({"content": [], "isError": False}, "ok"),
        ({"content": [], "resultType": "complete"}, "ok"),
        ({"resultType": "task", "task": {"taskId": "1"}}, "task"),
        ({"resultType": "input_required"}, "input_required"),
        ({"resultType": "made up"}, "ok"),
        ({"isError": True}, "error"),
        (CallToolResult(content=[TextContent(type="text", text="no")], is_error=True), "error"),
        (InputRequiredResult(request_state="x"), "ok"),
        (None, "ok"),
    ],
)
async def test_outcomes_of_every_shape_of_answer(result: Any, outcome: str) -> None:
    server = Server()

    async def answer(_: object) -> Any:
        return result

    assert await Observer(server.metrics)(context(), answer) is result
    assert server.counted("good", outcome) == 1


@pytest.mark.parametrize("params", [None, {}, {"name": None}, {"name": ["good"]}, {"name": {"a": 1}}])
async def test_malformed_calls_are_counted_too(params: Any) -> None:
    server = Server()

    async def answer(_: object) -> Any:
        raise MCPError(-32602, "Invalid request parameters")

    with pytest.raises(MCPError), logging_to_lines():
        await Observer(server.metrics)(context(params=params), answer)
    assert server.counted("unknown", "refused") == 1


@pytest.mark.parametrize(
    ("client", "text"),
    [
        ("local", "local"),
        ("address:127.0.0.1", "address:127.0.0.1"),
        ("session:0123456789abcdef0123456789abcdef", "session:01234567…"),
        ("sse:0123456789abcdef0123456789abcdef", "sse:01234567…"),
        ("session:n1-0123456789abcdef0123456789abcdef", "session:n1-01234567…"),
        ("session:01234567-89ab-cdef-0123-456789abcdef", "session:01234567…"),
        ("session:secret-0123", "session:secret-0…"),
        ("token:the-name-of-a-principal", "token:the-name-of-a-principal"),
    ],
)
def test_what_opens_doors_is_cut_short(client: str, text: str) -> None:
    assert shown(client) == text


GOOD = EndedCall(logging.INFO, "list_models", "local", "ok", 0.0012345678, None, 1e9)
BAD = GOOD._replace(outcome="error", error="no such file", ended=1e9 + 1)


def _said(lines: LogLines) -> list[str]:
    return [record["outcome"] for record in lines.records()]


@pytest.mark.usefixtures("leaping_loop")
async def test_good_news_waits_for_the_timer() -> None:
    with logging_to_lines() as lines:
        kept = CallLines()
        for count in (2, 1):  # the timer is wound up again
            for _ in range(count):
                kept.add(GOOD)
            assert _said(lines) == []
            await asyncio.sleep(1.0)
            assert _said(lines) == ["ok"] * count


async def test_lines_are_in_the_order_of_their_times() -> None:
    with logging_to_lines() as lines:
        kept = CallLines()
        kept.add(GOOD)
        logging.getLogger("longwire.other").warning("something else")
        assert [record["logger"] for record in lines.records()] == [CALLS.name, "longwire.other"]


def test_nothing_is_lost_when_the_server_ends() -> None:
    async def main() -> None:
        kept = CallLines()
        kept.add(GOOD)
        kept._timer = None  # as when the loop is gone

    with logging_to_lines() as lines:
        asyncio.run(main())
        gc.collect()
        assert _said(lines) == ["ok"]


async def test_bad_news_is_written_at_once_with_the_time_of_its_call() -> None:
    with logging_to_lines() as lines:
        kept = CallLines()
        kept.add(GOOD)
        kept.add(BAD)
        good, record = lines.records()
        kept.flush()
        assert (good["outcome"], lines.records()) == ("ok", [])
        assert datetime.fromisoformat(record.pop("time")) == datetime.fromtimestamp(BAD.ended, UTC)
        assert record == {
            "level": "info",
            "logger": CALLS.name,
            "message": "list_models error in 1.2 ms",
            "tool": "list_models",
            "client": "local",
            "outcome": "error",
            "seconds": 0.001235,
            "error": "no such file",
        }
