"""The end-to-end cases of the runtime's plan, against the real server: a demo of each kind of message.

They come from the project whose plan this runtime follows, which no longer has them. Where the protocol says
otherwise than the plan, the protocol holds: later calls need the session's id, a DELETE has no body, and a
capability that is missing is a JSON-RPC error in the call's answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel

from longwire.endpoints import Http
from longwire.guard.access import Access
from longwire.guard.origins import Origins
from longwire.product.catalog import Answer, Call, Catalog, Context, Method, Prompt, Tool
from longwire.settings import Settings
from raw_http import ACCEPT, HELLO, Event, RawSession, events, http_client
from transport_bench import LOCAL, Bench, Running, serving

VERSION = "2025-11-25"
URI = "resource://demo/readme"
PAGE = "https://app.example"  # an origin that is allowed
PROMPT, SYSTEM, TOKENS = "Say hello", "You are brief", 128


class Words(BaseModel):
    """The params of the demo's methods."""

    text: str = ""


class Demo(Bench):
    """A tool, a resource, a prompt, and methods that send something to the client of the session."""

    def __init__(self) -> None:
        super().__init__()
        self.outcomes: list[str] = []
        self._tasks: set[asyncio.Task[None]] = set()

    def catalog(self) -> Catalog:
        text = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
        return Catalog(
            tools=[
                Tool("echo", "Echo", "Says it again.", text, self._echo),
                Tool("sample", "Sample", "Asks the client's model.", text, self._sample),
            ],
            prompts=[Prompt("welcome", "Welcome", "", self._welcome)],
            resources=[self],
            methods=[
                Method("debug/notify", Words, self._notify),
                Method("debug/sample", Words, self._queue_sample),
            ],
        )

    async def list(self) -> Sequence[types.Resource]:
        return [types.Resource(uri=URI, name="readme")]

    def templates(self) -> Sequence[types.ResourceTemplate]:
        return []

    async def read(self, uri: str) -> types.ReadResourceResult | None:
        contents = [types.TextResourceContents(uri=uri, text="Read me")]
        return types.ReadResourceResult(contents=list(contents)) if uri == URI else None

    async def _sample(self, call: Call) -> Answer:
        told = await call.sample(call.arguments["text"], max_tokens=TOKENS, system_prompt=SYSTEM)
        return {"model": told.model}

    async def _welcome(self, _: types.GetPromptRequestParams, __: Context) -> types.GetPromptResult:
        words = types.TextContent(type="text", text="Welcome")
        return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=words)])

    async def _notify(self, context: Context, params: Words) -> dict[str, Any]:
        data = types.LoggingMessageNotificationParams(level="info", data=params.text)
        await context.session.send_notification(types.LoggingMessageNotification(params=data))
        return {"queued": True}

    async def _queue_sample(self, context: Context, params: Words) -> dict[str, Any]:
        """Send a request outside of any call: it goes to the session's GET, and nobody waits for it."""
        task = asyncio.ensure_future(self._asked(context, params.text))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return {"queued": True}

    async def _asked(self, context: Context, text: str) -> None:
        words = types.TextContent(type="text", text=text)
        params = types.CreateMessageRequestParams(
            messages=[types.SamplingMessage(role="user", content=words)],
            max_tokens=TOKENS,
            system_prompt=SYSTEM,
        )
        request = types.CreateMessageRequest(params=params)
        try:
            result = await context.session.send_request(request, types.CreateMessageResult)
            self.outcomes.append(result.model)
        except MCPError as error:
            self.outcomes.append(error.message)
        self.started.add()


@asynccontextmanager
async def demo(access: Access | None = None, **settings: Any) -> AsyncIterator[Running]:
    made = Settings(grace=0.2, **settings)
    async with serving(Http(LOCAL), bench=Demo(), settings=made, access=access) as server:
        yield server


async def began(server: Running, http: httpx2.AsyncClient, **headers: str) -> RawSession:
    """A session whose client declared nothing."""
    answer = await http.post(server.where, json=HELLO, headers={**ACCEPT, **headers})
    assert answer.status_code == 200, answer.text
    assert answer.json()["result"]["protocolVersion"] == VERSION
    session = RawSession(server.where, http, answer.headers["mcp-session-id"], VERSION)
    initialized = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert (await session.post(initialized)).status_code == 202
    return session


async def asked(session: RawSession, method: str, **params: Any) -> Any:
    """The answer to a request, which comes as JSON."""
    answer = await session.post({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    assert answer.status_code == 200, answer.text
    return answer.json()


@asynccontextmanager
async def listening(session: RawSession) -> AsyncIterator[AsyncIterator[Event]]:
    async with session.http.stream("GET", session.url, headers=session.headers) as response:
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/event-stream")
        yield (event async for event in events(response) if event.message)  # not the first, an id alone


def counted(server: Running, outcome: str) -> int:
    return server.counters.client_requests["sampling", outcome]


async def test_the_lists_of_a_demo() -> None:
    async with demo() as server, http_client() as http:
        answer = await http.post(server.where, json=HELLO, headers=ACCEPT)
        assert answer.json()["result"]["serverInfo"]["name"] == "bench"
        session = await began(server, http)
        tool = (await asked(session, "tools/list"))["result"]["tools"][0]
        assert (tool["name"], tool["inputSchema"]["required"]) == ("echo", ["text"])
        called = await asked(session, "tools/call", name="echo", arguments={"text": "hi"})
        assert called["result"]["structuredContent"]["text"] == "hi"
        resources = (await asked(session, "resources/list"))["result"]["resources"]
        assert [resource["uri"] for resource in resources] == [URI]
        read = (await asked(session, "resources/read", uri=URI))["result"]["contents"]
        assert read[0]["text"] == "Read me"
        prompts = (await asked(session, "prompts/list"))["result"]["prompts"]
        assert [prompt["name"] for prompt in prompts] == ["welcome"]
        got = (await asked(session, "prompts/get", name="welcome"))["result"]["messages"]
        assert got[0]["content"]["text"] == "Welcome"
    assert server.over.is_set()  # a clean stop


async def test_a_notification_reaches_the_stream_of_its_session() -> None:
    async with demo() as server, http_client() as http:
        session, other = await began(server, http), await began(server, http)
        async with listening(session) as heard, listening(other) as silent:
            queued = await asked(session, "debug/notify", text="hello")
            assert queued["result"] == {"queued": True}
            event = await anext(heard)
            assert event.message["method"] == "notifications/message"
            assert event.message["params"]["data"] == "hello"
            assert (await asked(other, "debug/notify", text="to the other"))["result"]["queued"]
            assert (await anext(silent)).message["params"]["data"] == "to the other"


async def test_a_notification_waits_for_the_stream() -> None:
    async with demo() as server, http_client() as http:
        session = await began(server, http)
        for text in ("one", "two"):
            await asked(session, "debug/notify", text=text)
        async with listening(session) as heard:
            said = [(await anext(heard)).message["params"]["data"] for _ in range(2)]
        assert said == ["one", "two"]


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
async def test_a_foreign_origin_is_refused(method: str) -> None:
    access = Access(origins=Origins.parse([PAGE]))
    async with demo(access) as server, http_client() as http:
        session = await began(server, http, origin=PAGE)
        headers = {**session.headers, "origin": "https://evil.example"}
        body = {"json": HELLO} if method == "POST" else {}
        answer = await http.request(method, server.where, headers=headers, **body)
        assert answer.status_code == 403


async def test_a_session_is_deleted_once() -> None:
    access = Access(origins=Origins.parse([PAGE]))
    async with demo(access) as server, http_client() as http:
        session = await began(server, http, origin=PAGE)
        headers = {**session.headers, "origin": PAGE}
        statuses = [(await http.delete(server.where, headers=headers)).status_code for _ in range(2)]
        assert statuses == [200, 404]
        ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
        assert (await session.post(ping)).status_code == 404


async def test_sampling_reaches_the_stream() -> None:
    async with demo(capability_policy="warn") as server, http_client() as http:
        session = await began(server, http)
        async with listening(session) as heard:
            queued = await asked(session, "debug/sample", text=PROMPT)
            assert queued["result"] == {"queued": True}
            request = (await anext(heard)).message
            assert request["method"] == "sampling/createMessage"
            params = request["params"]
            assert params["messages"][0]["content"]["text"] == PROMPT
            assert (params["systemPrompt"], params["maxTokens"]) == (SYSTEM, TOKENS)
            # The plan's own relay goes no further: an answer is refused there.
            content = {"type": "text", "text": "Hello"}
            result = {"role": "assistant", "content": content, "model": "m"}
            reply = {"jsonrpc": "2.0", "id": request["id"], "result": result}
            assert (await session.post(reply)).status_code == 202
            await server.bench.started.reaches()
            assert isinstance(server.bench, Demo)
            assert server.bench.outcomes == ["m"]
        assert (counted(server, "warned"), counted(server, "answered")) == (1, 1)


async def test_sampling_policy_drop() -> None:
    async with demo(capability_policy="drop") as server, http_client() as http:
        session = await began(server, http)
        async with listening(session) as heard:
            assert counted(server, "dropped") == 0
            queued = await asked(session, "debug/sample", text=PROMPT)
            assert queued["result"] == {"queued": True}
            await server.bench.started.reaches()
            assert counted(server, "dropped") == 1
            # What comes next on the stream is what was sent next.
            await asked(session, "debug/notify", text="after")
            assert (await anext(heard)).message["params"]["data"] == "after"


async def test_sampling_policy_error() -> None:
    async with demo(capability_policy="error") as server, http_client() as http:
        session = await began(server, http)
        assert counted(server, "refused") == 0
        refused = await asked(session, "tools/call", name="sample", arguments={"text": PROMPT})
        assert refused["error"]["code"] == types.MISSING_REQUIRED_CLIENT_CAPABILITY
        assert "'sampling'" in refused["error"]["message"]
        assert counted(server, "refused") == 1


async def test_sampling_waits_for_the_stream() -> None:
    async with demo(capability_policy="warn", client_timeout=600) as server, http_client() as http:
        session = await began(server, http)
        await asked(session, "debug/sample", text=PROMPT)
        with anyio.fail_after(30):
            async with listening(session) as heard:
                assert (await anext(heard)).message["method"] == "sampling/createMessage"
