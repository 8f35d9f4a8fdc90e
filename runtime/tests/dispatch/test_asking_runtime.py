"""Tools that ask over the Streamable HTTP runtime, without I/O: what is on which stream, what is counted."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPError

from asking_client import NAME
from asking_ground import Ground, heard
from fake_journal import FakeJournal
from longwire.product.catalog import Answer, Call

ADA = {"action": "accept", "content": {"name": "Ada"}}


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


TOOLS: dict[str, Callable[[Call], Awaitable[Answer]]] = {
    "name": _name,
    "sample": _sample,
    "raw_sample": _raw_sample,
}


async def test_a_question_and_its_answer() -> None:
    ground = Ground(TOOLS)
    session = ground.begin()
    listening = session.get()
    call = session.call("sample")
    (asked,) = await heard(call, 1)
    assert asked["method"] == "sampling/createMessage"
    assert asked["params"]["systemPrompt"] == "Be brief"
    assert asked["params"]["maxTokens"] == 128
    assert asked["params"]["messages"][0]["content"]["text"] == "Sum up"
    content = {"type": "text", "text": "short"}
    assert session.reply(asked, {"role": "assistant", "content": content, "model": "m"}) == 202
    done = (await heard(call, 2))[1]
    assert done["result"]["structuredContent"] == {"told": "m"}
    assert call.ended
    assert listening.messages == []  # it belongs to the call's own stream
    assert ground.counted == {("sampling", "answered"): 1}


async def test_a_question_that_a_call_leaves_behind_is_given_up() -> None:
    left: list[asyncio.Future[Any]] = []

    async def leave(call: Call) -> Answer:
        left.append(asyncio.ensure_future(call.elicit("Name?", NAME)))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return {"left": True}

    ground = Ground({"leave": leave})
    call = ground.begin().call("leave")
    asked, told, done = await heard(call, 3)
    assert asked["method"] == "elicitation/create"
    assert told["params"]["requestId"] == asked["id"]
    assert done["result"]["structuredContent"] == {"left": True}
    with pytest.raises(MCPError, match="the call that asked has ended"):
        await left[0]
    assert ground.counted == {("elicitation", "ended"): 1}


async def test_a_question_of_an_earlier_process_gets_no_answer() -> None:
    journal = FakeJournal(at_once=True)
    before = Ground(TOOLS, journal)
    session = before.begin()
    call = session.call("name")
    (asked,) = await heard(call, 1)
    last = call.last_id
    after = Ground(TOOLS, journal.crash())
    session.ground = after
    resumed = session.get(**{"last-event-id": last})
    (lost,) = await heard(resumed, 1)
    assert lost["id"] == 1
    assert "restarted" in lost["error"]["message"]
    # A new question has another id than the old one, whose answer may still come.
    call = session.call("name", 2)
    (anew,) = await heard(call, 1)
    mallory = {"action": "accept", "content": {"name": "Mallory"}}
    assert session.reply(asked, mallory) == 202
    session.reply(anew, ADA)
    done = (await heard(call, 2))[1]
    assert done["result"]["structuredContent"] == {"name": {"name": "Ada"}}


@pytest.mark.parametrize("tool", ["sample", "raw_sample"])
async def test_policy_warn(tool: str) -> None:
    ground = Ground(TOOLS, capability_policy="warn")
    session = ground.begin({})
    listening = session.get()
    call = session.call(tool)
    stream = call if tool == "sample" else listening
    (asked,) = await heard(stream, 1)
    assert ground.counted == {("sampling", "warned"): 1}  # once, though two places look
    content = {"type": "text", "text": "short"}
    session.reply(asked, {"role": "assistant", "content": content, "model": "m"})
    async with asyncio.timeout(10):
        while not call.ended:
            await asyncio.sleep(0)
