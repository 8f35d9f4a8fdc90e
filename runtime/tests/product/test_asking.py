"""Tools that ask their client, called by the SDK's own client in both eras of the protocol."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client, MCPError

from asking_client import AGE, ASKED, NAME, TOLD, Person, interview
from longwire.errors import AskingError
from longwire.principals.principal import PRINCIPAL, Principal
from longwire.product.app import build_server
from longwire.product.asking import AskingRules
from longwire.product.catalog import Answer, Call, Catalog, Tool
from tool_results import sentence_of

MODERN = "2026-07-28"
NOTHING = {"type": "object", "properties": {}}
ANY = {"type": "object", "properties": {"n": {"type": "integer"}}}


@pytest.fixture(params=["legacy", MODERN])
def era(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


class Desk:
    """A server with one tool, and how a client calls it."""

    def __init__(self, run: Callable[[Call], Awaitable[Answer]], **rules: Any) -> None:
        self.counted: list[tuple[str, ...]] = []
        self.runs = 0

        async def counting(call: Call) -> Answer:
            self.runs += 1
            return await run(call)

        catalog = Catalog(tools=[Tool(name, name, "", ANY, counting) for name in ("ask", "two")])
        asking = AskingRules(count=lambda *counted: self.counted.append(counted), **rules)
        self.server = build_server(catalog, name="desk", version="1", asking=asking)

    async def call(self, era: str, person: Person | None) -> types.CallToolResult:
        async with self.client(era, person) as client:
            return await client.call_tool("ask", {})

    async def refusal(self, era: str, person: Person | None) -> MCPError:
        """The protocol error that a call gets."""
        async with self.client(era, person) as client:
            with pytest.raises(MCPError) as caught:
                await client.call_tool("ask", {})
        return caught.value

    def client(self, era: str, person: Person | None) -> Client:
        callbacks = person.callbacks if person is not None else {}
        return Client(self.server, mode=era, **callbacks)


async def test_one_handler_asks_in_both_eras(era: str) -> None:
    desk, person = Desk(interview), Person()
    assert (await desk.call(era, person)).structured_content == TOLD
    assert person.asked == ASKED  # each once, whether the handler waits or runs again
    assert desk.runs == (1 if era == "legacy" else 5)
    assert desk.counted == []


async def test_a_person_may_decline(era: str) -> None:
    async def run(call: Call) -> Answer:
        result = await call.elicit("Your name?", NAME)
        return {"action": result.action, "content": result.content}

    person = Person()
    person.action = "decline"
    assert (await Desk(run).call(era, person)).structured_content == {"action": "decline", "content": None}


async def test_an_answer_that_does_not_fit_the_form_is_refused(era: str) -> None:
    async def run(call: Call) -> Answer:
        return {"age": await call.elicit("Age?", AGE)}

    result = await Desk(run).call(era, Person(age=-1))
    assert result.is_error
    assert "'Age?' doesn't fit the form: 'age': -1 is less than the minimum of 0" in sentence_of(result)


async def test_questions_of_several_tasks_are_asked_together(era: str) -> None:
    async def run(call: Call) -> Answer:
        name, age = await asyncio.gather(call.elicit("Name?", NAME), call.elicit("Age?", AGE))
        found: list[Any] = []

        async def look(question: Awaitable[Any]) -> None:
            found.append(await question)

        async with anyio.create_task_group() as group:
            group.start_soon(look, call.roots())
            group.start_soon(look, call.sample("Ada", max_tokens=5))
        return {**(name.content or {}), **(age.content or {}), "more": len(found)}

    desk, person = Desk(run), Person()
    result = await desk.call(era, person)
    assert result.structured_content == {"name": "Ada", "age": 36, "more": 2}
    assert sorted(person.asked) == ["Ada|None|5", "Age?", "Name?", "roots"]
    assert desk.runs == (1 if era == "legacy" else 3)


async def test_a_handler_that_catches_errors_still_asks(era: str) -> None:
    async def run(call: Call) -> Answer:
        try:
            return {"name": (await call.elicit("Name?", NAME)).content}
        except Exception as error:
            return {"error": repr(error)}

    assert (await Desk(run).call(era, Person())).structured_content == {"name": {"name": "Ada"}}


async def _sampling(call: Call) -> Answer:
    try:
        told = await call.sample("Ada", max_tokens=5)
    except AskingError as error:
        return {"not asked": str(error)}
    return {"told": told.model}


async def test_policy_error_refuses_what_the_client_did_not_declare(era: str) -> None:
    desk = Desk(_sampling)
    error = await desk.refusal(era, None)
    assert error.code == types.MISSING_REQUIRED_CLIENT_CAPABILITY
    assert "'sampling'" in error.message
    assert error.data == {"requiredCapabilities": {"sampling": {}}}
    assert desk.counted == [("sampling", "refused")]


async def test_policy_drop_tells_the_handler(era: str) -> None:
    desk = Desk(_sampling, policy="drop")
    told = (await desk.call(era, None)).structured_content
    assert told is not None
    assert told["not asked"].endswith("the request was not sent")
    assert desk.counted == [("sampling", "dropped")]

    async def careless(call: Call) -> Answer:
        return {"told": await call.sample("Ada", max_tokens=5)}

    result = await Desk(careless, policy="drop").call(era, None)
    assert result.is_error  # not the handler's fault, nor a bug of the server
    assert "was not sent" in sentence_of(result)


async def test_policy_warn_asks_nevertheless(era: str) -> None:
    desk = Desk(_sampling, policy="warn")
    error = await desk.refusal(era, None)  # the client's own
    assert error.code != types.MISSING_REQUIRED_CLIENT_CAPABILITY
    assert desk.counted == [("sampling", "warned")]


async def test_a_page_needs_a_client_that_opens_pages(era: str) -> None:
    async def run(call: Call) -> Answer:
        return {"action": (await call.open_page("Sign in", "https://example.com/", "e1")).action}

    person = Person()
    assert (await Desk(run).call(era, person)).structured_content == {"action": "accept"}
    assert person.asked == ["Sign in"]
    assert "'elicitation.url'" in (await Desk(run).refusal(era, None)).message


async def test_a_client_that_does_not_answer_is_not_waited_for() -> None:
    async def run(call: Call) -> Answer:
        return {"name": (await call.elicit("Name?", NAME)).content}

    class Silent(Person):
        async def fill_in(self, context: Any, params: Any) -> types.ElicitResult:
            await anyio.sleep_forever()
            raise AssertionError

    assert (await Desk(run, timeout=0.01).refusal("legacy", Silent())).code == types.REQUEST_TIMEOUT


async def test_a_question_that_changes_is_asked_anew() -> None:
    asked = iter(range(100))

    async def run(call: Call) -> Answer:
        number = next(asked) // 2  # 0 and 0, 1 and 1, …
        answer = await call.elicit(f"Delete {number}?", NOTHING)
        return {"deleted": number, "action": answer.action}

    desk, person = Desk(run), Person()
    assert (await desk.call(MODERN, person)).structured_content == {"deleted": 0, "action": "accept"}
    next(asked)
    person.asked.clear()
    # The answer to "Delete 1?" is not taken for one to "Delete 2?".
    assert (await desk.call(MODERN, person)).structured_content == {"deleted": 2, "action": "accept"}
    assert person.asked == ["Delete 1?", "Delete 2?"]


async def test_questions_without_an_end_are_ended() -> None:
    count = iter(range(1000))

    async def run(call: Call) -> Answer:
        await call.elicit(f"Question {next(count)}?", NOTHING)
        return {}

    rules = {"elicitation_callback": Person().fill_in, "input_required_max_rounds": 100}
    async with Client(Desk(run).server, mode=MODERN, **rules) as client:
        with pytest.raises(MCPError, match="still asks after 32 rounds"):
            await client.call_tool("ask", {})


class Rounds:
    """A client that makes the rounds of the stateless era by itself."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def first(self, tool: str = "ask", **arguments: Any) -> types.InputRequiredResult:
        result = await self._client.session.call_tool(tool, arguments, allow_input_required=True)
        assert isinstance(result, types.InputRequiredResult)
        return result

    async def then(
        self, state: str | None, answers: dict[str, Any], tool: str = "ask", **arguments: Any
    ) -> types.CallToolResult | types.InputRequiredResult:
        return await self._client.session.call_tool(
            tool, arguments, input_responses=answers, request_state=state, allow_input_required=True
        )


@asynccontextmanager
async def rounds(principal: Principal | None = None, **rules: Any) -> AsyncIterator[Rounds]:
    PRINCIPAL.set(principal)
    async with Desk(_name, **rules).client(MODERN, Person()) as client:
        yield Rounds(client)


async def _name(call: Call) -> Answer:
    return {"name": (await call.elicit("Name?", NAME)).content}


ADA = types.ElicitResult(action="accept", content={"name": "Ada"})


async def test_the_state_is_sealed_and_bound_to_its_call() -> None:
    async with rounds() as client:
        asked = await client.first(n=1)
        assert asked.input_requests is not None
        assert list(asked.input_requests) == ["question-1"]
        state = asked.request_state
        assert state is not None
        assert "question" not in state
        answers = {"question-1": ADA}
        done = await client.then(state, answers, n=1)
        assert isinstance(done, types.CallToolResult)
        assert done.structured_content == {"name": {"name": "Ada"}}
        middle = len(state) // 2
        tampered = state[:middle] + ("A" if state[middle] != "A" else "B") + state[middle + 1 :]
        for bad, tool, n in [(tampered, "ask", 1), ("{}", "ask", 1), (state, "ask", 2), (state, "two", 1)]:
            with pytest.raises(MCPError, match="Invalid or expired requestState") as caught:
                await client.then(bad, answers, tool, n=n)
            assert caught.value.code == types.INVALID_PARAMS


async def test_the_state_of_another_server_is_refused() -> None:
    async with rounds() as client, rounds() as other:
        state = (await client.first()).request_state
        with pytest.raises(MCPError, match="Invalid or expired requestState"):
            await other.then(state, {"question-1": ADA})
    keys = (b"k" * 32,)
    async with rounds(keys=keys) as client, rounds(keys=keys) as other:
        state = (await client.first()).request_state
        assert isinstance(await other.then(state, {"question-1": ADA}), types.CallToolResult)


async def test_the_state_of_another_principal_is_refused() -> None:
    keys = (b"k" * 32,)
    async with rounds(Principal.of_token("alice"), keys=keys) as client:
        state = (await client.first()).request_state
        assert isinstance(await client.then(state, {"question-1": ADA}), types.CallToolResult)
    for foreign in (Principal.of_token("bob"), Principal.of_address("::1"), None):
        async with rounds(foreign, keys=keys) as client:
            with pytest.raises(MCPError, match="Invalid or expired requestState"):
                await client.then(state, {"question-1": ADA})


async def test_the_state_expires(monkeypatch: pytest.MonkeyPatch) -> None:
    async with rounds() as client:
        asked = await client.first()
        later = time.time() + 301
        monkeypatch.setattr("time.time", lambda: later)
        with pytest.raises(MCPError, match="Invalid or expired requestState"):
            await client.then(asked.request_state, {"question-1": ADA})


async def test_only_questions_that_were_asked_are_answered() -> None:
    async with rounds() as client:
        unasked = await client.then(None, {"question-1": ADA})
        assert isinstance(unasked, types.InputRequiredResult)
        other = await client.then(unasked.request_state, {"question-2": ADA, "x": ADA})
        assert isinstance(other, types.InputRequiredResult)
        wrong = types.ListRootsResult(roots=[])
        result = await client.then(other.request_state, {"question-1": wrong})
        assert isinstance(result, types.CallToolResult)
        assert result.is_error
        assert "can't be read" in sentence_of(result)
