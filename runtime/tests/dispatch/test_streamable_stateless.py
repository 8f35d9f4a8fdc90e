"""Requests without a session: disconnects, silence, slow readers, and requests with nothing but a body."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any, cast

import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS

from core_bench import (
    EVENTS_FIRST,
    Asking,
    CoreBench,
    CoreClient,
    Running,
    call,
    modern,
    reply_of,
    result_of,
    running,
)
from fake_responder import FakeResponder
from longwire.guard.access import Access
from longwire.http_runtime import http_runtime
from longwire.product.app import build_server
from longwire.product.catalog import Answer, Call
from longwire.settings import WireLimits
from longwire.wire.http.request import Request
from longwire.wire.http.turns import Turns
from longwire.wire.sdk_private import connection_of
from longwire.wire.serving import Handshake, Serving
from raw_http import HELLO
from waiting import until


def told(served: Running, tool: str, **more: Any) -> FakeResponder:
    """The answer to a call that tells its client of its progress."""
    body, headers = modern(call(1, tool))
    body["params"]["_meta"] = {**body["params"]["_meta"], "progressToken": "t"}
    return served.client.post(body, headers, **more)


async def test_a_client_that_leaves_stops_its_work(served: Running) -> None:
    answer = served.client.stateless(call(1, "wait"))
    await served.bench.started.reaches()
    answer.drop()
    await served.bench.cancelled.reaches()
    await until(lambda: not served.limits.in_flight)
    assert answer.status is None


async def test_a_client_that_left_before_its_call_began_stops_it_too(served: Running) -> None:
    body, headers = modern(call(1, "wait"))
    gone = FakeResponder()
    gone.drop()
    served.client.post(body, headers, responder=gone)
    await until(lambda: not served.limits.in_flight)
    assert served.bench.started.count == 0


async def test_silent_work_gives_signs_of_life() -> None:
    at_once = lambda _, go_off: asyncio.get_running_loop().call_later(0, go_off)  # noqa: E731
    async with running(WireLimits(heartbeat=0.001), later=at_once) as served:
        answer = served.client.stateless(call(1, "wait"))
        await until(lambda: answer.text.count(b": ping\n\n") > 2)
        served.bench.release.set()
        await answer.over()
        assert result_of(answer) == {"waited": True}


async def test_errors_after_the_first_event_are_events_too() -> None:
    async def failing(call: Call) -> Answer:
        await call.progress(1)
        raise MCPError(-32021, "a capability is missing")

    async with running_with("late", failing) as served:
        answer = await told(served, "late").over()
        progress, reply = (json.loads(text) for text in answer.messages)
        assert (answer.status, progress["method"]) == (200, "notifications/progress")
        assert reply["error"]["code"] == -32021


async def test_a_handler_waits_for_a_client_that_does_not_read() -> None:
    sent: list[int] = []

    async def talking(call: Call) -> Answer:
        for number in range(100):
            await call.progress(number, message="x" * 10_000)
            sent.append(number)
        return {"sent": len(sent)}

    async with running_with("talking", talking) as served:
        slow = told(served, "talking", responder=FakeResponder(reading=False))
        await until(lambda: len(sent) >= 5)
        for _ in range(20):
            await asyncio.sleep(0)
        assert len(sent) < 10
        slow.read()
        await slow.over()
        assert result_of(slow) == {"sent": 100}


async def test_large_messages_come_in_turn() -> None:
    due: list[Callable[[], None]] = []
    server = build_server(CoreBench().catalog(), name="bench", version="1")
    serving = Serving(server, WireLimits(), {}, Access(), turns=Turns(lambda _, turn: due.append(turn)))
    async with http_runtime(serving) as runtime:
        client = CoreClient(cast(Any, runtime))
        first, second, small = (client.stateless(call(1, "plain", text="x" * n)) for n in (9000, 9000, 1))
        await until(lambda: first.gone and small.gone)
        assert not second.gone
        due.pop()()
        await second.over()
        assert result_of(second)["n"] == 1.5


async def test_a_client_that_stops_reading_and_goes_ends_the_handler_that_waits_for_it() -> None:
    over: list[bool] = []

    async def talking(call: Call) -> Answer:
        try:
            while True:
                await call.progress(1, message="x" * 10_000)
        finally:
            over.append(True)

    async with running_with("talking", talking) as served:
        slow = told(served, "talking", responder=FakeResponder(reading=False))
        await until(lambda: slow.unsent > 64 << 10)
        slow.drop()
        await until(lambda: over)


async def test_what_a_tool_leaves_behind_cannot_write_into_another_answer() -> None:
    left: list[Any] = []

    def leaving(call: Call) -> Answer:
        left.append(call.context.session)
        return {"left": True}

    async with running_with("leaving", leaving) as served:
        in_session = {**call(1, "leaving"), "params": {"name": "leaving", "_meta": {"progressToken": 1}}}
        for answer in (told(served, "leaving"), served.client.begin().post(in_session)):
            await left[-1].report_progress(1, 2, "late")
            assert (answer.began, result_of(answer)) == (False, {"left": True})


async def test_what_a_handler_leaves_for_the_end_of_its_request_is_done() -> None:
    done: list[str] = []

    async def cleaning(context: Any, call_next: Any) -> Any:
        connection_of(context.session).exit_stack.callback(done.append, context.method)
        return await call_next(context)

    async with running() as served:
        served.server.middleware.append(cleaning)
        for message in (call(1, "plain"), call(2, "waiting"), call(3, "refusing")):
            await served.client.stateless(message).over()
        await until(lambda: len(done) == 3)


async def test_the_end_of_the_server_ends_what_runs() -> None:
    async with running() as served:
        session = served.client.begin()
        single, call_in_session = served.client.stateless(call(1, "wait")), session.post(call(1, "wait"))
        get = session.get()
        await served.bench.started.reaches(2)
    assert served.bench.cancelled.count == 2
    assert (single.gone, get.gone, call_in_session.status) == (True, True, 404)


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"Mcp-Method": "tools/list"}, "header"),
        ({"Mcp-Name": "another"}, "header"),
        ({"MCP-Protocol-Version": "2099-01-01"}, "version"),
        ({"Accept": "application/json"}, "accept"),
        ({"Content-Type": "text/plain"}, "type"),
    ],
)
async def test_what_is_refused_for_its_headers_is_counted_once(
    served: Running, changed: dict[str, str], reason: str
) -> None:
    body, headers = modern(call(1, "wait"))
    answer = served.client.post(body, {**headers, **changed})
    assert "error" in reply_of(answer)
    assert served.counters.refused == {reason: 1}


async def test_what_is_refused_for_its_envelope_is_counted() -> None:
    async with running() as served:
        body, headers = modern(call(1, "wait"))
        answer = served.client.post({**body, "params": {"name": "wait", "_meta": {}}}, headers)
        assert reply_of(answer)["error"]["code"] == INVALID_PARAMS
        answer = served.client.post({"jsonrpc": "2.0", "id": 1, "result": {}}, headers)
        assert answer.status == 400
        assert served.counters.refused == {"envelope": 1, "body": 1}
    async with running(bare=True) as served:
        assert barely(served, b"{").status == 400
        assert served.counters.refused == {"body": 1}


# ---- bare requests ----------------------------------------------------------------------------


def barely(served: Running, body: bytes) -> FakeResponder:
    """The answer to a bare request that comes another way."""
    answer = FakeResponder()
    served.core.bare(Request("POST", "/sse", headers={"content-type": "application/json"}, body=body), answer)
    return answer


async def test_bare_requests_are_answered_where_they_are_served() -> None:
    async with running(bare=True) as served:
        only = {"Accept": None}
        answer = served.client.post(call(1, "plain"), only)
        assert (answer.status, answer.kind, answer.headers) == (200, b"application/json", {})
        assert result_of(answer) == {"text": "", "n": 1.5}
        # Errors of the protocol have the status 200 too.
        answer = served.client.post({"jsonrpc": "2.0", "id": 1, "method": "no/such"}, only)
        assert (answer.status, reply_of(answer)["error"]["code"]) == (200, -32601)
        with_envelope, _ = modern(call(1, "plain"))
        answer = served.client.post(with_envelope, only)
        assert reply_of(answer)["result"]["resultType"] == "complete"
        half = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
        with_half = {**with_envelope, "params": {**with_envelope["params"], "_meta": half}}
        answer = served.client.post(with_half, only)
        assert (answer.status, reply_of(answer)["error"]["code"]) == (200, -32602)
        for kind in ("text/plain", "application/x-www-form-urlencoded", None):  # a page needs no leave
            assert served.client.post(call(1, "plain"), {"Content-Type": kind}).status == 415
        assert served.client.begin().post(call(1, "plain")).status == 200  # sessions go on
        assert served.client.post(HELLO).headers.keys() == {b"mcp-session-id"}


@pytest.mark.parametrize(("accept", "count"), [("text/event-stream", 4), ("application/json", 1), (None, 1)])
async def test_bare_requests_get_events_where_they_take_them(accept: str | None, count: int) -> None:
    async with running(bare=True) as served:
        message = call(1, "steps")
        message["params"]["_meta"] = {"progressToken": 1}
        answer = await served.client.post(message, {"Accept": accept}).over()
        assert len(answer.messages if answer.began else [answer.body]) == count
        assert result_of(answer) == {"steps": 3}


async def test_the_handler_of_bare_requests_reads_the_body_itself() -> None:
    async with running(bare=True) as served:
        assert result_of(barely(served, json.dumps(call(1, "plain")).encode()))["n"] == 1.5
        assert barely(served, b'{"jsonrpc":"2.0","method":"notifications/x"}').status == 202


async def test_a_request_that_names_a_session_or_a_version_is_not_bare() -> None:
    async with running(bare=True) as served:
        version = {"MCP-Protocol-Version": "2025-11-25"}
        assert served.client.post(call(1, "plain"), version).status == 400
        assert served.client.post(call(1, "plain"), {"Mcp-Session-Id": "x"}).status == 404


class _Quick:
    """Answers calls of one tool."""

    def __init__(self) -> None:
        self.asked: list[Handshake] = []

    def answer(self, message: Any, handshake: Handshake, in_flight: Any = ()) -> bytes | None:
        self.asked.append(handshake)
        quick = json.dumps({"jsonrpc": "2.0", "id": message.id, "result": {"quick": True}}).encode()
        return quick if message.params["name"] == "echo" else None


async def test_quick_answers_are_given_in_every_way() -> None:
    quick = _Quick()
    async with running(bare=True, quick=quick) as served:
        session = served.client.begin("2025-06-18")
        ways = (session.post, served.client.stateless, served.client.post)
        for ask in ways:
            assert reply_of(ask(call(1, "echo"))) == {"jsonrpc": "2.0", "id": 1, "result": {"quick": True}}
            assert result_of(ask(call(1, "plain")))["n"] == 1.5
        versions = [handshake.version for handshake in quick.asked[::2]]
        assert versions == ["2025-06-18", "2026-07-28", "2025-11-25"]
        events = session.post(call(1, "echo"), EVENTS_FIRST)
        assert reply_of(events)["result"] == {"quick": True}


# ---- helpers ----------------------------------------------------------------------------------


def running_with(name: str, work: Any) -> Any:
    """A core with one tool."""
    return running(bench=Asking(**{name: work}))
