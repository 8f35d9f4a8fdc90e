"""The end of a port: what is answered, what is cut, and a stop that is asked for twice."""

from __future__ import annotations

import asyncio

import pytest
from http_port import GET, POST, ground

pytestmark = pytest.mark.usefixtures("each_loop")


async def test_posts_get_a_moment_and_streams_a_proper_end() -> None:
    async with ground() as at:
        stream, post, idle, silent = [await at.connect() for _ in range(4)]
        stream.send(GET % b"events")
        assert (await stream.head()).headers["content-type"] == "text/event-stream"
        assert (await idle.ask()).status == 200
        post.send(POST % b"wait")
        while not at.pages.waiting:
            at.pages.asked.clear()
            await at.pages.asked.wait()
        stopping = asyncio.create_task(at.endpoint.stop())
        assert await silent.rest() == b""  # at once
        at.pages.waiting[0].answer(200, b"done")
        assert (await post.reply()).body == b"done"
        await stopping
        assert (await stream.rest()).endswith(b"data: 1\n\n\r\n0\r\n\r\n")
        assert at.pages.streams[0].gone
        assert at.pages.gone == 1  # the maker of the events was told
        assert [await idle.rest(), await post.rest()] == [b"", b""]


async def test_what_takes_longer_is_refused() -> None:
    async with ground() as at:
        wire = await at.connect()
        wire.send(POST % b"wait")
        await at.pages.asked.wait()
        await at.endpoint.stop()
        answer = await wire.reply()
        assert (answer.status, answer.headers["connection"]) == (503, "close")
        assert "retry-after" in answer.headers
        assert at.pages.waiting[0].gone
        assert at.pages.gone == 1


async def test_closing_takes_no_more_connections_and_keeps_those_there_are() -> None:
    async with ground() as at:
        wire = await at.connect()
        assert (await wire.ask()).status == 200
        at.endpoint.close()
        assert (await wire.ask()).status == 200
        try:
            late = await at.connect()
            assert await late.rest() == b""
        except ConnectionError:
            pass


async def test_a_client_that_reads_nothing_does_not_hold_up_the_end() -> None:
    async with ground() as at:
        wire = await at.connect()
        wire.send(GET % b"events")
        await at.pages.asked.wait()
        for _ in range(20):
            at.pages.streams[0].send(b"data: %b\n\n" % (b"x" * 1_000_000))
        await at.endpoint.stop()
        assert at.pages.streams[0].gone
