"""Cases about greetings, signs of life, and the methods that every server of MCP has."""

from __future__ import annotations

import json
from typing import Any, Final

from longwire.contract.check.probe import (
    CLIENT,
    HANDSHAKE,
    METHOD_NOT_FOUND,
    STATELESS,
    Bench,
    Case,
    Failed,
    Probe,
    Run,
    Skipped,
    require,
    texts,
)

_REFUSALS: Final = frozenset({METHOD_NOT_FOUND, -32600, -32602, -32022, -32004})


async def _hello(bench: Bench, connection: Probe) -> None:
    """Do nothing: the connection has greeted."""


async def _ping(bench: Bench, connection: Probe) -> None:
    for _ in range(3):
        await connection.ping()


async def _initialize(bench: Bench, connection: Probe) -> None:
    answer = await connection.initialize()
    result = answer.result
    require(answer.reply.get("id") == 1, "the reply has another id than the request")
    require(isinstance(result.get("protocolVersion"), str), "the result has no 'protocolVersion'")
    require(isinstance(result.get("capabilities"), dict), "the result has no object 'capabilities'")
    about = result.get("serverInfo")
    require(isinstance(about, dict) and about.get("name"), "the result has no 'serverInfo' with a 'name'")
    bench.capabilities = result["capabilities"]
    if "tools" in bench.capabilities:
        listed = (await connection.call("tools/list")).result.get("tools")
        if isinstance(listed, list):
            bench.tools = {str(tool.get("name")) for tool in listed if isinstance(tool, dict)}


def _silent(method: str, session: dict[str, Any]) -> Run:
    async def run(bench: Bench, connection: Probe) -> None:
        answer = await connection.call(method, request_id=None, session=session)
        require(answer.last.get("jsonrpc") is None, "a notification was answered with a reply")

    return run


async def _tools(bench: Bench, connection: Probe) -> None:
    bench.need_capability("tools")
    tools = (await connection.call("tools/list")).result.get("tools")
    if not isinstance(tools, list):
        raise Failed("the result has no array 'tools'")
    for tool in tools:
        require(isinstance(tool, dict) and isinstance(tool.get("name"), str), "a tool has no 'name'")
        schema = tool.get("inputSchema")
        right = isinstance(schema, dict) and schema.get("type") == "object"
        require(right, f"the tool '{tool['name']}' has no 'inputSchema' of the type object")
        for name in ("properties", "$defs"):
            held = schema.get(name, {})
            require(isinstance(held, dict), f"'inputSchema.{name}' of '{tool['name']}' is no object")


def _lists(kind: str, member: str) -> Run:
    async def run(bench: Bench, connection: Probe) -> None:
        bench.need_capability(kind)
        found = (await connection.call(f"{kind}/list")).result.get(kind)
        require(isinstance(found, list), f"the result has no array '{kind}'")
        named = all(isinstance(one.get(member), str) for one in found or ())
        require(named, f"a {kind.removesuffix('s')} has no '{member}'")

    return run


async def _unknown_method(bench: Bench, connection: Probe) -> None:
    error = (await connection.call("no/such/method")).reply.get("error")
    code = error.get("code") if isinstance(error, dict) else None
    require(code == METHOD_NOT_FOUND, f"the reply has the code {code} instead of {METHOD_NOT_FOUND}")


async def _unknown_tool(bench: Bench, connection: Probe) -> None:
    bench.need_capability("tools")
    reply = (await connection.tool("no-such-tool")).reply
    result = reply.get("result")
    failed = isinstance(result, dict) and result.get("isError") is True
    require("error" in reply or failed, "a call of an unknown tool neither failed nor has 'isError'")


async def _echo(bench: Bench, connection: Probe) -> None:
    text = 'ü "quoted" \\ \U0001f600 line\nend'
    found = texts((await connection.tool("echo", {"text": text})).result)
    # Some answer with the plain text, others with a document as JSON.
    spelled = (text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1])
    require(any(one in found for one in spelled), f"the answer is {found[:80]!r}")


async def _stateless(bench: Bench, connection: Probe) -> None:
    meta = {
        "io.modelcontextprotocol/protocolVersion": STATELESS,
        "io.modelcontextprotocol/clientInfo": CLIENT,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    options: dict[str, Any] = {"session": None, "version": STATELESS}
    reply = (await connection.call("tools/list", {"_meta": meta}, **options)).reply
    error = reply.get("error")
    if isinstance(error, dict):
        require(error.get("code") in _REFUSALS, f"the reply is the error {error}")
        raise Skipped(f"the worker doesn't serve {STATELESS}")
    result = reply.get("result", {})
    require(isinstance(result.get("tools"), list), "the result has no array 'tools'")
    kind = result.get("resultType", "complete")
    require(kind == "complete", f"the list of tools has the 'resultType' {kind!r}")
    reply = (await connection.call("server/discover", {"_meta": meta}, **options)).reply
    error = reply.get("error")
    if isinstance(error, dict):  # the runtime then answers with what `initialize` has
        require(error.get("code") == METHOD_NOT_FOUND, f"the reply to server/discover is the error {error}")
        return
    found = reply.get("result", {})
    versions = found.get("supportedVersions")
    right = isinstance(versions, list) and STATELESS in versions
    require(right, f"server/discover has no array 'supportedVersions' with {STATELESS}")
    require(isinstance(found.get("capabilities"), dict), "server/discover has no object 'capabilities'")


# fmt: off
CASES: Final = (
    Case("hello", "A worker answers the runtime's hello within 5 s, with contract 1.", _hello),
    Case("ping", "Each ping is answered by a pong with its id.", _ping),
    Case("initialize",
        f"The handshake ({HANDSHAKE}) is answered with protocolVersion, capabilities and serverInfo.",
        _initialize),
    Case("initialized", "notifications/initialized gets a result without a reply.",
        _silent("notifications/initialized", {"state": {}, "initialized": False})),
    Case("tools-list", "tools/list names each tool, with an inputSchema of the type object.", _tools),
    Case("resources-list", "resources/list has an array of resources with URIs.", _lists("resources", "uri")),
    Case("prompts-list", "prompts/list has an array of prompts with names.", _lists("prompts", "name")),
    Case("unknown-method", "A request of an unknown method gets the error -32601.", _unknown_method),
    Case("unknown-tool", "A call of an unknown tool fails, and not silently.", _unknown_tool),
    Case("unknown-notification", "An unknown notification gets no reply.",
        _silent("notifications/no-such", {"state": {}, "initialized": True})),
    Case("echo", "Text of any script comes back from the tool 'echo' as it was sent.", _echo, "echo"),
    Case("stateless", f"Requests of {STATELESS} are served without a session.", _stateless),
)
# fmt: on
