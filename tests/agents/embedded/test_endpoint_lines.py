"""Clients at a Unix socket: every way of speaking, on one connection if they like."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from endpoint_bench import (
    INITIALIZED,
    STATUS,
    WAYS,
    Measured,
    at_socket,
    call,
    hello,
    lines_to,
    opening,
    request,
    structured,
)


@pytest.mark.parametrize("way", WAYS)
async def test_each_way_of_speaking(way: str, tmp_path: Path) -> None:
    async with at_socket(tmp_path) as (_, client):
        if way == "handshake":
            assert (await client.ask(hello()))["result"]["serverInfo"]["name"] == "bench"
            await client.send(INITIALIZED)
        listed = await client.ask(request(1, "tools/list", way))
        assert "vmaf.status" in [tool["name"] for tool in listed["result"]["tools"]]
        said = structured(await client.ask(call("two", way=way, text="hä")))
        assert said == {"text": "hä", "client": "uds:1"}
        assert structured(await client.ask(call(3, "vmaf.status", way)))["fps"] == STATUS["fps"]


async def test_all_ways_on_one_connection(tmp_path: Path) -> None:
    async with at_socket(tmp_path) as (_, client):
        for number, way in enumerate(["bare", "envelope", "handshake", "envelope", "bare"]):
            if way == "handshake":
                assert (await client.ask(hello()))["result"]["protocolVersion"] == "2025-11-25"
            answer = await client.ask(call(number, way=way, text=way))
            assert structured(answer)["text"] == way
            assert ("resultType" in answer["result"]) == (way == "envelope")


async def test_requests_sent_along_with_the_handshake_are_served_at_its_version(tmp_path: Path) -> None:
    async with at_socket(tmp_path) as (bench, client):
        await client.send(hello(1, "2024-11-05"), call(2, "vmaf.status"), call(3, "vmaf.status"))
        answers = {answer["id"]: answer["result"] for answer in [await client.receive() for _ in range(3)]}
        assert answers[1]["protocolVersion"] == "2024-11-05"
        assert answers[2] == answers[3]
        assert (await client.ask(call(4, "vmaf.status")))["result"] == answers[2]
        assert (bench.slow, bench.quick) == (2, 1)


async def test_an_id_in_flight_is_refused_even_where_the_answer_would_be_quick(tmp_path: Path) -> None:
    async with at_socket(tmp_path) as (bench, client):
        await client.send(call(7, "wait"))
        await bench.started.reaches()
        for number in (7, "7"):
            await client.send(call(number, "vmaf.status"))
            assert (await client.error())[:2] == (-32600, None)
        assert structured(await client.ask(call(8, "vmaf.status")))["paused"] is False
        bench.release.set()
        assert (await client.receive())["id"] == 7
        assert (await client.ask(call(7, "vmaf.status")))["id"] == 7


async def test_who_sends_no_more_but_reads_gets_its_answer_however_long_it_takes(tmp_path: Path) -> None:
    """As `echo … | socat - UNIX:…` does."""
    async with at_socket(tmp_path) as (bench, client):
        await client.send(call(1, "vmaf.status"), call(2, "wait"), call(3))
        await client.socket.send_eof()
        await bench.started.reaches()
        assert {(await client.receive())["id"] for _ in range(2)} == {1, 3}
        bench.release.set()
        assert (await client.receive())["id"] == 2
        assert await client.closed()


async def test_the_end_of_the_server_answers_what_is_quick_and_ends_the_rest(tmp_path: Path) -> None:
    bench, path = Measured(), tmp_path / "s"
    async with opening(bench) as endpoints, AsyncExitStack() as clients:
        async with endpoints.uds(path):
            client = await clients.enter_async_context(lines_to(path))
            await client.send(call(1, "wait"))
            await bench.started.reaches()
        assert (await client.receive())["error"]["message"] == "Connection closed"
        assert await client.closed()
        assert bench.cancelled.count == 1


async def test_a_flood_does_not_keep_others_waiting(tmp_path: Path) -> None:
    bench, path = Measured(), tmp_path / "s"
    async with (
        opening(bench) as endpoints,
        endpoints.uds(path),
        lines_to(path) as flood,
        lines_to(path) as other,
    ):
        await other.ask(call(0))
        many = 1000
        await flood.send(*(call(number, "vmaf.status") for number in range(many)))
        assert (await other.ask(call(1, "vmaf.status")))["id"] == 1
        assert bench.quick < many  # it had its turn in between
        for number in range(many):
            assert (await flood.receive())["id"] == number
