"""The core answers as the SDK's own server does: the same corpus to both, of the same server object."""

from __future__ import annotations

import json
from typing import Any

import pytest
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from core_bench import CoreClient, call, modern, running
from raw_http import ACCEPT, HELLO
from sdk_oracle import Oracle, Told, oracle

JSON = "application/json"
_TOKEN = {"_meta": {"progressToken": "t"}}


def ask(method: str, params: Any = ..., number: Any = 1) -> dict[str, Any]:
    given = {} if params is ... else {"params": params}
    return {"jsonrpc": "2.0", "id": number, "method": method, **given}


def named(tool: Any, arguments: Any = ..., **more: Any) -> dict[str, Any]:
    given = {} if arguments is ... else {"arguments": arguments}
    return ask("tools/call", {"name": tool, **given, **more})


# Requests that mean the same in a session and without one.
REQUESTS: dict[str, dict[str, Any]] = {
    "plain": named("plain", {"text": "ü"}),
    "plain without arguments": named("plain"),
    "plain with null arguments": named("plain", None),
    "text id": ask("tools/call", {"name": "plain"}, "a"),
    "large id": ask("tools/call", {"name": "plain"}, 2**60),
    "coroutine": named("echo", {"text": "a"}),
    "waiting": named("waiting", {}),
    "number": named("number", {"n": 3}),
    "number of a wrong type": named("number", {"n": "3"}),
    "number too small": named("number", {"n": 0}),
    "number and more": named("number", {"n": 3, "m": 4}),
    "number missing": named("number", {}),
    "odd values": named("odd"),
    "failing": named("failing"),
    "broken": named("broken"),
    "refusing": named("refusing"),
    "contents": named("contents"),
    "annotated": named("annotated"),
    "unknown tool": named("nothing"),
    "steps without a token": named("steps"),
    "steps": named("steps", {}, **_TOKEN),
    "steps with a bad token": named("steps", {}, _meta={"progressToken": True}),
    "steps with a token of another type": named("steps", {}, _meta={"progressToken": 1.5}),
    "meta that is none": named("plain", {}, _meta=7),
    "meta that is null": named("plain", {}, _meta=None),
    "foreign meta": named("plain", {}, _meta={"com.example/a": [1]}),
    "bad log level": named("plain", {}, _meta={"io.modelcontextprotocol/logLevel": "loud"}),
    "bad arguments": named("plain", 7),
    "list of arguments": named("plain", [1]),
    "bad name": named(7, {}),
    "null name": named(None, {}),
    "no name": ask("tools/call", {"arguments": {}}),
    "more parameters": named("plain", {}, more=1),
    "input responses": named("plain", {}, inputResponses={}),
    "bad input responses": named("plain", {}, inputResponses=7),
    "request state": named("plain", {}, requestState="x"),
    "task": named("plain", {}, task={"ttl": 5}),
    "bad task": named("plain", {}, task=5),
    "no params": ask("tools/call"),
    "null params": ask("tools/call", None),
    "unknown method": ask("no/such", {}),
    "ping": ask("ping"),
    "ping with params": ask("ping", {"a": 1}),
    "tools": ask("tools/list"),
    "tools with a cursor": ask("tools/list", {"cursor": "x"}),
    "tools with a bad cursor": ask("tools/list", {"cursor": 5}),
    "prompts": ask("prompts/list", {}),
    "prompt": ask("prompts/get", {"name": "greet", "arguments": {"who": "you"}}),
    "unknown prompt": ask("prompts/get", {"name": "nothing"}),
    "prompt without arguments": ask("prompts/get", {"name": "greet"}),
    "resources": ask("resources/list", {}),
    "templates": ask("resources/templates/list", {}),
    "resource": ask("resources/read", {"uri": "test://a"}),
    "unknown resource": ask("resources/read", {"uri": "test://nothing"}),
    "bad uri": ask("resources/read", {"uri": 7}),
    "completion": ask(
        "completion/complete",
        {"ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"name": "who", "value": "o"}},
    ),
    "level": ask("logging/setLevel", {"level": "info"}),
    "subscribe": ask("resources/subscribe", {"uri": "test://a"}),
    "discover": ask("server/discover", {}),
}


# What is refused in other words, with the request's id, or with a status of its own: the SDK's, the core's.
OTHERWISE: dict[str, tuple[int, int]] = {
    "no json": (406, 406),
    "no events": (406, 406),
    "no accept": (406, 406),
    "bad type": (400, 415),
    "no type": (400, 415),
    "a type that begins so": (415, 415),
    "no method": (400, 400),
    "no name": (400, 400),
    "bad name": (400, 400),
    "bad uri": (400, 400),
    "unknown session": (404, 404),
    "missing session": (400, 400),
}


def _agree(name: str, ours: Told, other: Told) -> None:
    """Check that both say the same, as far as they are meant to."""
    if (statuses := OTHERWISE.get(name)) is None or ours.status == 200:
        assert (ours.status, ours.messages) == (other.status, other.messages), name
    else:
        assert (other.status, ours.status) == statuses, name
        (refusal,) = ours.messages
        assert refusal["error"]["message"], name


@pytest.mark.parametrize("version", HANDSHAKE_PROTOCOL_VERSIONS)
async def test_in_a_session(version: str) -> None:
    async with running() as served, oracle(served.server) as sdk:
        client = served.client.begin(version)
        theirs = await _session(sdk, version)
        for name, message in REQUESTS.items():
            ours, other = await _both(client, sdk, message, theirs)
            assert (ours.status, ours.messages) == (other.status, other.messages), name
            assert "mcp-session-id" in ours.headers, name


def _stateless(message: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """A request with its envelope; one whose params can't have any is sent as it is."""
    params = message.get("params", {})
    if not isinstance(params, dict):
        return message, modern({**message, "params": {}})[1]
    body, headers = modern({**message, "params": params})
    own = params.get("_meta")
    if isinstance(own, dict):
        body["params"]["_meta"] = {**body["params"]["_meta"], **own}
    elif "_meta" in params:
        body["params"]["_meta"] = own
    value = params.get("name", params.get("uri")) if message["method"] != "tools/list" else None
    named = {"Mcp-Name": value} if isinstance(value, str) else {}
    return body, {**{k: v for k, v in headers.items() if k != "Mcp-Name"}, **named}


async def test_without_a_session() -> None:
    async with running() as served, oracle(served.server) as sdk:
        for name, message in REQUESTS.items():
            body, headers = _stateless(message)
            ours, other = await _both(served.client, sdk, body, headers, headers)
            _agree(name, ours, other)
            assert ours.kind == other.kind or name in OTHERWISE, name


def _changed(**changes: str | None) -> dict[str, str]:
    body = {**modern(call(1))[1], **{name.replace("_", "-"): value for name, value in changes.items()}}
    return {name: value for name, value in body.items() if value is not None}


_GOOD = modern(call(1, text="a"))[0]
_REGION, _NOWHERE = modern(call(1, "region", region="n"))[0], modern(call(1, "region"))[0]
_PARAMS = _GOOD["params"]
_META = _PARAMS["_meta"]


def _enveloped(**changes: Any) -> dict[str, Any]:
    """A call whose envelope has other members."""
    more = {f"io.modelcontextprotocol/{name}": value for name, value in changes.items()}
    return {**_GOOD, "params": {**_PARAMS, "_meta": {**_META, **more}}}


_HALF = {"name": "echo", "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}
# Headers and envelopes of the stateless era.
ENVELOPES: dict[str, tuple[Any, dict[str, str]]] = {
    "no envelope": (call(1), _changed()),
    "half an envelope": ({**_GOOD, "params": _HALF}, _changed()),
    "bad capabilities": (_enveloped(clientCapabilities=7), _changed()),
    "capabilities": (_enveloped(clientCapabilities={"sampling": {}}), _changed()),
    "bad client": (_enveloped(clientInfo=5), _changed()),
    "another version in the body": (_enveloped(protocolVersion="2025-11-25"), _changed()),
    "a version in both that is none": (
        _enveloped(protocolVersion="2027-01-01"),
        _changed(MCP_Protocol_Version="2027-01-01"),
    ),
    "other method": (_GOOD, _changed(Mcp_Method="tools/list")),
    "no method": (_GOOD, _changed(Mcp_Method=None)),
    "other name": (_GOOD, _changed(Mcp_Name="steps")),
    "no name": (_GOOD, _changed(Mcp_Name=None)),
    "encoded name": (_GOOD, _changed(Mcp_Name="=?base64?ZWNobw==?=")),
    "region": (_REGION, _changed(Mcp_Name="region", Mcp_Param_Region="n")),
    "other region": (_REGION, _changed(Mcp_Name="region", Mcp_Param_Region="s")),
    "region without header": (_REGION, _changed(Mcp_Name="region")),
    "region without argument": (_NOWHERE, _changed(Mcp_Name="region", Mcp_Param_Region="n")),
    "no json": (_GOOD, _changed(Accept="text/event-stream")),
    "no events": (_GOOD, _changed(Accept="application/json")),
    "anything": (_GOOD, _changed(Accept="*/*")),
    "wildcards": (_GOOD, _changed(Accept="application/*;q=0.5, TEXT/*")),
    "no accept": (_GOOD, _changed(Accept=None)),
    "bad type": (_GOOD, _changed(Content_Type="text/plain")),
    "no type": (_GOOD, _changed(Content_Type=None)),
    "type with charset": (_GOOD, _changed(Content_Type="Application/JSON; charset=utf-8")),
    "notification": ({"jsonrpc": "2.0", "method": "notifications/cancelled"}, _changed()),
    "answer": ({"jsonrpc": "2.0", "id": 1, "result": {}}, _changed()),
    "initialize": (modern(HELLO)[0], _changed(Mcp_Name=None, Mcp_Method="initialize")),
}


async def test_headers_and_envelopes_of_the_stateless_era() -> None:
    async with running() as served, oracle(served.server) as sdk:
        none = dict.fromkeys(served.client.headers)
        for name, (body, headers) in ENVELOPES.items():
            ours, other = await _both(served.client, sdk, body, headers, {**none, **headers})
            _agree(name, ours, other)
            assert ours.kind == other.kind or name in OTHERWISE, name
        for method in ("GET", "DELETE", "PUT", "OPTIONS"):
            ours = Told.of_ours(served.client.send(method, headers=_changed()))
            other = await sdk.ask(method, _changed())
            assert (ours.status, other.status) == (405, 405)
            assert "is a POST" in ours.messages[0]["error"]["message"]
            assert ours.headers["allow"] == other.headers["allow"]


# Headers of the sessions era: what is changed about a good request, None where a header is missing.
HEADERS: dict[str, dict[str, str | None]] = {
    "good": {},
    "no json": {"Accept": "text/event-stream"},
    "no events": {"Accept": "application/json"},
    "no accept": {"Accept": None},
    "anything": {"Accept": "*/*"},
    "bad type": {"Content-Type": "text/plain"},
    "no type": {"Content-Type": None},
    "a type that begins so": {"Content-Type": "application/jsonx"},
    "type with charset": {"Content-Type": "application/json; charset=utf-8"},
    "unknown session": {"Mcp-Session-Id": "0" * 32},
    "no version": {"MCP-Protocol-Version": None},
}


async def test_headers_of_a_session() -> None:
    async with running() as served, oracle(served.server) as sdk:
        client = served.client.begin()
        theirs = await _session(sdk, "2025-11-25")
        for name, changes in HEADERS.items():
            for message in (call(1), {"jsonrpc": "2.0", "method": "notifications/x"}):
                ours, other = await _both(client, sdk, message, {**theirs, **changes}, changes)
                _agree(name, ours, other)
        for method in ("PUT", "PATCH", "OPTIONS"):
            ours = Told.of_ours(client.send(method))
            other = await sdk.ask(method, theirs)
            assert (ours.status, ours.messages) == (other.status, other.messages), method
            assert ours.headers["allow"] == other.headers["allow"]
        missing = Told.of_ours(client.post(call(1), {"Mcp-Session-Id": None}))
        other = await sdk.ask("POST", ACCEPT, json.dumps(call(1)).encode())
        _agree("missing session", missing, other)
        assert missing.messages[0]["id"] == 1
        for status in (200, 404):
            ours = Told.of_ours(client.send("DELETE"))
            other = await sdk.ask("DELETE", theirs)
            assert ours.status == other.status == status
        error = {"code": -32600, "message": "Session not found"}
        assert Told.of_ours(client.post(call(1))).messages == [{"jsonrpc": "2.0", "id": 1, "error": error}]


HELLOS: dict[str, Any] = {
    "good": HELLO["params"],
    "unknown version": {**HELLO["params"], "protocolVersion": "1999-01-01"},
    "version of the other era": {**HELLO["params"], "protocolVersion": "2026-07-28"},
    "no client": {"protocolVersion": "2025-11-25", "capabilities": {}},
    "no version": {"capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
    "bad capabilities": {**HELLO["params"], "capabilities": 7},
    "nothing": None,
}


async def test_handshakes() -> None:
    async with running() as served, oracle(served.server) as sdk:
        for name, params in HELLOS.items():
            message = ask("initialize", params, 0)
            ours, other = await _both(served.client, sdk, message, ACCEPT)
            assert (ours.status, ours.messages) == (other.status, other.messages), name
            # The SDK makes a session even of a handshake that failed.
            assert ("mcp-session-id" in ours.headers) == ("result" in ours.messages[0]), name
        assert len(served.sessions) == 3


# Where the core differs on purpose: the request, the SDK's status and error code, and the core's.
DIFFERENCES: dict[str, tuple[dict[str, Any], dict[str, str | None], tuple[int, int], tuple[int, int]]] = {
    # A session agreed on one version.
    "another version": (call(1), {"MCP-Protocol-Version": "2025-06-18"}, (200, 0), (400, -32600)),
    # One handshake a session.
    "second handshake": ({**HELLO, "id": 5}, {}, (200, 0), (400, -32600)),
    # So does a version that there isn't.
    "unknown version": (call(1), {"MCP-Protocol-Version": "2027-01-01"}, (400, -32602), (400, -32600)),
    # The type is what counts, in any letters.
    "capital type": (call(1), {"Content-Type": "APPLICATION/JSON"}, (415, -32600), (200, 0)),
    "another charset": (call(1), {"Content-Type": f"{JSON}; charset=latin-1"}, (200, 0), (415, -32600)),
    "compressed": (call(1), {"Content-Encoding": "gzip"}, (200, 0), (415, -32600)),
    "no weight": (call(1), {"Accept": f"{JSON};q=0, text/event-stream"}, (200, 0), (406, -32600)),
}


async def test_intended_differences() -> None:
    async with running() as served, oracle(served.server) as sdk:
        client = served.client.begin()
        theirs = await _session(sdk, "2025-11-25")
        for name, (message, changes, before, now) in DIFFERENCES.items():
            ours, other = await _both(client, sdk, message, {**theirs, **changes}, changes)
            assert _code(other) == before, name
            assert _code(ours) == now, name


def _code(told: Told) -> tuple[int, int]:
    """The status and the code of the error; 0 where there is none."""
    return told.status, told.messages[-1].get("error", {}).get("code", 0)


async def _session(sdk: Oracle, version: str) -> dict[str, str]:
    """The headers of a session with the SDK's server."""
    hello = {**HELLO, "params": {**HELLO["params"], "protocolVersion": version}}
    answer = await sdk.ask("POST", ACCEPT, json.dumps(hello).encode())
    headers = {**ACCEPT, "Mcp-Session-Id": answer.headers["mcp-session-id"], "MCP-Protocol-Version": version}
    done = json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}).encode()
    assert (await sdk.ask("POST", headers, done)).status == 202
    return headers


async def _both(
    client: CoreClient, sdk: Oracle, message: Any, theirs: dict[str, Any], ours: dict[str, Any] | None = None
) -> tuple[Told, Told]:
    """The answers of both to one message; `ours`: headers that our client adds to its own."""
    body = json.dumps(message).encode()
    answer = await client.post(body, ours).over()
    given = {name: value for name, value in theirs.items() if value is not None}
    return Told.of_ours(answer), await sdk.ask("POST", given, body)
