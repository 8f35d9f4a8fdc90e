"""Calls that ask, in any order of answers, cancellations, disconnects and resumptions."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from asking_client import NAME
from asking_ground import ABLE, Asking, reply
from core_bench import CoreClient, call, running
from effort import examples
from fake_responder import FakeResponder
from longwire.product.catalog import Answer, Call

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
        self.answers: dict[
            int, list[FakeResponder]
        ] = {}  # of each call: the POST's, and GETs that resumed it
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
            cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}}
            assert self.session.post(cancel).status == 202
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
