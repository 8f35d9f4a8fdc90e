"""Attacks on the real server over HTTP: each gets the right status, and nobody else notices."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
import pytest

from longwire.endpoints import Http
from longwire.guard.access import Access
from longwire.guard.tokens import Tokens
from longwire.settings import Settings
from raw_http import ACCEPT, HELLO, RawSession, call, events, http_client, modern, open_session
from transport_bench import LOCAL, Running, run, serving

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
async def ground(access: Access | None = None, settings: Settings = SETTINGS) -> AsyncIterator[Ground]:
    async with (
        serving(Http(LOCAL), settings=settings, access=access or Access(TOKENS)) as server,
        http_client(**token(ALICE)) as alices,
        http_client(**token(BOB)) as bobs,
    ):
        found = Ground(server, await open_session(server.where, alices), bobs)
        yield found
        await found.unharmed()


def attack(scene: Callable[[Ground], Coroutine[Any, Any, None]], **options: Any) -> None:
    async def main() -> None:
        async with ground(**options) as found:
            await scene(found)

    run(main)


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


def test_guessed_sessions_are_unknown() -> None:
    async def scene(ground: Ground) -> None:
        headers = {**ground.alice.headers, **token(ALICE)}
        for guess in guesses(headers["Mcp-Session-Id"]):
            guessed = {**headers, "Mcp-Session-Id": guess}
            for method in ("POST", "GET", "DELETE"):
                answer = await ground.bob.request(
                    method, ground.url, headers=guessed, json=call(1) if method == "POST" else None
                )
                assert answer.status_code == 404, (method, guess)
                assert "mcp-session-id" not in answer.headers

    attack(scene)


def test_ids_are_random_and_long() -> None:
    async def scene(ground: Ground) -> None:
        found = {(await ground.bobs_session()).headers["Mcp-Session-Id"] for _ in range(8)}
        assert len(found) == 8
        assert all(len(one) >= 32 and set(one) <= set("0123456789abcdef") for one in found)

    attack(scene)


def test_a_session_cannot_be_fixed_beforehand() -> None:
    async def scene(ground: Ground) -> None:
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

    attack(scene)


@pytest.mark.parametrize("last", [None, "1-1", "0-0"])
def test_the_session_of_another_principal_is_unknown(last: str | None) -> None:
    async def scene(ground: Ground) -> None:
        stolen = RawSession(ground.url, ground.bob, ground.alice.headers["Mcp-Session-Id"], VERSION)
        if last is not None:
            stolen.headers["Last-Event-ID"] = last
        initialised = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        for body in (call(1), initialised, HELLO):
            assert (await stolen.post(body)).status_code == 404
        for method in ("GET", "DELETE"):
            answer = await ground.bob.request(method, ground.url, headers=stolen.headers)
            assert answer.status_code == 404
            assert "session" in answer.text.lower()

    attack(scene)


def test_a_call_cannot_be_cancelled_or_answered_from_another_session() -> None:
    async def scene(ground: Ground) -> None:
        async with ground.alice.stream(call("mine", "wait", text="x")) as answers:
            assert (await anext(answers)).id
            bob = await ground.bobs_session()
            cancel = {"method": "notifications/cancelled", "params": {"requestId": "mine"}}
            for message in (cancel, {"id": "mine", "result": {}}, {"id": "s-1", "result": {}}):
                assert (await bob.post({"jsonrpc": "2.0", **message})).status_code == 202
            assert ground.server.bench.cancelled.count == 0
            ground.server.bench.release.set()
            assert (await anext(answers)).message["result"]["structuredContent"] == {"waited": "x"}

    attack(scene)


def test_event_ids_of_another_session_bring_nothing_of_it() -> None:
    async def scene(ground: Ground) -> None:
        steps = call(1, "steps")
        steps["params"]["_meta"] = {"progressToken": 1}
        async with ground.alice.stream(steps) as answers:
            ids = [event.id async for event in answers]
        assert len(ids) >= 4
        assert all(ids)
        bob = await ground.bobs_session()
        for last in [*ids, "9999-1", "1-9999", "0-0", "-1", "1", "a-b", "1-1-1", "٣-٣", "9" * 5000]:
            headers = {**bob.headers, "Last-Event-ID": last.encode()}
            async with ground.bob.stream("GET", ground.url, headers=headers) as answer:
                assert answer.status_code == 400, last

    attack(scene)


def test_a_session_that_has_ended_stays_ended() -> None:
    async def scene(ground: Ground) -> None:
        bob = await ground.bobs_session()
        async with ground.bob.stream("GET", ground.url, headers=bob.headers) as stream:
            assert stream.status_code == 200
            answers = [await ground.bob.delete(ground.url, headers=bob.headers) for _ in range(3)]
            assert [answer.status_code for answer in answers] == [200, 404, 404]
            assert [event.message async for event in events(stream)] == [{}]  # it was ended, too
        for body in (call(1), {"jsonrpc": "2.0", "method": "notifications/initialized"}):
            assert (await bob.post(body)).status_code == 404
        assert (await ground.bob.get(ground.url, headers=bob.headers)).status_code == 404

    attack(scene)


def test_refused_requests_evict_nobody() -> None:
    async def scene(ground: Ground) -> None:
        broken: dict[str, Any] = {**HELLO, "params": {"protocolVersion": 7}}
        for _ in range(30):
            for body in (call(1), broken, {**HELLO, "params": None}, {"jsonrpc": "2.0", "method": "x"}):
                answer = await ground.bob.post(ground.url, json=body, headers=ACCEPT)
                assert "mcp-session-id" not in answer.headers
            for method in ("GET", "DELETE"):
                assert (await ground.bob.request(method, ground.url, headers=ACCEPT)).status_code == 400

    attack(scene)


def test_one_principal_fills_only_its_own_places() -> None:
    async def scene(ground: Ground) -> None:
        opened = [await ground.bobs_session() for _ in range(30)]
        statuses = [(await session.post(call(1))).status_code for session in opened]
        assert statuses == [404] * 22 + [200] * 8

    attack(scene)


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
def test_headers_that_decide_come_once(name: str, same: bool) -> None:
    async def scene(ground: Ground) -> None:
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

    attack(scene)


@pytest.mark.parametrize(
    ("head", "status"),
    [
        ("X-Long: " + "x" * 70_000, 431),
        ("Authorization: Bearer " + "x" * 70_000, 431),
        ("Mcp-Session-Id: " + "x" * 70_000, 431),
        ("\n".join(f"X-{n}: y" for n in range(500)), 431),
        ("\n".join("Cookie: a=b" for _ in range(500)), 431),
        ("Content-Length: 99999999999", 413),
        ("Content-Length: -1", 400),
        ("Content-Length: 2\nContent-Length: 3", 400),
        ("Content-Length: 2\nTransfer-Encoding: chunked", 400),
        ("Bad Name: x", 400),
    ],
)
def test_heads_that_are_too_much(head: str, status: int) -> None:
    async def scene(ground: Ground) -> None:
        answer = await ground.raw(f"POST /mcp HTTP/1.1\nHost: localhost\n{head}\n\n")
        assert answer.split()[1] == str(status).encode(), answer[:200]

    attack(scene)


@pytest.mark.parametrize(
    "value",
    [
        f"Bearer {ALICE}x",
        f"Bearer {ALICE[:-1]}",
        f"Bearer {ALICE},{ALICE}",
        f"Bearer {ALICE} {ALICE}",
        f"Bearer\t{ALICE}",
        f"Basic {ALICE}",
        f"Token {ALICE}",
        ALICE,
        "Bearer",
        "Bearer null",
        "Bearer \xe4" + ALICE,
        "Bearer " + "x" * 8000,
    ],
)
def test_odd_credentials_are_refused_before_anything_is_read(value: str) -> None:
    async def scene(ground: Ground) -> None:
        head = f"POST /mcp HTTP/1.1\nHost: localhost\nAuthorization: {value}\nContent-Length: 3\n\n"
        answer = await ground.raw(head, b"{{{")
        assert answer.startswith(b"HTTP/1.1 401 "), answer[:200]
        assert b'www-authenticate: Bearer realm="longwire"' in answer.lower().replace(b"bearer", b"Bearer")
        assert ALICE.encode() not in answer

    attack(scene)


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
def test_foreign_pages_are_refused_whatever_they_know(
    method: str, host: str, origin: str | None, status: int
) -> None:
    async def scene(ground: Ground) -> None:
        session = {**ground.alice.headers, **token(ALICE)}
        lines = [f"{name}: {value}" for name, value in session.items()]
        lines += [] if origin is None else [f"Origin: {origin}"]
        head = "\n".join([f"{method} /mcp HTTP/1.1", f"Host: {host}", *lines, "Content-Length: 0", "", ""])
        answer = await ground.raw(head)
        assert answer.split()[1] == str(status).encode(), answer[:300]
        assert b"access-control-allow-origin" not in answer.lower()

    attack(scene)


# ---- tokens and floods ----------------------------------------------------------------------


def test_tokens_cannot_be_guessed_for_long() -> None:
    async def scene(ground: Ground) -> None:
        async with http_client() as http:
            statuses = []
            for number in range(30):
                guess = token(f"{ALICE[:-1]}{number}")
                answer = await http.post(ground.url, json=HELLO, headers={**ACCEPT, **guess})
                statuses.append(answer.status_code)
                assert "mcp-session-id" not in answer.headers
            assert statuses == [401] * 20 + [429] * 10
            assert int(answer.headers["retry-after"]) >= 1
            assert answer.json()["error"]["code"] == -32010
            # The right one, new at this address, isn't told from the others.
            right = await http.post(ground.url, json=HELLO, headers={**ACCEPT, **token(BOB)})
            assert right.status_code == 429
        async with http_client("127.0.0.2", **token(BOB)) as elsewhere:
            await open_session(ground.url, elsewhere)

    attack(scene)


def test_a_storm_of_reconnects_leaves_nothing_behind() -> None:
    async def scene(ground: Ground) -> None:
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

    attack(scene)


def test_calls_over_the_rate_are_told_when_to_come_again() -> None:
    async def scene(ground: Ground) -> None:
        bob = await ground.bobs_session()  # the handshake is a request, too
        statuses = []
        for number in range(6):
            answer = await bob.post(call(number))
            statuses.append(answer.status_code)
        assert statuses == [200] * 3 + [429] * 3
        assert answer.json()["id"] == 5
        assert answer.json()["error"]["code"] == -32010
        seconds = answer.json()["error"]["data"]["retryAfter"]
        assert answer.headers["retry-after"] == str(seconds)
        assert 0 < seconds <= 15
        body, headers = modern(call(7))
        answer = await ground.bob.post(ground.url, json=body, headers=headers)
        assert answer.status_code == 429  # another session or era has no allowance of its own
        assert answer.headers["retry-after"] == str(answer.json()["error"]["data"]["retryAfter"])

    from longwire.principals.rates import parse_rate

    attack(scene, settings=Settings(grace=0.2, rate=parse_rate("4/min")))
