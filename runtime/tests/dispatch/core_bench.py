"""The runtime's core with a small catalog and clients that need no network."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import mcp_types as types
from mcp.server.context import ServerMiddleware
from mcp.shared.exceptions import MCPError

from fake_responder import FakeResponder
from longwire.counters import RuntimeCounters
from longwire.dispatch.core import Core
from longwire.dispatch.dispatcher import Dispatcher
from longwire.dispatch.exchange import Later
from longwire.dispatch.streamable import Streamable
from longwire.errors import LongwireError
from longwire.guard.access import Access
from longwire.journal.journal import Journal
from longwire.principals.limits import CallLimits
from longwire.principals.principal import PRINCIPAL, Principal
from longwire.product.app import CatalogServer, build_server
from longwire.product.asking import AskingRules
from longwire.product.catalog import Answer, Call, Catalog, Context, Prompt, Tool
from longwire.sessions.registry import Sessions
from longwire.settings import Settings, WireLimits
from longwire.wire.http.request import Request
from longwire.wire.serving import Serving
from raw_http import ACCEPT, HELLO, call, modern
from transport_bench import Bench
from waiting import until

ALICE = Principal.of_token("alice")
BOB = Principal.of_token("bob")
ABLE = {"elicitation": {}, "sampling": {}, "roots": {}}
EVENTS_FIRST = {"Accept": "text/event-stream, application/json"}
_NOTHING: dict[str, Any] = {"type": "object", "properties": {}}
_TEXT = {"type": "object", "properties": {"text": {"type": "string"}}}
_REGION = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}
_NUMBER = {
    "type": "object",
    "properties": {"n": {"type": "integer", "minimum": 1}, "mode": {"enum": ["a", "b"], "default": "a"}},
    "required": ["n"],
    "additionalProperties": False,
}


class CoreBench(Bench):
    """Tools of every kind: plain functions, coroutines, all contents, failures and questions."""

    def catalog(self) -> Catalog:
        own = [
            _tool("plain", lambda call: {"text": call.arguments.get("text", ""), "n": 1.5}, _TEXT),
            _tool("number", lambda call: {"n": call.arguments["n"], "mode": call.arguments["mode"]}, _NUMBER),
            _tool("odd", lambda _: {"nan": float("nan"), "list": [1, {"ü": None}], "empty": {}}),
            _tool("region", lambda call: {"region": call.arguments.get("region")}, _REGION),
            _tool("failing", _failing),
            _tool("broken", _broken),
            _tool("refusing", _refusing),
            _tool("contents", lambda _: _contents()),
            _tool("annotated", lambda _: _annotated()),
            _tool("waiting", self._waiting),
            _tool("logging", _logging),
            _tool("asking", _asking),
            _tool("sent_away", self._sent_away),
            _tool("stubborn", self._stubborn),
        ]
        return Catalog(
            tools=[*super().catalog().tools, *own],
            prompts=[
                Prompt("greet", "G", "Greets.", _greet, [types.PromptArgument(name="who", required=True)])
            ],
            resources=[_Documents()],
            complete=_complete,
            instructions="A bench.",
        )

    async def _waiting(self, _: Call) -> Answer:
        await asyncio.sleep(0)
        return {"waited": True}

    async def _sent_away(self, call: Call) -> Answer:
        assert call.context.close_sse_stream is not None
        await call.context.close_sse_stream()
        return await self._wait(call)

    async def _stubborn(self, _: Call) -> Answer:
        self.started.add()
        try:
            await self.release.wait()
        except asyncio.CancelledError:
            self.cancelled.add()
        return {"stubborn": True}


def _tool(name: str, work: Any, schema: dict[str, Any] | None = None) -> Tool:
    return Tool(name, name.title(), f"A fixture: {name}.", schema or _NOTHING, work)


def _failing(_: Call) -> Answer:
    raise LongwireError("it can't be done: try another")


def _broken(_: Call) -> Answer:
    raise ZeroDivisionError("a secret")


def _refusing(_: Call) -> Answer:
    raise MCPError(-32021, "a capability is missing", {"needs": "x"})


def _contents() -> types.CallToolResult:
    resource = types.TextResourceContents(uri="test://a", mime_type="text/plain", text="words")
    return types.CallToolResult(
        content=[
            types.TextContent(type="text", text="ü"),
            types.ImageContent(type="image", data="AAAA", mime_type="image/png"),
            types.AudioContent(type="audio", data="AAAA", mime_type="audio/wav"),
            types.EmbeddedResource(type="resource", resource=resource),
            types.ResourceLink(type="resource_link", uri="test://a", name="a"),
        ],
        structured_content={"a": 1},
    )


def _annotated() -> types.CallToolResult:
    words = types.TextContent(
        type="text", text="a", annotations=types.Annotations(priority=0.5), _meta={"own": 1}
    )
    return types.CallToolResult(content=[words], _meta={"of": "the result"}, is_error=True)


async def _logging(call: Call) -> Answer:
    params = types.LoggingMessageNotificationParams(level="info", data="words")
    note = types.LoggingMessageNotification(params=params)
    await call.context.session.send_notification(note, related_request_id=call.context.request_id)
    await call.context.session.send_notification(note)
    return {"logged": True}


async def _asking(call: Call) -> Answer:
    form = {"type": "object", "properties": {"name": {"type": "string"}}}
    answer = await call.context.session.elicit_form("who?", form, related_request_id=call.context.request_id)
    return {"action": answer.action, "name": (answer.content or {}).get("name")}


async def _greet(params: types.GetPromptRequestParams, _: Context) -> types.GetPromptResult:
    words = types.TextContent(type="text", text=f"hello {(params.arguments or {})['who']}")
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=words)])


async def _complete(params: types.CompleteRequestParams) -> list[str]:
    return [word for word in ("one", "other") if word.startswith(params.argument.value)]


class _Documents:
    async def list(self) -> list[types.Resource]:
        return [types.Resource(uri="test://a", name="a", mime_type="text/plain")]

    def templates(self) -> list[types.ResourceTemplate]:
        return [types.ResourceTemplate(uri_template="test://{id}", name="t")]

    async def read(self, uri: str) -> types.ReadResourceResult | None:
        await asyncio.sleep(0)
        if uri == "test://broken":
            raise ZeroDivisionError("a secret")
        if uri != "test://a":
            return None
        content = types.TextResourceContents(uri=uri, mime_type="text/plain", text="words")
        return types.ReadResourceResult(contents=[content])


class Asking(CoreBench):
    """A bench with other tools, most of which ask."""

    def __init__(self, **tools: Callable[[Call], Awaitable[Answer]]) -> None:
        super().__init__()
        self._tools = tools

    def catalog(self) -> Catalog:
        return Catalog(tools=[_tool(name, run) for name, run in self._tools.items()])


class Timers:
    """Timers that go off when a test says so."""

    def __init__(self) -> None:
        self._set: list[tuple[float, Callable[[], None], asyncio.TimerHandle]] = []

    def later(self, seconds: float, call: Callable[[], None]) -> asyncio.TimerHandle:
        loop = asyncio.get_running_loop()
        handle = asyncio.TimerHandle(loop.time() + seconds, call, (), loop)
        self._set.append((seconds, call, handle))
        return handle

    def fire(self) -> list[float]:
        """Have all timers go off that were not cancelled; returns their seconds."""
        due, self._set = [timer for timer in self._set if not timer[2].cancelled()], []
        for _, go_off, _ in due:
            go_off()
        return [seconds for seconds, _, _ in due]


class CoreClient:
    """A client of the core; its headers are those of an open session."""

    def __init__(self, core: Streamable, principal: Principal = ALICE) -> None:
        self.core = core
        self.principal = principal
        self.headers = {name.lower(): value for name, value in {**ACCEPT, "Host": "a"}.items()}

    def send(
        self,
        method: str,
        body: bytes = b"",
        headers: Mapping[str, str | None] | None = None,
        *,
        responder: FakeResponder | None = None,
        **more: Any,
    ) -> FakeResponder:
        """One request. A header that is None is left out."""
        merged = {**self.headers, **{name.lower(): value for name, value in (headers or {}).items()}}
        given = {name: value for name, value in merged.items() if value is not None}
        request = Request(method, "/mcp", headers=given, body=body, **more)
        request.principal = self.principal
        responder = responder or FakeResponder()
        token = PRINCIPAL.set(self.principal)
        try:
            self.core.handle(request, responder)
        finally:
            PRINCIPAL.reset(token)
        return responder

    def post(
        self, message: Any, headers: Mapping[str, str | None] | None = None, **more: Any
    ) -> FakeResponder:
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        return self.send("POST", body, headers, **more)

    def stateless(self, message: Any, headers: Mapping[str, str | None] | None = None) -> FakeResponder:
        """A request of the stateless era, with its envelope."""
        body, own = modern({"params": {}, **message})
        return self.post(body, {**own, **(headers or {})})

    def begin(self, version: str = "2025-11-25", capabilities: Mapping[str, Any] | None = None) -> CoreClient:
        """Another client, with a session of its own."""
        hello = {**HELLO, "params": {**HELLO["params"], "protocolVersion": version}}
        hello["params"]["capabilities"] = dict(capabilities or {})
        answer = self.post(hello)
        assert answer.status == 200, answer.body
        other = CoreClient(self.core, self.principal)
        session_id = answer.headers[b"mcp-session-id"].decode()
        other.headers |= {"mcp-session-id": session_id, "mcp-protocol-version": version}
        assert other.post({"jsonrpc": "2.0", "method": "notifications/initialized"}).status == 202
        return other

    def get(self, **headers: str | None) -> FakeResponder:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.send("GET", headers=named)


class Running:
    """A core that is served; timers go off by hand, and the clock stands still."""

    def __init__(
        self,
        limits: WireLimits,
        *,
        bench: Bench | None = None,
        settings: Settings | None = None,
        later: Later | None = None,
        journal: Journal | None = None,
        **options: Any,
    ) -> None:
        self.bench = bench or CoreBench()
        self.limits = CallLimits(settings or Settings())
        self.timers = Timers()
        self.counters = RuntimeCounters()
        asking = AskingRules(limits.capability_policy, limits.client_timeout, self.counters.count_request)
        self.server: CatalogServer = build_server(
            self.bench.catalog(), name="bench", version="1", middleware=[self.limits], asking=asking
        )
        self.serving = Serving(self.server, limits, {}, Access(), **options)
        self.now = 1000.0
        self.sessions = Sessions(limits, journal or Journal(), self.counters, clock=lambda: self.now)
        self.dispatcher = Dispatcher(self.serving)
        core = Core(self.serving, self.counters, self.dispatcher, later or self.timers.later)
        self.core = Streamable(core, self.sessions)
        self.client = CoreClient(self.core)

    def behind(self, middleware: ServerMiddleware[Any]) -> CoreClient:
        """A client whose session is begun behind one more middleware."""
        self.server.middleware.append(middleware)
        return self.client.begin()


@asynccontextmanager
async def running(limits: WireLimits | None = None, **how: Any) -> AsyncIterator[Running]:
    """A core until the block ends; see there."""
    served = Running(limits or WireLimits(), **how)
    async with served.core.run():
        yield served


def cancel(number: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}}


def reply(client: CoreClient, asked: dict[str, Any], result: dict[str, Any]) -> int | None:
    """Answer a question; the status."""
    return client.post({"jsonrpc": "2.0", "id": asked["id"], "result": result}).status


async def heard(responder: FakeResponder, number: int) -> list[dict[str, Any]]:
    """The messages of an answer of events, when there are so many."""
    await until(lambda: len(responder.messages) >= number)
    return [json.loads(message) for message in responder.messages]


def result_of(answer: FakeResponder) -> Any:
    """The structured content of a reply, whichever form it has."""
    return reply_of(answer)["result"]["structuredContent"]


def reply_of(answer: FakeResponder) -> dict[str, Any]:
    """The reply in an answer, whichever form it has."""
    text = answer.messages[-1] if answer.began else answer.body
    reply: dict[str, Any] = json.loads(text)
    return reply


__all__ = ["ALICE", "BOB", "CoreBench", "CoreClient", "Running", "call", "modern", "running"]
