"""Stateless HTTP answers as the SDK's own entry does, whatever is asked; and a look after silent clients."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
import pytest
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from starlette.types import ASGIApp

from acuity.mcp.app import build_server
from acuity.mcp.catalog import Answer, Call, Catalog, Tool
from acuity.mcp.settings import WireLimits
from acuity.mcp.wire import exchange
from acuity.mcp.wire.http_app import HttpApp
from raw_http import ACCEPT, call, http_client, modern
from transport_bench import Bench, run, served, streamable_app

REGION = {"type": "string", "x-mcp-header": "Region"}
SCHEMA = {"type": "object", "properties": {"region": REGION}}


async def _region(call: Call) -> Answer:
    return {"region": call.arguments.get("region")}


async def _refusing(_: Call) -> Answer:
    raise MCPError(-32021, "a capability is missing", {"needs": "x"})


def tools() -> list[Tool]:
    own = [
        Tool("region", "R", "Says it.", SCHEMA, _region),
        Tool("refusing", "R", "Doesn't.", SCHEMA, _refusing),
    ]
    return [*Bench().catalog().tools, *own]


@asynccontextmanager
async def both() -> AsyncIterator[tuple[httpx2.AsyncClient, list[str]]]:
    """Our application and the SDK's, with the same tools."""

    def ours() -> ASGIApp:
        server = build_server(Catalog(tools=tools()), name="t", version="1")
        return streamable_app(server)

    def theirs() -> ASGIApp:
        manager = StreamableHTTPSessionManager(build_server(Catalog(tools=tools()), name="t", version="1"))
        return HttpApp({"/mcp": manager.handle_request}, manager.run)

    async with (
        served(ours()) as one,
        served(theirs()) as other,
        http_client() as http,
    ):
        yield http, [f"http://{one.address}/mcp", f"http://{other.address}/mcp"]


def changed(headers: dict[str, str | None] | None = None, **message: Any) -> tuple[Any, dict[str, str]]:
    """A good request, with something else about it. None takes a header away."""
    body, good = modern(call(1, text="a"))
    merged = {**good, **(headers or {})}
    return {**body, **message}, {name: value for name, value in merged.items() if value is not None}


def named(tool: str, arguments: dict[str, Any] | None = None, **headers: str) -> tuple[Any, dict[str, str]]:
    body, good = modern(call(1, tool, **(arguments or {})))
    return body, {**good, **{name.replace("_", "-"): value for name, value in headers.items()}}


_GOOD = modern(call(1, text="a"))[0]["params"]
CASES: dict[str, tuple[Any, dict[str, str]]] = {
    "good": changed(),
    "text id": changed(id="x"),
    "steps without a token": named("steps"),
    "steps": (
        {**call(1), "params": {"name": "steps", "_meta": {**_GOOD["_meta"], "progressToken": 5}}},
        named("steps")[1],
    ),
    "failing tool": named("echo", {"text": 5}),
    "unknown tool": named("nothing"),
    "protocol error": named("refusing"),
    "no arguments": ({**call(1), "params": {"name": "echo", "_meta": _GOOD["_meta"]}}, changed()[1]),
    "bad arguments": ({**call(1), "params": {**_GOOD, "arguments": 7}}, changed()[1]),
    "bad name": ({**call(1), "params": {**_GOOD, "name": 7}}, changed()[1]),
    "unknown method": changed({"Mcp-Method": "no/such"}, method="no/such"),
    "list": changed({"Mcp-Method": "tools/list", "Mcp-Name": None}, method="tools/list"),
    "initialize": changed({"Mcp-Method": "initialize", "Mcp-Name": None}, method="initialize"),
    "ping": changed({"Mcp-Method": "ping", "Mcp-Name": None}, method="ping"),
    "no meta": changed(params={"name": "echo"}),
    "bad meta": changed(params={"name": "echo", "_meta": 7}),
    "no params": ({"jsonrpc": "2.0", "id": 1, "method": "tools/call"}, changed()[1]),
    "meta without capabilities": changed(
        params={"name": "echo", "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}
    ),
    "other version": changed({"MCP-Protocol-Version": "2027-01-01"}),
    "other method": changed({"Mcp-Method": "tools/list"}),
    "other name": changed({"Mcp-Name": "steps"}),
    "no name": changed({"Mcp-Name": None}),
    "region": named("region", {"region": "north"}, Mcp_Param_Region="north"),
    "other region": named("region", {"region": "north"}, Mcp_Param_Region="south"),
    "no region": named("region", {"region": "north"}),
    "region without argument": named("region", {}, Mcp_Param_Region="north"),
    "no json": changed({"Accept": "text/event-stream"}),
    "no events": changed({"Accept": "application/json"}),
    "anything": changed({"Accept": "*/*"}),
    "bad type": changed({"Content-Type": "text/plain"}),
    "notification": ({"jsonrpc": "2.0", "method": "notifications/cancelled"}, changed()[1]),
    "posted answer": ({"jsonrpc": "2.0", "id": 1, "result": {}}, changed()[1]),
}


def test_every_request_is_answered_as_the_sdk_would() -> None:
    async def main() -> None:
        async with both() as (http, urls):
            for name, (body, headers) in CASES.items():
                content = json.dumps(body).encode()
                ours, theirs = [await http.post(url, content=content, headers=headers) for url in urls]
                assert ours.status_code == theirs.status_code, name
                assert ours.headers.get("content-type") == theirs.headers.get("content-type"), name
                assert _plain(ours) == _plain(theirs), name
            body, headers = changed()
            twice = [*headers.items(), ("Mcp-Name", "steps")]
            ours, theirs = [await http.post(url, json=body, headers=twice) for url in urls]
            assert (ours.status_code, _plain(ours)) == (theirs.status_code, _plain(theirs))
            assert ours.status_code == 400
            for method in ("GET", "DELETE", "PUT"):
                ours, theirs = [await http.request(method, url, headers=changed()[1]) for url in urls]
                assert (ours.status_code, ours.text) == (theirs.status_code, theirs.text)

    run(main)


def _plain(response: httpx2.Response) -> Any:
    """Bodies as documents: keys may be in any order."""
    if response.headers.get("content-type", "").startswith("text/event-stream"):
        lines = [line for line in response.text.splitlines() if line]
        return [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]
    try:
        return response.json()
    except ValueError:
        return response.text


def test_most_of_those_are_not_left_to_the_sdk(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        served = []
        genuine = exchange.serve_one

        async def counted(*arguments: Any, **options: Any) -> Any:
            served.append(arguments[2])
            return await genuine(*arguments, **options)

        monkeypatch.setattr(exchange, "serve_one", counted)
        async with both() as (http, urls):
            for name in ("good", "steps", "unknown tool", "region", "list", "unknown method"):
                body, headers = CASES[name]
                await http.post(urls[0], json=body, headers=headers)
        assert len(served) == 6

    run(main)


def test_silent_work_gives_signs_of_life(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        monkeypatch.setattr(exchange, "SOON", 0.001)
        bench = Bench()
        server = build_server(bench.catalog(), name="t", version="1")
        app = streamable_app(server, WireLimits(heartbeat=0.001))
        body, headers = modern(call(1, "wait"))
        async with (
            served(app) as endpoint,
            http_client() as http,
            http.stream("POST", f"http://{endpoint.address}/mcp", json=body, headers=headers) as response,
        ):
            lines = response.aiter_lines()
            assert [await anext(lines) for _ in range(3)] == [": ping", "", ": ping"]
            bench.release.set()
            rest = [line async for line in lines if line.startswith("data: ")]
            assert json.loads(rest[-1].removeprefix("data: "))["result"]["structuredContent"] == {
                "waited": True
            }

    run(main)


def test_what_a_tool_leaves_behind_cannot_write_into_the_next_answer() -> None:
    async def main() -> None:
        left: list[Any] = []

        async def leaving(call: Call) -> Answer:
            left.append(call.context.session)
            return {"left": True}

        tool = Tool("leaving", "L", "Leaves.", {"type": "object"}, leaving)
        server = build_server(Catalog(tools=[tool]), name="t", version="1")
        app = streamable_app(server)
        async with served(app) as endpoint, http_client() as http:
            body, headers = modern(call(1, "leaving"))
            body["params"]["_meta"] = {**body["params"]["_meta"], "progressToken": 1}
            for _ in range(2):
                answer = await http.post(f"http://{endpoint.address}/mcp", json=body, headers=headers)
                assert answer.json()["result"]["structuredContent"] == {"left": True}
                await left[-1].report_progress(1, 2, "late")

    run(main)


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize(
    "sent", ["POST /mcp HTT", "POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n{"]
)
def test_a_request_that_does_not_arrive_is_not_waited_for(again: bool, sent: str) -> None:
    async def main() -> None:
        server = build_server(Catalog(), name="t", version="1")
        app = streamable_app(server)
        async with served(app, WireLimits(read_timeout=0.1)) as endpoint:
            address = endpoint.address
            async with await anyio.connect_tcp(address.host, address.port) as stream:
                if again:
                    await stream.send(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
                    assert (await stream.receive()).startswith(b"HTTP/1.1 404 ")
                await stream.send(sent.encode())
                with pytest.raises((anyio.EndOfStream, anyio.BrokenResourceError)):
                    await stream.receive()

    run(main)


def test_paths_that_are_not_there() -> None:
    async def main() -> None:
        server = build_server(Catalog(), name="t", version="1")
        app = streamable_app(server)
        async with served(app) as endpoint, http_client() as http:
            answer = await http.get(f"http://{endpoint.address}/", headers=ACCEPT)
            assert (answer.status_code, answer.text) == (404, "there is nothing here: use /mcp")

    run(main)
