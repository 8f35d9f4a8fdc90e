"""Requests sent one behind the other, over real connections and with answers that come late."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar

import pytest

from longwire.settings import WireLimits
from longwire.wire.http.request import Handler, Request, Responder
from longwire.wire.http.server import serve_http
from longwire.wire.listeners import Address

pytestmark = pytest.mark.usefixtures("each_loop")
GET = b"GET /%d HTTP/1.1\r\nhost: a\r\n\r\n"
WHOSE: ContextVar[str] = ContextVar("whose", default="nobody")


@asynccontextmanager
async def connected(
    handler: Handler, limits: WireLimits | None = None
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    async with (
        asyncio.timeout(20),
        serve_http(handler, Address("127.0.0.1", 0), limits or WireLimits()) as endpoint,
    ):
        reader, writer = await asyncio.open_connection(endpoint.address.host, endpoint.address.port)
        try:
            yield reader, writer
        finally:
            writer.close()


async def answer_of(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])
    return await reader.readexactly(length)


async def test_a_request_doesn_t_run_in_the_context_of_the_one_before() -> None:
    tasks: set[asyncio.Task[None]] = set()

    def handler(request: Request, responder: Responder) -> None:
        async def answer() -> None:
            found = WHOSE.get()
            WHOSE.set(request.path)
            await asyncio.sleep(0)
            responder.answer(200, found.encode())

        tasks.add(asyncio.create_task(answer()))

    async with connected(handler) as (reader, writer):
        writer.write(GET % 1 + GET % 2 + GET % 3)
        assert [await answer_of(reader) for _ in range(3)] == [b"nobody"] * 3


async def test_a_half_request_behind_a_late_answer_has_a_deadline() -> None:
    limits = WireLimits(head_timeout=0.05)

    def handler(request: Request, responder: Responder) -> None:
        # The timer of the first head has gone off by then.
        asyncio.get_running_loop().call_later(2 * limits.head_timeout, responder.answer, 200, b"late")

    async with connected(handler, limits) as (reader, writer):
        writer.write(GET % 1 + b"GET /2 HT")
        assert await answer_of(reader) == b"late"
        assert (await reader.read()).startswith(b"HTTP/1.1 408 ")


async def test_a_client_that_sends_without_end_and_reads_nothing_is_held_up() -> None:
    answered = []

    def handler(request: Request, responder: Responder) -> None:
        answered.append(request.path)
        responder.answer(200, b"x" * 100_000)

    async with connected(handler) as (reader, writer):
        writer.write(b"".join(GET % number for number in range(2000)))
        for number in range(2000):
            assert len(await answer_of(reader)) == 100_000
            # What the sockets take, and one turn.
            assert len(answered) <= number + 200


async def test_a_refusal_reaches_a_client_that_goes_on_sending() -> None:
    def handler(request: Request, responder: Responder) -> None: ...

    async with connected(handler) as (reader, writer):
        writer.write(b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 99999999\r\n\r\n")
        for _ in range(50):
            writer.write(b"x" * 100_000)
            await asyncio.sleep(0)
        answer = await reader.read()
        assert answer.startswith(b"HTTP/1.1 413 ")
        assert b"connection: close" in answer
