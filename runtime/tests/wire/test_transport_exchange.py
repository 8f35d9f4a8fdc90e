"""Stateless HTTP over a socket: signs of life, what tools leave behind, requests that never arrive."""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest

from longwire.product.app import build_server
from longwire.product.catalog import Answer, Call, Catalog, Tool
from longwire.settings import WireLimits
from raw_http import ACCEPT, call, http_client, modern
from transport_bench import Bench, served, streamable_app


async def test_silent_work_gives_signs_of_life() -> None:
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
        assert json.loads(rest[-1].removeprefix("data: "))["result"]["structuredContent"] == {"waited": True}


async def test_what_a_tool_leaves_behind_cannot_write_into_the_next_answer() -> None:
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


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize(
    "sent", ["POST /mcp HTT", "POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n{"]
)
async def test_a_request_that_does_not_arrive_is_not_waited_for(again: bool, sent: str) -> None:
    server = build_server(Catalog(), name="t", version="1")
    app = streamable_app(server)
    async with served(app, WireLimits(head_timeout=0.1, read_timeout=0.1)) as endpoint:
        host, _, port = endpoint.address.rpartition(":")
        async with await anyio.connect_tcp(host, int(port)) as stream:
            if again:
                await stream.send(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
                assert (await stream.receive()).startswith(b"HTTP/1.1 404 ")
            await stream.send(sent.encode())
            with pytest.raises((anyio.EndOfStream, anyio.BrokenResourceError)):
                assert (await stream.receive()).startswith(b"HTTP/1.1 408 ")
                await stream.receive()


async def test_paths_that_are_not_there() -> None:
    server = build_server(Catalog(), name="t", version="1")
    app = streamable_app(server)
    async with served(app) as endpoint, http_client() as http:
        answer = await http.get(f"http://{endpoint.address}/", headers=ACCEPT)
        assert (answer.status_code, answer.text) == (404, "there is nothing here: use /mcp\n")
