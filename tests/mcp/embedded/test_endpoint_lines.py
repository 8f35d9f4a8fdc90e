"""Clients at a Unix socket: every way of speaking, on one connection if they like."""

from __future__ import annotations

import json
import stat
from contextlib import AsyncExitStack
from pathlib import Path

import anyio
import pytest

from acuity.errors import SettingsError
from acuity.mcp.settings import WireLimits
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
from transport_bench import run


@pytest.mark.parametrize("way", WAYS)
def test_each_way_of_speaking(way: str, tmp_path: Path) -> None:
    async def main() -> None:
        async with at_socket(tmp_path) as (_, client):
            if way == "handshake":
                assert (await client.ask(hello()))["result"]["serverInfo"]["name"] == "bench"
                await client.send(INITIALIZED)
            listed = await client.ask(request(1, "tools/list", way))
            assert "vmaf.status" in [tool["name"] for tool in listed["result"]["tools"]]
            said = structured(await client.ask(call("two", way=way, text="hä")))
            assert said == {"text": "hä", "client": "uds:1"}
            assert structured(await client.ask(call(3, "vmaf.status", way)))["fps"] == STATUS["fps"]

    run(main)


def test_all_ways_on_one_connection(tmp_path: Path) -> None:
    async def main() -> None:
        async with at_socket(tmp_path) as (_, client):
            for number, way in enumerate(["bare", "envelope", "handshake", "envelope", "bare"]):
                if way == "handshake":
                    assert (await client.ask(hello()))["result"]["protocolVersion"] == "2025-11-25"
                answer = await client.ask(call(number, way=way, text=way))
                assert structured(answer)["text"] == way
                assert ("resultType" in answer["result"]) == (way == "envelope")

    run(main)


def test_requests_sent_along_with_the_handshake_are_served_at_its_version(tmp_path: Path) -> None:
    async def main() -> None:
        async with at_socket(tmp_path) as (bench, client):
            await client.send(hello(1, "2024-11-05"), call(2, "vmaf.status"), call(3, "vmaf.status"))
            answers = {
                answer["id"]: answer["result"] for answer in [await client.receive() for _ in range(3)]
            }
            assert answers[1]["protocolVersion"] == "2024-11-05"
            assert answers[2] == answers[3]
            assert (await client.ask(call(4, "vmaf.status")))["result"] == answers[2]
            assert (bench.slow, bench.quick) == (2, 1)

    run(main)


def test_progress_and_cancelling(tmp_path: Path) -> None:
    async def main() -> None:
        async with at_socket(tmp_path) as (bench, client):
            await client.send(
                request(1, "tools/call", name="steps", arguments={}, _meta={"progressToken": "p"})
            )
            told = [await client.receive() for _ in range(4)]
            assert [note["params"]["progress"] for note in told[:3]] == [1, 2, 3]
            assert told[3]["id"] == 1
            await client.send(call(2, "wait"))
            await bench.started.reaches()
            cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}}
            await client.send(cancel)
            await bench.cancelled.reaches()
            assert structured(await client.ask(call(2, text="again")))["text"] == "again"

    run(main)


def test_an_id_in_flight_is_refused_even_where_the_answer_would_be_quick(tmp_path: Path) -> None:
    async def main() -> None:
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

    run(main)


def test_more_requests_than_may_be_in_flight_wait_their_turn(tmp_path: Path) -> None:
    async def main() -> None:
        async with at_socket(tmp_path, WireLimits(max_in_flight=4)) as (bench, client):
            await client.send(*(call(number, "wait", text=str(number)) for number in range(50)))
            await bench.started.reaches(4)
            bench.release.set()
            answers = [await client.receive() for _ in range(50)]
            assert sorted(answer["id"] for answer in answers) == list(range(50))
            assert bench.most == 4

    run(main)


def test_a_flood_of_everything_is_answered_once_each(tmp_path: Path) -> None:
    async def main() -> None:
        async with at_socket(tmp_path, WireLimits(max_in_flight=8)) as (_, client):
            number = 3000
            tools = ["vmaf.status", "echo", "vmaf.status"]

            async def send() -> None:
                for index in range(number):
                    await client.send(call(index, tools[index % 3], ["bare", "envelope"][index % 2]))

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(send)
                seen = [(await client.receive())["id"] for _ in range(number)]
            assert sorted(seen) == list(range(number))

    run(main)


def test_who_sends_no_more_but_reads_gets_its_answer_however_long_it_takes(tmp_path: Path) -> None:
    """As `echo … | socat - UNIX:…` does."""

    async def main() -> None:
        async with at_socket(tmp_path) as (bench, client):
            await client.send(call(1, "vmaf.status"), call(2, "wait"), call(3))
            await client.socket.send_eof()
            await bench.started.reaches()
            assert {(await client.receive())["id"] for _ in range(2)} == {1, 3}
            bench.release.set()
            assert (await client.receive())["id"] == 2
            assert await client.closed()

    run(main)


def test_who_leaves_ends_its_work_and_nobody_elses(tmp_path: Path) -> None:
    async def main() -> None:
        bench = Measured()
        async with (
            opening(bench) as endpoints,
            endpoints.uds(tmp_path / "s"),
            lines_to(tmp_path / "s") as stays,
        ):
            async with lines_to(tmp_path / "s") as leaves:
                await leaves.send(call(1, "wait"))
                await bench.started.reaches()
            await bench.cancelled.reaches()
            assert structured(await stays.ask(call(1)))["client"] == "uds:1"

    run(main)


def test_a_last_line_without_an_end_is_a_message(tmp_path: Path) -> None:
    async def main() -> None:
        async with at_socket(tmp_path) as (_, client):
            await client.socket.send(json.dumps(call(1, "vmaf.status")).encode())
            await client.socket.send_eof()
            assert (await client.receive())["id"] == 1
            assert await client.closed()

    run(main)


def test_too_many_clients_are_turned_away_until_one_leaves(tmp_path: Path) -> None:
    async def main() -> None:
        bench, path = Measured(), tmp_path / "s"
        async with opening(bench, WireLimits(max_connections=1)) as endpoints, endpoints.uds(path):
            async with lines_to(path) as first:
                await first.ask(call(1))
                async with lines_to(path) as second:
                    await second.socket.send(json.dumps(call(1)).encode() + b"\n")  # it can't know yet
                    assert "too many clients" in (await second.error())[2]
                    with pytest.raises(anyio.EndOfStream):  # which a reset is not
                        await second.socket.receive()
            while bench.connected:
                await anyio.lowlevel.checkpoint()
            async with lines_to(path) as third:
                assert (await third.ask(call(1)))["id"] == 1

    run(main)


def test_the_socket_is_the_owners_alone_and_goes_with_the_server(tmp_path: Path) -> None:
    async def main() -> None:
        path = tmp_path / "s"
        async with opening(Measured()) as endpoints:
            async with endpoints.uds(path):
                assert stat.S_IMODE(path.stat().st_mode) == 0o700
                with pytest.raises(SettingsError, match="in use by another server"):
                    async with endpoints.uds(path):
                        pass
            assert not path.exists()

    run(main)


def test_the_end_of_the_server_answers_what_is_quick_and_ends_the_rest(tmp_path: Path) -> None:
    async def main() -> None:
        bench, path = Measured(), tmp_path / "s"
        async with opening(bench) as endpoints, AsyncExitStack() as clients:
            async with endpoints.uds(path):
                client = await clients.enter_async_context(lines_to(path))
                await client.send(call(1, "wait"))
                await bench.started.reaches()
            assert (await client.receive())["error"]["message"] == "Connection closed"
            assert await client.closed()
            assert bench.cancelled.count == 1

    run(main)


def test_a_flood_does_not_keep_others_waiting(tmp_path: Path) -> None:
    async def main() -> None:
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

    run(main)
