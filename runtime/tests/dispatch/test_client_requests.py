"""Requests to a session's client: ids, responses, timeouts, policy, and what ends them."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Awaitable
from dataclasses import replace
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED, REQUEST_TIMEOUT, ErrorData, JSONRPCError, JSONRPCResponse

from longwire.counters import RuntimeCounters
from longwire.principals.limits import BUSY
from longwire.sessions.client_requests import MOST, ClientRequests
from longwire.settings import WireLimits
from waiting import until

FORM = {"message": "Who?", "requestedSchema": {"type": "object", "properties": {}}}
ABLE = {"elicitation": {}, "sampling": {}, "roots": {}}


class Ground:
    """A session's requests, and what was put on its stream."""

    def __init__(self, capabilities: dict[str, Any] = ABLE, **limits: Any) -> None:
        self.counters = RuntimeCounters()
        self.requests = ClientRequests(replace(WireLimits(), **limits), self.counters, capabilities)
        self.sent: list[tuple[dict[str, Any], str]] = []

    def send(self, payload: bytes, kind: str) -> None:
        self.sent.append((json.loads(payload), kind))

    def ask(self, method: str = "elicitation/create", **options: Any) -> asyncio.Task[dict[str, Any]]:
        asked = self.requests.ask(self.send, method, FORM, **options)
        return asyncio.ensure_future(asked)

    async def heard(self, number: int) -> dict[str, Any]:
        """The message of that number, from 1, when it is on the stream."""
        await until(lambda: len(self.sent) >= number)
        return self.sent[number - 1][0]

    def answer(self, request_id: Any, result: dict[str, Any] | None = None) -> bool:
        return self.requests.resolve(JSONRPCResponse(jsonrpc="2.0", id=request_id, result=result or {}))

    @property
    def counted(self) -> dict[tuple[str, str], int]:
        return dict(self.counters.client_requests)


async def failed(asked: Awaitable[Any]) -> MCPError:
    with pytest.raises(MCPError) as caught:
        await asyncio.wait_for(asked, 10)
    return caught.value


async def test_a_response_reaches_the_handler_that_asked() -> None:
    ground = Ground()
    first, second = ground.ask(), ground.ask("roots/list")
    one, two = await ground.heard(1), await ground.heard(2)
    assert (one["method"], one["params"], one["jsonrpc"]) == ("elicitation/create", FORM, "2.0")
    assert one["id"] != two["id"]
    assert isinstance(one["id"], str)
    assert one["id"].startswith("s-")
    assert ground.answer(two["id"], {"roots": []})
    assert ground.answer(one["id"], {"action": "decline"})
    assert await first == {"action": "decline"}
    assert await second == {"roots": []}
    assert [kind for _, kind in ground.sent] == ["request", "request"]
    assert len(ground.requests) == 0
    assert ground.counted == {("elicitation", "answered"): 1, ("roots", "answered"): 1}


async def test_a_clients_error_is_the_handlers() -> None:
    ground = Ground()
    asked = ground.ask("sampling/createMessage")
    sent = await ground.heard(1)
    error = ErrorData(code=-1, message="User rejected sampling request", data={"why": "no"})
    assert ground.requests.resolve(JSONRPCError(jsonrpc="2.0", id=sent["id"], error=error))
    told = await failed(asked)
    assert (told.code, told.message, told.data) == (-1, "User rejected sampling request", {"why": "no"})
    assert ground.counted == {("sampling", "failed"): 1}


async def test_no_answer_in_time_is_an_error_and_the_client_is_told() -> None:
    ground = Ground(client_timeout=0.01)
    error = await failed(ground.ask())
    assert error.code == REQUEST_TIMEOUT
    assert error.message == "the client did not answer 'elicitation/create' within 0.01 s"
    asked, cancelled = await ground.heard(1), await ground.heard(2)
    assert cancelled["method"] == "notifications/cancelled"
    assert cancelled["params"]["requestId"] == asked["id"]
    assert ground.sent[1][1] == "notification"
    assert not ground.answer(asked["id"])  # late
    assert ground.counted == {("elicitation", "timeout"): 1, ("other", "late"): 1}
    assert len(ground.requests) == 0


async def test_a_request_may_have_a_timeout_of_its_own() -> None:
    ground = Ground()
    error = await failed(ground.ask(opts={"timeout": 0.01, "cancel_on_abandon": False}))
    assert error.code == REQUEST_TIMEOUT
    assert len(ground.sent) == 1


async def test_responses_that_nobody_waits_for_are_ignored_and_counted() -> None:
    ground = Ground()
    asked = ground.ask()
    sent = await ground.heard(1)
    for stranger in ("s-1", 1, "1", "", f"{sent['id']}0", None):
        error = ErrorData(code=1, message="?")
        assert not ground.requests.resolve(JSONRPCError(jsonrpc="2.0", id=stranger, error=error))
    assert ground.answer(sent["id"], {"action": "cancel"})
    assert not ground.answer(sent["id"], {"action": "accept"})  # doubled
    assert await asked == {"action": "cancel"}
    assert ground.counted == {("other", "unknown"): 6, ("other", "late"): 1, ("elicitation", "answered"): 1}


async def test_a_client_has_a_bounded_number_of_unanswered_requests() -> None:
    ground = Ground()
    asked = [ground.ask() for _ in range(MOST)]
    await ground.heard(MOST)
    error = await failed(ground.ask())
    assert error.code == BUSY
    assert str(MOST) in error.message
    assert len(ground.sent) == MOST
    ground.answer(ground.sent[0][0]["id"])
    await asked[0]
    asked.append(ground.ask())
    await ground.heard(MOST + 1)
    ground.requests.end()
    await asyncio.gather(*asked, return_exceptions=True)


async def test_a_cancelled_call_cancels_what_it_asked() -> None:
    ground = Ground()
    asked = ground.ask()
    sent = await ground.heard(1)
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    cancelled = await ground.heard(2)
    assert cancelled["params"]["requestId"] == sent["id"]
    assert len(ground.requests) == 0
    assert ground.counted == {("elicitation", "cancelled"): 1}


async def test_the_end_of_a_call_ends_its_requests_only() -> None:
    ground = Ground()
    call, other = object(), object()
    left, stays = ground.ask(call=call), ground.ask(call=other)
    sent = await ground.heard(1)
    await ground.heard(2)
    ground.requests.end_call(call)
    error = await failed(left)
    assert (error.code, error.message) == (CONNECTION_CLOSED, "the call that asked has ended")
    assert (await ground.heard(3))["params"]["requestId"] == sent["id"]
    assert len(ground.requests) == 1
    ground.answer(ground.sent[1][0]["id"], {"action": "accept"})
    assert await stays == {"action": "accept"}


async def test_the_end_of_the_session_ends_all() -> None:
    ground = Ground()
    asked = [ground.ask(), ground.ask()]
    await ground.heard(2)
    ground.requests.end()
    for task in asked:
        assert (await failed(task)).code == CONNECTION_CLOSED
    assert (await failed(ground.ask())).code == CONNECTION_CLOSED
    assert len(ground.sent) == 2  # nobody is there to be told
    assert ground.counted == {("elicitation", "ended"): 2}


async def test_progress_of_the_client_reaches_the_handler() -> None:
    ground, told = Ground(), asyncio.Queue[tuple[Any, ...]]()

    async def listen(*progress: Any) -> None:
        await told.put(progress)

    asked = ground.ask(opts={"on_progress": listen})
    sent = await ground.heard(1)
    token = sent["params"]["_meta"]["progressToken"]
    for params in (None, {}, {"progressToken": "s-0", "progress": 1}, {"progressToken": token}):
        ground.requests.progress(params)
    for absurd in (math.inf, -math.inf, math.nan, 10**400, True, "1"):  # with which a handler can't reckon
        ground.requests.progress({"progressToken": token, "progress": absurd})
        ground.requests.progress({"progressToken": token, "progress": 1, "total": absurd})
        assert await asyncio.wait_for(told.get(), 10) == (1, None, None)
    ground.requests.progress({"progressToken": token, "progress": 1, "total": 2, "message": "half"})
    assert await asyncio.wait_for(told.get(), 10) == (1, 2, "half")
    assert told.empty()
    ground.answer(sent["id"])
    await asked
