"""Streamable HTTP: sessions, resuming, bad input, and what the SDK alone would get wrong."""

from __future__ import annotations

import json
from contextlib import suppress

import anyio

from longwire.endpoints import Http
from longwire.settings import Settings
from raw_http import (
    ACCEPT,
    call,
    modern,
    raw_session,
    silent_reader,
)
from transport_bench import LOCAL, serving

AT = Http(LOCAL)


async def test_a_body_without_a_length_is_cut_off_where_it_gets_too_long() -> None:
    async with serving(AT, settings=Settings(body=50_000, grace=0.2)) as server:
        headers = {**ACCEPT, "Transfer-Encoding": "chunked"}
        async with silent_reader(server.where, "POST", headers) as stream:
            for _ in range(6):
                await stream.send(b"2710\r\n" + b"x" * 10_000 + b"\r\n")
            answer = b""
            with suppress(anyio.EndOfStream):  # nor is the rest waited for
                while True:
                    answer += await stream.receive()
            assert answer.startswith(b"HTTP/1.1 413 ")
            assert b"over 50000 bytes" in answer


async def test_blanks_after_a_header_value_do_not_count() -> None:
    """httptools leaves them there, and the header then differs from the body."""
    async with serving(AT) as server:
        body, headers = modern(call(1))
        headers["Mcp-Name"] = "echo \t "
        async with silent_reader(server.where, "POST", headers, json.dumps(body).encode()) as stream:
            assert (await stream.receive()).startswith(b"HTTP/1.1 200 ")


async def test_a_stream_that_is_not_read_does_not_stall_its_session_for_good() -> None:
    """Without a deadline for writing, every answer of the session would wait for that stream."""
    settings = Settings(write_timeout=0.2, grace=0.2)
    async with (
        serving(AT, settings=settings) as server,
        raw_session(server.where) as session,
        silent_reader(session.url, "GET", session.headers) as stream,
    ):
        await stream.receive(10)  # it is open
        assert "shouted" in (await session.post(call(1, "shout"))).text
        assert (await session.post(call(2))).status_code == 200
