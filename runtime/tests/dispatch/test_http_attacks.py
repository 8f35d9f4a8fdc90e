"""Attacks on the real server over HTTP: each gets the right status, and nobody else notices."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
import pytest

from longwire.endpoints import Http
from longwire.guard.access import Access
from longwire.guard.tokens import Tokens
from longwire.settings import Settings
from raw_http import ACCEPT, HELLO, RawSession, call, http_client, open_session
from transport_bench import LOCAL, Running, serving

ALICE = "alice-correct-horse"
BOB = "bob-battery-staple!"
VERSION = "2025-11-25"
TOKENS = Tokens({ALICE: "alice", BOB: "bob"})
SETTINGS = Settings(grace=0.2, max_sessions=20, max_sessions_each=8, safe_idle=0)


class Ground:
    """A server with two principals; the victim's session is open all the time."""

    def __init__(self, server: Running, alice: RawSession, bob: httpx2.AsyncClient) -> None:
        self.server = server
        self.url = server.where
        self.alice = alice
        self.bob = bob

    async def bobs_session(self) -> RawSession:
        return await open_session(self.url, self.bob)

    async def unharmed(self) -> None:
        """Assert that the victim's session answers."""
        answer = await self.alice.post(call("unharmed", text="still here"))
        assert answer.status_code == 200, answer.text
        assert "still here" in answer.text

    async def raw(self, head: str, body: bytes = b"") -> bytes:
        """The answer to bytes that no client would send; the connection is closed after it."""
        host, _, port = self.url.removeprefix("http://").partition("/")[0].rpartition(":")
        async with await anyio.connect_tcp(host, int(port)) as stream:
            await stream.send(head.replace("\n", "\r\n").encode("latin-1") + body)
            received = b""
            while b"\r\n\r\n" not in received:
                received += await stream.receive()
            return received


def token(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


@asynccontextmanager
async def attacked(access: Access | None = None, settings: Settings = SETTINGS) -> AsyncIterator[Ground]:
    async with (
        serving(Http(LOCAL), settings=settings, access=access or Access(TOKENS)) as server,
        http_client(**token(ALICE)) as alices,
        http_client(**token(BOB)) as bobs,
    ):
        found = Ground(server, await open_session(server.where, alices), bobs)
        yield found
        await found.unharmed()


# ---- sessions -------------------------------------------------------------------------------


def guesses(real: str) -> list[str]:
    """Session ids that somebody might try, knowing one that is real."""
    return [
        *(secrets.token_hex(16) for _ in range(20)),
        "0" * 32,
        real.upper() if real.upper() != real else f"{real}A",
        real[:-1],
        real + "0",
        f"{real},{real}",
        f"../{real}",
        f"{real}%00",
        f"session:{real}",
        "*",
        "' OR 1=1 --",
        "x" * 8000,
    ]


async def test_guessed_sessions_are_unknown() -> None:
    async with attacked() as ground:
        headers = {**ground.alice.headers, **token(ALICE)}
        for guess in guesses(headers["Mcp-Session-Id"]):
            guessed = {**headers, "Mcp-Session-Id": guess}
            for method in ("POST", "GET", "DELETE"):
                answer = await ground.bob.request(
                    method, ground.url, headers=guessed, json=call(1) if method == "POST" else None
                )
                assert answer.status_code == 404, (method, guess)
                assert "mcp-session-id" not in answer.headers


async def test_a_session_cannot_be_fixed_beforehand() -> None:
    async with attacked() as ground:
        chosen = secrets.token_hex(16)
        for where in ({"Mcp-Session-Id": chosen}, {"Cookie": f"mcp-session-id={chosen}"}):
            answer = await ground.bob.post(ground.url, json=HELLO, headers={**ACCEPT, **where})
            assert answer.headers.get("mcp-session-id") != chosen
            if "Mcp-Session-Id" in where:
                assert answer.status_code in (400, 404)
        answer = await ground.bob.post(f"{ground.url}?mcp-session-id={chosen}", json=HELLO, headers=ACCEPT)
        assert answer.headers.get("mcp-session-id") != chosen
        taken = await RawSession(ground.url, ground.bob, chosen, VERSION).post(call(1))
        assert taken.status_code == 404


async def test_a_call_cannot_be_cancelled_or_answered_from_another_session() -> None:
    async with attacked() as ground, ground.alice.stream(call("mine", "wait", text="x")) as answers:
        assert (await anext(answers)).id
        bob = await ground.bobs_session()
        cancel = {"method": "notifications/cancelled", "params": {"requestId": "mine"}}
        for message in (cancel, {"id": "mine", "result": {}}, {"id": "s-1", "result": {}}):
            assert (await bob.post({"jsonrpc": "2.0", **message})).status_code == 202
        assert ground.server.bench.cancelled.count == 0
        ground.server.bench.release.set()
        assert (await anext(answers)).message["result"]["structuredContent"] == {"waited": "x"}


async def test_refused_requests_evict_nobody() -> None:
    async with attacked() as ground:
        broken: dict[str, Any] = {**HELLO, "params": {"protocolVersion": 7}}
        for _ in range(30):
            for body in (call(1), broken, {**HELLO, "params": None}, {"jsonrpc": "2.0", "method": "x"}):
                answer = await ground.bob.post(ground.url, json=body, headers=ACCEPT)
                assert "mcp-session-id" not in answer.headers
            for method in ("GET", "DELETE"):
                assert (await ground.bob.request(method, ground.url, headers=ACCEPT)).status_code == 400


# ---- headers --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "Mcp-Session-Id",
        "MCP-Protocol-Version",
        "Authorization",
        "Content-Type",
        "Origin",
        "Host",
        "Last-Event-ID",
    ],
)
@pytest.mark.parametrize("same", [True, False])
async def test_headers_that_decide_come_once(name: str, same: bool) -> None:
    async with attacked() as ground:
        values = {
            **ground.alice.headers,
            **token(ALICE),
            "Host": "localhost",
            "Origin": "http://localhost",
            "Last-Event-ID": "1-1",
        }
        method = "GET" if name == "Last-Event-ID" else "POST"
        if method == "POST":
            del values["Last-Event-ID"]
        other = values[name] if same else "x"
        for pair in ([values[name], other], [other, values[name]]):
            lines = [f"{key}: {value}" for key, value in values.items() if key != name]
            lines += [f"{name}: {pair[0]}", f"{name.lower()}: {pair[1]}", "Content-Length: 2"]
            answer = await ground.raw("\n".join([f"{method} /mcp HTTP/1.1", *lines, "", ""]), b"{}")
            assert answer.startswith(b"HTTP/1.1 400 "), answer[:200]


# ---- pages ----------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE", "OPTIONS"])
@pytest.mark.parametrize(
    ("host", "origin", "status"),
    [
        ("evil.example", None, 421),
        ("evil.example", "http://evil.example", 421),  # a rebound name calls itself by its own
        ("127.0.0.1.evil.example", None, 421),
        ("localhost", "http://evil.example", 403),
        ("localhost", "null", 403),
        ("localhost", "http://localhost.evil.example", 403),
        ("localhost", "", 403),
        ("localhost@evil.example", None, 421),
    ],
)
async def test_foreign_pages_are_refused_whatever_they_know(
    method: str, host: str, origin: str | None, status: int
) -> None:
    async with attacked() as ground:
        session = {**ground.alice.headers, **token(ALICE)}
        lines = [f"{name}: {value}" for name, value in session.items()]
        lines += [] if origin is None else [f"Origin: {origin}"]
        head = "\n".join([f"{method} /mcp HTTP/1.1", f"Host: {host}", *lines, "Content-Length: 0", "", ""])
        answer = await ground.raw(head)
        assert answer.split()[1] == str(status).encode(), answer[:300]
        assert b"access-control-allow-origin" not in answer.lower()


# ---- tokens and floods ----------------------------------------------------------------------


async def test_a_storm_of_reconnects_leaves_nothing_behind() -> None:
    async with attacked() as ground:
        bob = await ground.bobs_session()
        host, _, port = ground.url.removeprefix("http://").partition("/")[0].rpartition(":")
        lines = [f"{name}: {value}" for name, value in {**bob.headers, **token(BOB)}.items()]
        stream = "\r\n".join(["GET /mcp HTTP/1.1", "Host: localhost", *lines, "", ""]).encode()
        half = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Le"
        for round_number in range(150):
            async with await anyio.connect_tcp(host, int(port)) as connection:
                await connection.send(stream if round_number % 2 else half)
                if round_number % 3 == 0 and round_number % 2:
                    assert (await connection.receive()).startswith(b"HTTP/1.1 200 ")
        answer = await bob.post(call(1, text="after the storm"))
        assert answer.status_code == 200
        assert "after the storm" in answer.text
