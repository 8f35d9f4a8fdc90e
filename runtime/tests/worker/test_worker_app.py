"""App: tools, resources, prompts and methods from functions, and what handlers can do."""

from __future__ import annotations

import asyncio
import datetime
import threading
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import mcp_types as types
import pytest
from pydantic import BaseModel, Field

from longwire.errors import AskingError, SettingsError
from longwire.worker import App, ToolError
from worker_ground import Client, served


class Place(BaseModel):
    """A place with a name."""

    name: str
    height: float = 0.0


@dataclass
class Sum:
    total: int


def make() -> App:
    app = App("mine", "1.0", instructions="Be kind.", max_in_flight=4)

    @app.tool()
    def greet(name: str, times: Annotated[int, Field(ge=1, description="How often.")] = 1) -> str:
        """Greets somebody."""
        return " ".join([f"Hello, {name}!"] * times)

    @app.tool("typed", title="All types", read_only=False, destructive=True, idempotent=False)
    async def many(
        place: Place, day: datetime.date, kind: Literal["a", "b"] = "a", schema: list[int] | None = None
    ) -> dict[str, Any]:
        return {"height": place.height, "year": day.year, "kind": kind, "schema": schema}

    @app.tool(schema={"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]})
    def given(x: int) -> Sum:
        return Sum(x + 1)

    @app.tool(thread=True)
    def threaded() -> bool:
        return threading.current_thread() is not threading.main_thread()

    @app.tool()
    def refuse(why: str) -> str:
        raise ToolError(f"no: {why}")

    @app.tool()
    def nothing() -> None:
        return None

    @app.tool()
    async def talk() -> str:
        await app.notify("notifications/mine", {"a": 1})
        await app.log("debug", "quiet")
        await app.log("error", {"loud": True}, logger="talk")
        await app.progress(1, 2, "half")
        return "done"

    @app.tool()
    async def think() -> str:
        found = await app.sample("What is it?", max_tokens=10)
        return found.content.text if isinstance(found.content, types.TextContent) else ""

    @app.tool()
    def remember(text: str | None = None) -> str:
        before = app.state.get("text", "nothing")
        app.set_state("text", text)
        return str(before)

    @app.resource("notes://all", mime_type="text/markdown")
    def notes() -> str:
        """All notes."""
        return "# Notes"

    @app.resource("notes://one/{name}")
    async def one(name: str) -> dict[str, str]:
        return {"name": name}

    @app.resource("file://{+path}", name="file")
    def file(path: str) -> bytes:
        return path.encode()

    @app.prompt()
    def review(code: str, style: str = "plain") -> str:
        """Asks for a review."""
        return f"Review {code} ({style})"

    @app.register("acme/add")
    async def add(params: dict[str, Any]) -> dict[str, Any]:
        return {"sum": params["a"] + params["b"]}

    app.capability("logging")
    app.capability("acme", {"adds": True})
    app.capability("tools", {"listChanged": True})
    return app


@pytest.fixture
def runtime() -> AbstractAsyncContextManager[Client]:
    return served(make())


def text(answer: Any) -> str:
    return str(answer.result["content"][0]["text"])


async def test_the_handshake_says_what_it_offers(runtime: Client) -> None:
    found = (await runtime.initialize()).result
    assert found["instructions"] == "Be kind."
    capabilities = found["capabilities"]
    assert capabilities["tools"] == {"listChanged": True}
    assert capabilities["logging"] == {}
    assert capabilities["experimental"] == {"acme": {"adds": True}}
    assert {"prompts", "resources"} <= capabilities.keys()
    assert runtime.hello["max_in_flight"] == 4


async def test_tools_have_schemas_of_their_type_hints(runtime: Client) -> None:
    tools = {tool["name"]: tool for tool in (await runtime.call("tools/list")).result["tools"]}
    greet = tools["greet"]
    assert greet["description"] == "Greets somebody."
    assert greet["title"] == "Greet"
    assert greet["inputSchema"] == {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "times": {"type": "integer", "minimum": 1, "default": 1, "description": "How often."},
        },
        "required": ["name"],
        "additionalProperties": False,
    }
    typed = tools["typed"]
    assert typed["annotations"]["destructiveHint"] is True
    assert typed["inputSchema"]["properties"]["kind"] == {
        "type": "string",
        "enum": ["a", "b"],
        "default": "a",
    }
    assert typed["inputSchema"]["required"] == ["place", "day"]
    assert tools["given"]["inputSchema"]["required"] == ["x"]


async def test_calls_are_given_values_of_their_types(runtime: Client) -> None:
    assert text(await runtime.tool("greet", {"name": "Ada", "times": 2})) == "Hello, Ada! Hello, Ada!"
    arguments = {"place": {"name": "hill", "height": 3}, "day": "2026-07-28", "schema": [1]}
    typed = await runtime.tool("typed", arguments)
    found = {"height": 3.0, "year": 2026, "kind": "a", "schema": [1]}
    assert typed.result["structuredContent"] == found
    assert (await runtime.tool("given", {"x": 1})).result["structuredContent"] == {"total": 2}
    assert (await runtime.tool("threaded")).result["structuredContent"] == {"result": True}
    assert (await runtime.tool("nothing")).result["content"] == []


@pytest.mark.parametrize(
    ("tool", "arguments", "sentence"),
    [
        ("greet", {}, "tool 'greet' missing required argument: 'name'"),
        ("greet", {"name": "a", "times": 0}, "invalid times 0: should be 1 or more"),
        ("greet", {"name": "a", "tims": 2}, "tool 'greet' has no argument 'tims'"),
        ("typed", {"place": {"name": "x"}, "day": "yesterday"}, "invalid argument 'day'"),
        ("refuse", {"why": "tired"}, "no: tired"),
        ("gret", {}, "unknown tool: gret; there are greet"),
    ],
)
async def test_what_is_wrong_is_said_in_a_sentence(
    runtime: Client, tool: str, arguments: dict[str, Any], sentence: str
) -> None:
    answer = await runtime.tool(tool, arguments)
    assert answer.result["isError"]
    assert sentence in text(answer)


async def test_handlers_notify_log_and_report_progress(runtime: Client) -> None:
    told = {"state": {"log_level": "warning"}, "initialized": True}
    answer = await runtime.tool("talk", session=told, meta={"progressToken": "t"})
    assert [message["method"] for message in answer.messages] == [
        "notifications/mine",
        "notifications/message",
        "notifications/progress",
    ]
    assert answer.messages[1]["params"] == {"level": "error", "data": {"loud": True}, "logger": "talk"}


async def test_a_stateless_request_asks_for_logs_itself(runtime: Client) -> None:
    answer = await runtime.modern("talk")
    methods = [message["method"] for message in answer.messages]
    assert methods == ["notifications/mine"]


async def test_a_tool_has_the_client_s_model_answer(runtime: Client) -> None:
    call = runtime.begin_tool("think")
    request = await runtime.asked(call)
    assert request["method"] == "sampling/createMessage"
    said = {"role": "assistant", "model": "m", "content": {"type": "text", "text": "A bird."}}
    runtime.respond(call, {"id": request["id"], "result": said})
    assert text(await runtime.answer(call)) == "A bird."


async def test_state_is_kept_with_the_session(runtime: Client) -> None:
    answer = await runtime.tool("remember", {"text": "blue"})
    assert text(answer) == "nothing"
    again = await runtime.tool("remember", session={**answer.last["session"], "initialized": True})
    assert text(again) == "blue"
    assert again.last["session"] == {"state": {}}
    assert "belongs to no session" in text(await runtime.modern("remember"))


async def test_resources_are_read_by_uri_and_template(runtime: Client) -> None:
    listed = (await runtime.call("resources/list")).result["resources"]
    assert [one["uri"] for one in listed] == ["notes://all"]
    templates = (await runtime.call("resources/templates/list")).result["resourceTemplates"]
    assert [one["uriTemplate"] for one in templates] == ["notes://one/{name}", "file://{+path}"]

    async def read(uri: str) -> dict[str, Any]:
        found: dict[str, Any] = (await runtime.call("resources/read", {"uri": uri})).result["contents"][0]
        return found

    notes = {"uri": "notes://all", "mimeType": "text/markdown", "text": "# Notes"}
    assert await read("notes://all") == notes
    assert '"name": "a b"' in (await read("notes://one/a%20b"))["text"]
    assert (await read("file://a/b"))["blob"] == "YS9i"
    missing = await runtime.call("resources/read", {"uri": "notes://one/a/b"})
    assert "no such resource" in missing.reply["error"]["message"]


async def test_prompts_and_methods_of_one_s_own(runtime: Client) -> None:
    listed = (await runtime.call("prompts/list")).result["prompts"][0]
    arguments = [(one["name"], one["required"]) for one in listed["arguments"]]
    assert arguments == [("code", True), ("style", False)]
    given = {"name": "review", "arguments": {"code": "x = 1"}}
    found = (await runtime.call("prompts/get", given)).result
    assert found["messages"][0]["content"]["text"] == "Review x = 1 (plain)"
    assert (await runtime.call("acme/add", {"a": 2, "b": 3})).result == {"sum": 5}


async def test_a_notification_to_everyone_needs_no_call() -> None:
    app = make()
    await app.notify("notifications/mine", to="everyone")  # before it runs there is nobody
    async with served(app) as runtime:
        for session_id in (None, "s-1"):
            to: Any = "everyone" if session_id is None else "session"
            told = await app.notify("notifications/mine", {"a": 1}, to=to, session_id=session_id)
            assert told == "delivered"  # as this runtime says of all
            sent = await runtime.wait_for("notify")
            assert sent["session_id"] == session_id
            assert sent["messages"][0]["data"]["params"] == {"a": 1}


def test_outside_of_handlers_there_is_no_client() -> None:
    app = App("mine", "1")
    with pytest.raises(AskingError, match="'progress' is for handlers"):
        asyncio.run(app.progress(1))
    with pytest.raises(AskingError, match="'sample' is for tools"):
        asyncio.run(app.sample("x", max_tokens=1))


def _positional(a: int, /) -> None: ...


def _two(a: int, b: int) -> None: ...


_OF_C = {"type": "object", "properties": {"c": {}}}


async def _later() -> None: ...


def _odd(a: threading.Lock) -> None: ...


@pytest.mark.parametrize(
    ("declare", "sentence"),
    [
        (lambda app: app.tool()(lambda: 1), "a handler has no name of its own"),
        (lambda app: app.tool(descr="Greets.")(_later), "tool() takes no 'descr'"),
        (lambda app: app.tool()(_positional), "the parameter 'a' of '_positional' can't be given by name"),
        (lambda app: app.tool()(_odd), "no schema can be made of the type hints of '_odd'"),
        (lambda app: app.tool(thread=True)(_later), "leave out thread=True"),
        (lambda app: app.tool(schema={"type": "array"})(_two), "is of another type than object"),
        (lambda app: app.tool(schema=_OF_C)(_two), "the schema of '_two' has 'c', which its handler doesn't"),
        (lambda app: [app.tool("x")(_two), app.tool("x")(_two)], "there is a tool 'x' already"),
        (lambda app: app.resource("notes")(_later), "'notes' is no URI"),
        (lambda app: app.resource("notes://{a}")(_two), "has 'a', and its handler takes 'a', 'b'"),
        (lambda app: app.register("tools/call")(_two), "'tools/call' is answered already"),
        (lambda _: App("x", "1", max_in_flight=0), "max_in_flight is 0"),
        (lambda _: App("x", "1", threads=0), "threads is 0"),
        (lambda app: app.resource(make), "write @app.resource("),
        (lambda app: app.register(make), "write @app.register("),
    ],
)
def test_what_can_t_be_declared_is_refused_in_a_sentence(declare: Any, sentence: str) -> None:
    with pytest.raises(SettingsError) as refused:
        declare(App("mine", "1"))
    assert sentence in str(refused.value)


async def test_the_level_of_logs_is_kept_with_the_session(runtime: Client) -> None:
    answer = await runtime.call("logging/setLevel", {"level": "error"})
    assert answer.last["session"] == {"state": {"log_level": "error"}}
