"""Tools that ask over the Streamable HTTP runtime, without I/O: what is on which stream, what is counted."""

from __future__ import annotations

import asyncio
from typing import Any

import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPError

from asking_client import NAME
from asking_ground import ABLE, Asking, heard, reply
from core_bench import call, running
from fake_journal import FakeJournal
from longwire.product.catalog import Answer, Call
from longwire.settings import WireLimits
from waiting import until

SHORT = {"role": "assistant", "content": {"type": "text", "text": "short"}, "model": "m"}


async def _name(call: Call) -> Answer:
    return {"name": (await call.elicit("Name?", NAME)).content}


async def _sample(call: Call) -> Answer:
    told = await call.sample("Sum up", max_tokens=128, system_prompt="Be brief")
    return {"told": told.model}


async def _raw_sample(call: Call) -> Answer:
    """Asks by the SDK's own session, which the policy holds for, too."""
    words = types.TextContent(type="text", text="Sum up")
    params = types.CreateMessageRequestParams(
        messages=[types.SamplingMessage(role="user", content=words)], max_tokens=1
    )
    try:
        await call.context.session.send_request(
            types.CreateMessageRequest(params=params), types.CreateMessageResult
        )
    except MCPError as error:
        return {"error": error.message}
    return {"asked": True}


TOOLS = Asking(name=_name, sample=_sample, raw_sample=_raw_sample)


async def test_a_question_that_a_call_leaves_behind_is_given_up() -> None:
    left: list[asyncio.Future[Any]] = []

    async def leave(call: Call) -> Answer:
        left.append(asyncio.ensure_future(call.elicit("Name?", NAME)))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return {"left": True}

    async with running(bench=Asking(leave=leave)) as served:
        answer = served.client.begin(capabilities=ABLE).post(call(1, "leave"))
        asked, told, done = await heard(answer, 3)
        assert asked["method"] == "elicitation/create"
        assert told["params"]["requestId"] == asked["id"]
        assert done["result"]["structuredContent"] == {"left": True}
        with pytest.raises(MCPError, match="the call that asked has ended"):
            await left[0]
        assert dict(served.counters.client_requests) == {("elicitation", "ended"): 1}


async def test_a_question_of_an_earlier_process_gets_no_answer() -> None:
    journal = FakeJournal(at_once=True)
    async with running(bench=TOOLS, journal=journal) as before:
        client = before.client.begin(capabilities=ABLE)
        answer = client.post(call(1, "name"))
        (asked,) = await heard(answer, 1)
        last = answer.last_id
        async with running(bench=TOOLS, journal=journal.crash()) as after:
            client.core = after.core
            (lost,) = await heard(client.get(last_event_id=last), 1)
            assert lost["id"] == 1
            assert "restarted" in lost["error"]["message"]
            # A new question has another id than the old one, whose answer may still come.
            answer = client.post(call(2, "name"))
            (anew,) = await heard(answer, 1)
            assert reply(client, asked, {"action": "accept", "content": {"name": "Mallory"}}) == 202
            reply(client, anew, {"action": "accept", "content": {"name": "Ada"}})
            done = (await heard(answer, 2))[1]
            assert done["result"]["structuredContent"] == {"name": {"name": "Ada"}}


@pytest.mark.parametrize("tool", ["sample", "raw_sample"])
async def test_policy_warn(tool: str) -> None:
    async with running(WireLimits(capability_policy="warn"), bench=TOOLS) as served:
        client = served.client.begin()
        listening, answer = client.get(), client.post(call(1, tool))
        (asked,) = await heard(answer if tool == "sample" else listening, 1)
        assert dict(served.counters.client_requests) == {("sampling", "warned"): 1}  # though two places look
        reply(client, asked, SHORT)
        await until(lambda: answer.ended)
