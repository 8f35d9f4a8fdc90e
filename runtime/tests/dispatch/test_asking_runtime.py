"""Tools that ask over the Streamable HTTP runtime, without I/O: what is on which stream, what is counted."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import mcp_types as types
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp.shared.exceptions import MCPError

from asking_client import NAME
from core_bench import ABLE, Asking, CoreClient, call, cancel, heard, reply, running
from effort import examples
from fake_journal import FakeJournal
from fake_responder import FakeResponder
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


# ---- in any order of answers, cancellations, disconnects and resumptions --------------------------


TURNS = 12  # of the event loop, in which everything that can happen has happened
STEPS = st.sampled_from(["call", "answer", "answer", "late", "cancel", "drop", "resume", "refuse"])


async def _twice(call: Call) -> Answer:
    first = await call.elicit("First?", NAME)
    second = await call.elicit(f"After {(first.content or {})['name']}?", NAME)
    return {"names": [(first.content or {})["name"], (second.content or {})["name"]]}


async def turns() -> None:
    for _ in range(TURNS):
        await asyncio.sleep(0)


class Client:
    """A client that follows some steps, and knows what it should get."""

    def __init__(self, session: CoreClient) -> None:
        self.session = session
        self.answers: dict[int, list[FakeResponder]] = {}  # of each call: the POST's, and later GETs
        self.given: dict[int, list[str]] = {}  # the names that each call was told
        self.ended: dict[int, str] = {}  # how each call should end
        self.answered: list[dict[str, Any]] = []

    def messages(self, call: int) -> list[dict[str, Any]]:
        """All that the client was sent for a call."""
        return [json.loads(text) for responder in self.answers[call] for text in responder.messages]

    def questions(self, call: int) -> list[dict[str, Any]]:
        return [message for message in self.messages(call) if message.get("method") == "elicitation/create"]

    def waiting(self) -> list[tuple[int, dict[str, Any]]]:
        """The questions that were read and not answered, of calls that go on."""
        found = []
        for number in self.answers:
            asked = self.questions(number)
            if number not in self.ended and len(asked) > len(self.given[number]):
                found.append((number, asked[-1]))
        return found

    def take(self, step: str, choice: int) -> None:
        going = [call for call in self.answers if call not in self.ended]
        waiting = self.waiting()
        if step == "call":
            number = len(self.answers) + 1
            self.answers[number], self.given[number] = [self.session.post(call(number, "twice"))], []
        elif step == "answer" and waiting:
            number, asked = waiting[choice % len(waiting)]
            name = f"{number}.{len(self.given[number])}"
            self.given[number].append(name)
            self.answered.append(asked)
            assert reply(self.session, asked, {"action": "accept", "content": {"name": name}}) == 202
            if len(self.given[number]) == 2:
                self.ended[number] = "result"
        elif step == "refuse" and waiting:
            number, asked = waiting[choice % len(waiting)]
            error = {"code": -1, "message": "no"}
            self.session.post({"jsonrpc": "2.0", "id": asked["id"], "error": error})
            self.answered.append(asked)
            self.ended[number] = "error"
        elif step == "late" and self.answered:
            asked = self.answered[choice % len(self.answered)]
            assert reply(self.session, asked, {"action": "accept", "content": {"name": "late"}}) == 202
        elif step == "cancel" and going:
            number = going[choice % len(going)]
            assert self.session.post(cancel(number)).status == 202
            self.ended[number] = "cancelled"
        elif step == "drop" and going:
            self.answers[going[choice % len(going)]][-1].drop()
        elif step == "resume":
            self.resume(choice)

    def resume(self, choice: int) -> None:
        """Come back to a stream whose connection was lost."""
        lost = [call for call, found in self.answers.items() if found[-1].dropped]
        if lost:
            number = lost[choice % len(lost)]
            last = [event.id for found in self.answers[number] for event in found.events][-1]
            self.answers[number].append(self.session.get(last_event_id=last))


@settings(max_examples=examples(25), deadline=None)
@given(st.lists(st.tuples(STEPS, st.integers(0, 7)), max_size=40))
def test_every_call_ends_as_it_should(steps: list[tuple[str, int]]) -> None:
    async def story() -> None:
        async with running(bench=Asking(twice=_twice)) as served:
            client = Client(served.client.begin(capabilities=ABLE))
            for step, choice in steps:
                client.take(step, choice)
                await turns()
            # The client comes back to everything, and answers what is left.
            for step in ["resume", "answer", "answer"] * len(steps):
                client.take(step, 0)
                await turns()
            for number in client.answers:
                replies = [message for message in client.messages(number) if message.get("id") == number]
                if client.ended[number] == "cancelled":
                    assert replies == []
                    continue
                assert len(replies) == 1
                assert client.ended[number] in replies[0]
                if client.ended[number] == "result":
                    assert replies[0]["result"]["structuredContent"] == {"names": client.given[number]}
            (session,) = served.sessions
            assert len(session.client_requests) == 0
            assert not session.busy

    asyncio.run(story())
