"""HTTP over sockets: keep-alive, slow and silent clients, those that don't read, and the end of a port."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from collections import Counter
from contextlib import ExitStack, suppress
from contextvars import ContextVar
from pathlib import Path

import pytest
from http_port import GET, POST, Ground, Wire, ground

from longwire.principals.limits import BUSY
from longwire.settings import WireLimits
from longwire.wire.http.port import Port
from longwire.wire.http.request import Request, Responder
from longwire.wire.http.server import serve_http
from longwire.wire.listeners import BACKLOG, Address, bind

pytestmark = pytest.mark.usefixtures("each_loop")
SMALL = WireLimits(max_connections=4)  # so 16 connections with requests
BIG = b"data: %b\n\n" % (b"x" * 1_000_000)


async def busy(at: Ground, number: int) -> list[Wire]:
    """Connections whose requests are not answered yet."""
    wires = [await at.connect() for _ in range(number)]
    for wire in wires:
        wire.send(POST % b"wait")
    await at.pages.until(lambda: len(at.pages.waiting) >= number)
    return wires


@pytest.mark.parametrize("sent", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: a\r\n", (POST % b"a")[:-1]])
async def test_what_does_not_arrive_is_not_waited_for(sent: bytes) -> None:
    refused: Counter[str] = Counter()
    async with ground(WireLimits(head_timeout=0.1, read_timeout=0.1), refused=refused) as at:
        wire = await at.connect()
        wire.send(sent)
        answer = await wire.rest()
        assert answer.startswith(b"HTTP/1.1 408 ") if sent else answer == b""
        assert refused == {"slow": 1}
        assert at.pages.paths == []


async def test_an_idle_connection_is_closed_after_a_while() -> None:
    refused: Counter[str] = Counter()
    async with ground(WireLimits(keep_alive=0.1), refused=refused) as at:
        wire = await at.connect()
        assert (await wire.ask()).status == 200
        assert await wire.rest() == b""
        assert not refused
        (late,) = await busy(at, 1)
        at.pages.waiting[0].answer(200)  # from outside of the connection's own turn
        assert (await late.reply()).status == 200
        assert await late.rest() == b""


async def test_silent_connections_take_no_place_from_clients() -> None:
    async with ground(SMALL) as at:
        known = await at.connect()
        assert (await known.ask()).status == 200
        silent = [await at.connect() for _ in range(50)]
        for _ in range(3):
            assert (await known.ask()).status == 200
            assert (await (await at.connect()).ask()).status == 200
        # The oldest are dropped, and as many as there are clients at most stay.
        dropped = asyncio.gather(*(wire.rest() for wire in silent[:46]))
        assert await dropped == [b""] * 46
        assert (await silent[-1].ask()).status == 200


@pytest.mark.parametrize("sent", [GET % b"x", POST % b"x", (POST % b"x")[:-2]])
async def test_a_full_server_says_when_to_come_back(sent: bytes) -> None:
    async with ground(SMALL) as at:
        wires = await busy(at, 16)
        refused = await at.connect()
        refused.send(sent)
        answer = await refused.reply()
        assert (answer.status, answer.headers["retry-after"]) == (503, "5")
        assert answer.headers["connection"] == "close"
        error = json.loads(answer.body)
        assert (error["id"], error["error"]["code"]) == (None, BUSY)
        at.pages.waiting[0].answer(200)
        assert (await wires[0].reply()).status == 200
        # A connection without a request makes room.
        assert (await (await at.connect()).ask()).status == 200
        assert await wires[0].rest() == b""


async def test_the_address_of_a_proxy_may_take_every_place() -> None:
    limits = WireLimits(max_connections=4, max_connections_each=1)
    async with ground(limits, proxies=["127.0.0.1"]) as at:
        for _ in range(16):
            assert (await (await at.connect()).ask()).status == 200


async def test_one_address_cannot_take_every_place() -> None:
    async with ground(WireLimits(max_connections=4, max_connections_each=1)) as at:
        mine = [await at.connect() for _ in range(8)]
        for wire in mine:
            assert (await wire.ask()).status == 200
        over = await at.connect()
        answer = await over.reply()
        assert (answer.status, answer.headers["retry-after"]) == (503, "5")
        assert "too many connections of this address" in json.loads(answer.body)["error"]["message"]
        assert await over.rest() == b""
        assert (await (await at.connect(address="127.0.0.2")).ask()).status == 200
        mine[0].writer.close()
        await mine[0].writer.wait_closed()
        while (again := await (await at.connect()).ask()).status == 503:
            await asyncio.sleep(0)
        assert again.status == 200


async def test_a_client_that_reads_nothing_is_dropped() -> None:
    async with ground(WireLimits(write_timeout=0.2)) as at:
        wire = await at.connect()
        wire.send(GET % b"events")
        await at.pages.asked.wait()
        stream, room = at.pages.streams[0], asyncio.Event()
        stream.on_room(room.set)
        gone = asyncio.Event()
        stream.on_gone(gone.set)
        for _ in range(20):
            stream.send(BIG)
        assert stream.unsent > 0
        await gone.wait()
        assert stream.gone
        assert not room.is_set()


async def test_a_slow_reader_is_told_of_room_and_not_dropped() -> None:
    async with ground(WireLimits(write_timeout=0.4)) as at:
        wire = await at.connect()
        wire.send(b"GET /events HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        await at.pages.asked.wait()
        stream, room = at.pages.streams[0], asyncio.Event()
        stream.on_room(room.set)
        for _ in range(20):
            stream.send(BIG)
        assert stream.unsent > 0
        while not room.is_set():  # for longer than a client may read nothing
            await wire.reader.read(1 << 16)
            await asyncio.sleep(0.002)
        assert stream.unsent == 0
        assert not stream.gone
        stream.end()
        assert (await wire.rest()).endswith(b"\r\n0\r\n\r\n")


async def test_bodies_that_do_not_arrive_take_no_place_from_clients() -> None:
    async with ground(SMALL) as at:
        known = await at.connect()
        assert (await known.ask()).status == 200
        calls = await busy(at, 2)
        slow = [await at.connect() for _ in range(40)]
        for wire in slow:
            wire.send((POST % b"x")[:-1])
        # The oldest are told, and as many as there are clients at most stay.
        answers = await asyncio.gather(*(wire.rest() for wire in slow[:36]))
        assert all(answer.startswith(b"HTTP/1.1 503 ") for answer in answers)
        assert all(b"retry-after: 5\r\n" in answer for answer in answers)
        assert (await known.ask()).status == 200
        assert (await (await at.connect()).ask()).status == 200
        for waiting in at.pages.waiting:
            waiting.answer(200)
        assert [(await wire.reply()).status for wire in calls] == [200, 200]
        slow[-1].send(b"}")
        assert (await slow[-1].reply()).body == b"/x"


async def test_slow_bodies_of_an_address_make_room_for_its_other_clients() -> None:
    async with ground(WireLimits(max_connections=4, max_connections_each=1)) as at:
        kept = [await at.connect() for _ in range(4)]
        for wire in kept:
            assert (await wire.ask()).status == 200
        slow = [await at.connect() for _ in range(4)]  # now the address has all of its places
        for wire in slow:
            wire.send((POST % b"x")[:-1].replace(b"Content", b"Expect: 100-continue\r\nContent"))
            await wire.reader.readuntil(b"Continue\r\n\r\n")
        assert (await (await at.connect()).ask()).status == 200
        assert (await slow[0].rest()).startswith(b"HTTP/1.1 503 ")
        for wire in kept:
            assert (await wire.ask()).status == 200


async def test_bodies_in_part_have_a_limit_together() -> None:
    async with ground(WireLimits(max_message=1000, max_body_bytes=2000)) as at:
        head = b"POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n"
        wires = [await at.connect() for _ in range(5)]
        for wire in wires[:3]:
            wire.send(head + b"x" * 900)
        wires[0].send(b"x" * 100)  # whole bodies don't count
        assert (await wires[0].reply()).status == 200
        for wire in wires[3:]:
            wire.send(head + b"x" * 900)
        assert (await wires[1].rest()).startswith(b"HTTP/1.1 503 ")
        for wire in wires[2:]:
            wire.send(b"x" * 100)
            assert (await wire.reply()).status == 200


async def test_newcomers_do_not_wait_for_what_others_sent_ahead() -> None:
    async with ground() as at:
        place = (at.endpoint.address.host, at.endpoint.address.port)
        with ExitStack() as stack:

            def send(data: bytes) -> None:
                stack.enter_context(socket.create_connection(place)).sendall(data)

            async def asked_before(path: str) -> int:
                """How many other requests come to the handler before that one."""
                before = len(at.pages.paths)
                await at.pages.until(lambda: path in at.pages.paths)
                return at.pages.paths.index(path) - before

            for _ in range(100):
                send(GET % b"ahead" * 200)
            send(GET % b"one")  # all of them wait to be accepted
            assert await asked_before("/one") < 200
            send(GET % b"two")
            assert await asked_before("/two") < 80


async def test_thousands_of_connections_may_come_at_once() -> None:
    """As after a restart. The system tells the length of a port's backlog, which it may have cut."""
    assert BACKLOG >= 2048
    listener = bind(Address("127.0.0.1", 0))
    async with serve_http(Port(lambda *_: None, SMALL), Address("127.0.0.1", 0), listener=listener):
        about = listener.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 32)
    (most,) = struct.unpack_from("=I", about, 28)  # tcpi_sacked
    assert most == min(BACKLOG, int(Path("/proc/sys/net/core/somaxconn").read_text()))


async def test_posts_get_a_moment_and_streams_a_proper_end() -> None:
    async with ground() as at:
        stream, post, idle, silent = [await at.connect() for _ in range(4)]
        stream.send(GET % b"events")
        assert (await stream.head()).headers["content-type"] == "text/event-stream"
        assert (await idle.ask()).status == 200
        post.send(POST % b"wait")
        await at.pages.until(lambda: at.pages.waiting)
        stopping = asyncio.create_task(at.endpoint.stop())
        assert await silent.rest() == b""  # at once
        at.pages.waiting[0].answer(200, b"done")
        assert (await post.reply()).body == b"done"
        await stopping
        assert (await stream.rest()).endswith(b"data: 1\n\n\r\n0\r\n\r\n")
        assert at.pages.streams[0].gone
        assert at.pages.gone == 1  # the maker of the events was told
        assert [await idle.rest(), await post.rest()] == [b"", b""]


async def test_closing_takes_no_more_connections_and_keeps_those_there_are() -> None:
    async with ground() as at:
        wire = await at.connect()
        assert (await wire.ask()).status == 200
        at.endpoint.close()
        assert (await wire.ask()).status == 200
        with suppress(ConnectionError):
            late = await at.connect()
            assert await late.rest() == b""


async def test_who_reads_nothing_does_not_hold_up_the_end_and_what_takes_longer_is_refused() -> None:
    async with ground() as at:
        wire, post = await at.connect(), await at.connect()
        wire.send(GET % b"events")
        post.send(POST % b"wait")
        await at.pages.until(lambda: at.pages.streams and at.pages.waiting)
        for _ in range(20):
            at.pages.streams[0].send(BIG)
        await at.endpoint.stop()
        assert at.pages.streams[0].gone
        assert at.pages.waiting[0].gone
        answer = await post.reply()
        assert (answer.status, answer.headers["connection"]) == (503, "close")
        assert "retry-after" in answer.headers


# ---- requests sent one behind the other -----------------------------------------------------------


WHOSE: ContextVar[str] = ContextVar("whose", default="nobody")


async def test_a_request_doesn_t_run_in_the_context_of_the_one_before() -> None:
    tasks: set[asyncio.Task[None]] = set()

    def handler(request: Request, responder: Responder) -> None:
        async def answer() -> None:
            found = WHOSE.get()
            WHOSE.set(request.path)
            await asyncio.sleep(0)
            responder.answer(200, found.encode())

        tasks.add(asyncio.create_task(answer()))

    async with ground(handler=handler) as at:
        wire = await at.connect()
        wire.send(GET % b"1" + GET % b"2" + GET % b"3")
        assert [(await wire.reply()).body for _ in range(3)] == [b"nobody"] * 3


async def test_a_half_request_behind_a_late_answer_has_a_deadline() -> None:
    limits = WireLimits(head_timeout=0.05)

    def handler(request: Request, responder: Responder) -> None:
        # The timer of the first head has gone off by then.
        asyncio.get_running_loop().call_later(2 * limits.head_timeout, responder.answer, 200, b"late")

    async with ground(limits, handler=handler) as at:
        wire = await at.connect()
        wire.send(GET % b"1" + b"GET /2 HT")
        assert (await wire.reply()).body == b"late"
        assert (await wire.rest()).startswith(b"HTTP/1.1 408 ")


async def test_a_client_that_sends_without_end_and_reads_nothing_is_held_up() -> None:
    answered = []

    def handler(request: Request, responder: Responder) -> None:
        answered.append(request.path)
        responder.answer(200, b"x" * 100_000)

    async with ground(handler=handler) as at:
        wire = await at.connect()
        wire.send(GET % b"x" * 2000)
        for number in range(2000):
            assert len((await wire.reply()).body) == 100_000
            # What the sockets take, and one turn.
            assert len(answered) <= number + 200


async def test_a_refusal_reaches_a_client_that_goes_on_sending() -> None:
    async with ground() as at:
        wire = await at.connect()
        wire.send(b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 99999999\r\n\r\n")
        for _ in range(50):
            wire.send(b"x" * 100_000)
            await asyncio.sleep(0)
        answer = await wire.rest()
        assert answer.startswith(b"HTTP/1.1 413 ")
        assert b"connection: close" in answer
