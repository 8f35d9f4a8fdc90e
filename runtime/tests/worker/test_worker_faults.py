"""Errors of handlers: what clients are told, and what the log has."""

from __future__ import annotations

import logging
import sys
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import BaseModel

from longwire.worker import App, MCPError, ToolError
from worker_ground import Client, served


def make() -> App:
    app = App("mine", "1")

    @app.resource("notes://{name}")
    async def note(name: str) -> str:
        raise ToolError(f"the note {name} is locked")

    @app.prompt
    def review() -> Any:
        return [3]

    @app.prompt
    def talk() -> Any:
        return [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]

    @app.register("acme/own")
    def own(params: dict[str, Any]) -> dict[str, Any]:
        if "code" in params:
            raise MCPError(params["code"], "as I like it", {"why": 1})
        if "exit" in params:
            sys.exit(3)
        return {"sum": params["a"]}

    @app.tool
    def refuse() -> str:
        raise ToolError("not today")

    @app.tool
    def leave() -> str:
        sys.exit(3)

    @app.tool
    async def leave_later() -> str:
        sys.exit(3)

    @app.tool(thread=True)
    def leave_there() -> str:
        sys.exit(3)

    @app.tool
    def keep(size: int) -> str:
        app.set_state("text", "x" * size)
        return "kept"

    @app.tool
    def keep_odd() -> str:
        app.set_state("it", {1, 2})
        return "kept"

    return app


@pytest.fixture
def runtime() -> AbstractAsyncContextManager[Client]:
    return served(make())


@pytest.mark.parametrize(
    ("method", "params", "error", "logged"),
    [
        ("resources/read", {"uri": "notes://a"}, (-32603, "the note a is locked"), None),
        ("prompts/get", {"name": "review"}, (-32603, "a prompt returned"), "the prompt 'review'"),
        ("acme/own", {"code": -1}, (-1, "as I like it"), None),
        ("acme/own", {"exit": 1}, (-32603, "called exit()"), "the method 'acme/own'"),
        ("acme/own", {}, (-32603, "'acme/own' failed in a way it should"), "the method 'acme/own' failed"),
    ],
)
async def test_errors_of_resources_prompts_and_methods_have_a_sentence(
    runtime: Client,
    caplog: pytest.LogCaptureFixture,
    method: str,
    params: dict[str, Any],
    error: tuple[int, str],
    logged: str | None,
) -> None:
    found = (await runtime.call(method, params)).reply["error"]
    assert found["code"] == error[0]
    assert error[1] in found["message"]
    said = [one.getMessage() for one in caplog.records if one.levelno == logging.ERROR]
    assert bool(said) == (logged is not None)
    assert logged is None or logged in said[0]


async def test_an_error_of_a_tool_is_its_sentence(runtime: Client) -> None:
    found = (await runtime.tool("refuse")).result
    assert found["isError"]
    assert found["content"] == [{"type": "text", "text": "not today"}]
    for name in ("leave", "leave_later", "leave_there"):
        text = (await runtime.tool(name)).result["content"][0]["text"]
        assert text.startswith(f"tool '{name}' called exit()")


async def test_what_a_session_can_not_remember_is_refused_at_once(runtime: Client) -> None:
    large = (await runtime.tool("keep", {"size": 65536})).result
    assert "65536 is the most" in large["content"][0]["text"]
    odd = (await runtime.tool("keep_odd")).result
    assert "JSON can't hold it" in odd["content"][0]["text"]
    answer = await runtime.tool("keep", {"size": 65000})
    assert len(answer.last["session"]["state"]["text"]) == 65000


class Party(BaseModel):
    """A party."""

    people: int


@dataclass
class Table:
    people: int


@pytest.mark.parametrize("form", [Party, Table])
async def test_a_form_may_be_a_model_or_a_dataclass(form: type) -> None:
    app = App("mine", "1")

    @app.tool
    async def book() -> str:
        answer = await app.elicit("How many?", form)
        return f"{answer.action} {answer.content}"

    async with served(app) as runtime:
        call = runtime.begin_tool("book")
        request = await runtime.asked(call)
        assert request["params"]["requestedSchema"] == {
            "type": "object",
            "properties": {"people": {"type": "integer"}},
            "required": ["people"],
        }
        said = {"action": "accept", "content": {"people": 4}}
        runtime.respond(call, {"id": request["id"], "result": said})
        found = (await runtime.answer(call)).result
        assert found["content"] == [{"type": "text", "text": "accept {'people': 4}"}]


async def test_messages_of_prompts_may_be_plain(runtime: Client) -> None:
    messages = (await runtime.call("prompts/get", {"name": "talk"})).result["messages"]
    said = [(one["role"], one["content"]["text"]) for one in messages]
    assert said == [("user", "hi"), ("assistant", "hello")]
