"""Event streams and POSTs at one path."""

from __future__ import annotations

import json
from contextlib import AsyncExitStack

import anyio
import pytest

from endpoint_bench import (
    INITIALIZED,
    STATUS,
    WAYS,
    call,
    hello,
    request,
    structured,
)
from endpoint_http import at_sse, events_of, post, stream_at


async def test_ready_comes_first_then_where_to_post() -> None:
    async with at_sse() as (_, http, url), http.stream("GET", url) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        assert "no-cache" in response.headers["cache-control"]
        events = events_of(response)
        ready, endpoint = await anext(events), await anext(events)
        assert (ready.kind, ready.retry) == ("ready", "1000")
        assert ready.message["server"] == {"name": "bench", "version": "1"}
        assert "2025-11-25" in ready.message["protocolVersions"]
        assert ready.message["endpoint"] == endpoint.data
        assert (endpoint.kind, endpoint.data.split("=")[0]) == ("endpoint", "/mcp/sse?session_id")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("fast", [True, False])
async def test_each_way_of_speaking_on_a_stream(way: str, fast: bool) -> None:
    async with at_sse(fast=fast) as (bench, http, url), stream_at(http, url) as stream:
        if way == "handshake":
            assert (await stream.post(hello())).status_code == 202
            assert (await stream.receive())["result"]["serverInfo"]["name"] == "bench"
            assert (await stream.post(INITIALIZED)).status_code == 202
        for number, tool in enumerate(["echo", "vmaf.status", "echo", "vmaf.status"]):
            accepted = await stream.post(call(number, tool, way))
            assert (accepted.status_code, accepted.text) == (202, "Accepted")
            event = await stream.next()
            assert event.id == str(number + 1 + (way == "handshake"))
            assert event.message["id"] == number
        assert (bench.quick, bench.slow) == ((2, 0) if fast else (0, 2))


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded"])
async def test_a_post_that_pages_may_send_unasked_is_refused(kind: str) -> None:
    async with at_sse() as (_, http, url):
        headers = {"Origin": "http://localhost:3000", "Content-Type": kind}
        reply = await http.post(url, content=json.dumps(call(1, "vmaf.status")), headers=headers)
        assert (reply.status_code, "application/json" in reply.json()["error"]["message"]) == (415, True)


@pytest.mark.parametrize("way", WAYS[1:])
@pytest.mark.parametrize("fast", [True, False])
async def test_without_a_stream_the_answer_is_in_the_reply(way: str, fast: bool) -> None:
    async with at_sse(fast=fast) as (bench, http, url):
        for number in range(3):
            reply = await post(http, url, call(number, "vmaf.status", way))
            assert reply.status_code == 200
            assert reply.headers["content-type"] == "application/json"
            assert structured(reply.json())["fps"] == STATUS["fps"]
            assert reply.json()["id"] == number
        listed = await post(http, url, request("x", "tools/list", way))
        assert len(listed.json()["result"]["tools"]) == 6
        assert (bench.quick, bench.slow) == ((3, 0) if fast else (0, 3))


async def test_the_reply_is_the_same_quickly_and_not() -> None:
    async def replies(fast: bool) -> list[bytes]:
        async with at_sse(fast=fast) as (_, http, url):
            return [(await post(http, url, call(7, "vmaf.status", way))).content for way in WAYS[1:]]

    assert await replies(True) == await replies(False)


async def test_a_handshake_in_a_reply_and_notifications_of_nobody() -> None:
    async with at_sse() as (_, http, url):
        assert (await post(http, url, hello())).json()["result"]["protocolVersion"] == "2025-11-25"
        assert (await post(http, url, INITIALIZED)).status_code == 202


async def test_many_streams_and_posts_at_once() -> None:
    async with at_sse() as (bench, http, url), AsyncExitStack() as stack:
        streams = [await stack.enter_async_context(stream_at(http, url)) for _ in range(8)]
        async with anyio.create_task_group() as tasks:
            for index, stream in enumerate(streams):
                for number in range(5):
                    tasks.start_soon(stream.post, call(f"{index}.{number}", "wait"))
                    tasks.start_soon(post, http, url, call(number, "vmaf.status"))
            await bench.started.reaches(40)
            bench.release.set()
        for index, stream in enumerate(streams):
            seen = {(await stream.receive())["id"] for _ in range(5)}
            assert seen == {f"{index}.{number}" for number in range(5)}  # its own, and nobody else's
