"""A pause is its client's: it ends when that goes, when its lease runs out, or by anybody's resume."""

from __future__ import annotations

import asyncio
import http.client
import json
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client
from mcp_types import Implementation

from acuity import EmbeddedConfig, EmbeddedServer
from acuity.agents.embedded.steering.commands import Client as Owner
from acuity.measure import Measurement
from acuity.measure.feed import feed
from bridge_room import PATIENCE, Room, measuring
from embedded_client import LineClient, connected, feeding, hosted, started
from live_ground import SECONDS, Ground
from longwire.endpoints import Open
from moving_pictures import pair
from raw_http import META, call, modern
from transport_bench import transport_to

pytestmark = pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")


class Moving:
    """Whether frames go on, and none do meanwhile."""

    def __init__(self, measurement: Measurement) -> None:
        self._moved = threading.Event()
        self._seen = measurement.frames
        self._measurement = measurement
        measurement.boundary.on_frame(lambda _: self._moved.set())

    def again(self) -> bool:
        return self._moved.wait(PATIENCE) and self._measurement.frames > self._seen


def server_clock(measurement: Measurement) -> list[float]:
    """The measurement's clock, as the test turns it."""
    now = [1000.0]
    measurement.gate.clock = lambda: now[0]
    return now


# ---- the client goes --------------------------------------------------------------------------


@pytest.mark.parametrize("envelope", [False, True])
def test_over_a_socket(envelope: bool, tmp_path: Path) -> None:
    meta = {**META, "io.modelcontextprotocol/clientInfo": {"name": "inspector", "version": "1"}}
    with hosted(tmp_path) as (measurement, _), feeding(measurement):
        with connected(tmp_path / "s") as client:
            params: dict[str, Any] = {"name": "vmaf.pause", "arguments": {}}
            asked = client.ask("tools/call", **params, **({"_meta": meta} if envelope else {}))
            assert asked["result"]["structuredContent"]["paused"]
            (pause,) = client.call("vmaf.status")["paused_by"]
            assert pause["by"] == ("inspector" if envelope else "a client")
            assert pause["transport"] == "uds"
            moving = Moving(measurement)
        assert moving.again()
        assert not measurement.paused


@pytest.mark.parametrize("transport", ["sse", "http", "uds"])
async def test_with_the_official_client(transport: str, tmp_path: Path) -> None:
    """The end of its stream, session or connection is the end of its pause."""
    with hosted(tmp_path) as (measurement, server), ExitStack() as stack:
        where = {"sse": server.start_sse().url, "http": server.start_http().url, "uds": str(tmp_path / "s")}
        info = Implementation(name="inspector", version="1")

        def client() -> Client:
            opened = Open(transport, where[transport], lambda: None)
            return Client(transport_to(opened), mode="legacy", client_info=info)

        stack.enter_context(feeding(measurement))
        async with client() as leaves, client() as stays:
            result = await leaves.call_tool("vmaf.pause", {"lease_seconds": 600})
            assert result.structured_content["paused"]
            status = (await stays.call_tool("vmaf.status", {})).structured_content
            (pause,) = status["paused_by"]
            assert (pause["by"], pause["transport"]) == ("inspector", transport)
            assert status["paused_until"] == pause["until"] == result.structured_content["paused_until"]
            assert 0 < status["pause_seconds_left"] <= 600
            assert status["state"] == "paused"
            moving = Moving(measurement)
        assert await asyncio.to_thread(moving.again)


def seconds_left(watcher: LineClient, most: float) -> float:
    """The time that is left to the pause, as soon as it is no more than that."""
    end = time.monotonic() + PATIENCE
    while (left := watcher.call("vmaf.status")["pause_seconds_left"]) > most:
        assert time.monotonic() < end, f"{left} seconds are left"
    return float(left)


@pytest.mark.parametrize(("era", "rest"), [("legacy", 10.0), ("2026-07-28", 30.0)])
def test_over_streamable_http_it_ends_soon_after_the_last_connection(
    era: str, rest: float, tmp_path: Path
) -> None:
    """Without a word: an agent that was killed deletes no session."""
    with hosted(tmp_path) as (measurement, server):
        url = server.start_http().url
        now = server_clock(measurement)
        with feeding(measurement), connected(tmp_path / "s") as watcher:
            with started(AGENT, url, era) as agent:
                assert agent.stdout.readline() == "paused\n", agent.communicate()
                now[0] += 1000.0  # it is there, and says nothing
                assert watcher.call("vmaf.status")["pause_seconds_left"] == 2600.0
                agent.kill()
            assert seconds_left(watcher, rest) == rest
            moving = Moving(measurement)
            now[0] += rest
            assert moving.again()


# An agent that pauses, says so, and stays silent.
AGENT = """
import sys, anyio
from mcp import Client
async def main():
    async with Client(sys.argv[1], mode=sys.argv[2]) as client:
        result = await client.call_tool("vmaf.pause", {"lease_seconds": 3600})
        print("paused" if result.structured_content["paused"] else "not paused", flush=True)
        await anyio.sleep_forever()
anyio.run(main)
"""


def test_a_client_that_comes_back_has_its_whole_lease_again(tmp_path: Path) -> None:
    def asking(connection: http.client.HTTPConnection, tool: str, **arguments: Any) -> Any:
        asked, headers = modern(call(1, tool, **arguments))
        connection.request("POST", "/mcp", json.dumps(asked), headers)
        return json.load(connection.getresponse())["result"]["structuredContent"]

    with hosted(tmp_path) as (measurement, server):
        address = server.start_http()
        server_clock(measurement)
        with feeding(measurement), connected(tmp_path / "s") as watcher:
            connection = http.client.HTTPConnection(address.host, address.port, timeout=PATIENCE)
            assert asking(connection, "vmaf.pause", lease_seconds=600)["paused"]
            connection.close()
            assert seconds_left(watcher, 30.0) == 30.0
            assert asking(connection, "vmaf.status")["pause_seconds_left"] <= 600.0  # on another connection
            assert watcher.call("vmaf.status")["pause_seconds_left"] == 600.0
            connection.close()


def test_the_host_sets_the_longest_lease(tmp_path: Path) -> None:
    hosting = hosted(tmp_path, config=EmbeddedConfig(max_lease=60))
    with hosting as (measurement, _), feeding(measurement), connected(tmp_path / "s") as client:
        assert client.call("vmaf.pause")["lease_seconds"] == 60
        assert "60" in client.refused("vmaf.pause", lease_seconds=61)


def test_of_two_who_paused_one_goes(tmp_path: Path) -> None:
    with hosted(tmp_path) as (measurement, _), feeding(measurement), connected(tmp_path / "s") as stays:
        with connected(tmp_path / "s") as leaves:
            assert leaves.call("vmaf.pause")["paused"]
            assert len(stays.call("vmaf.pause")["paused_by"]) == 2
        while len((status := stays.call("vmaf.status"))["paused_by"]) == 2:
            pass
        assert status["paused"]
        moving = Moving(measurement)
        resumed = stays.call("vmaf.resume")
        assert (resumed["paused"], len(resumed["lifted"])) == (False, 1)
        assert moving.again()


async def test_a_client_that_goes_while_its_pause_is_carried_out() -> None:
    room = Room()
    client = Owner("one", gone=True)  # as if it left between the two steps
    answer = await room.send("pause", None, client)
    await room.feed()
    assert (await answer)["paused"] is False
    assert not room.measurement.paused
    room.close()


# ---- leases -----------------------------------------------------------------------------------


def post(url: str, tool: str, **arguments: Any) -> Any:
    headers = {"Accept": "application/json", "Authorization": f"Bearer {TOKEN}"}
    answer = httpx2.post(url, json=call(1, tool, **arguments), headers=headers, timeout=PATIENCE)
    return answer.json()["result"]["structuredContent"]


TOKEN = "a-token-of-22-letters-or-more"


@pytest.mark.parametrize(("transport", "token"), [("sse", None), ("http", None), ("http", TOKEN)])
def test_a_bare_post_has_only_its_lease(transport: str, token: str | None) -> None:
    """Each comes on a connection of its own; the second renews what the first asked for."""
    config = EmbeddedConfig(token=token)
    with measuring() as measurement, EmbeddedServer(measurement, config) as server:
        url = {"sse": server.start_sse, "http": server.start_http}[transport]().url
        now = server_clock(measurement)
        with feeding(measurement):
            assert post(url, "vmaf.pause", lease_seconds=100)["lease_seconds"] == 100
            now[0] += 99.0
            assert post(url, "vmaf.status")["pause_seconds_left"] == 1.0
            assert len(post(url, "vmaf.pause", lease_seconds=100)["paused_by"]) == 1
            now[0] += 99.0
            assert post(url, "vmaf.status")["paused"]
            moving = Moving(measurement)
            now[0] += 1.0
            assert moving.again()
            assert not post(url, "vmaf.status")["paused"]


@pytest.mark.parametrize("seconds", [0, -1, 0.5, 86401, "long"])
async def test_leases_that_are_none(ground: Ground, seconds: object) -> None:
    assert "lease_seconds" in await ground.refused("vmaf.pause", lease_seconds=seconds)


# ---- host and clients -------------------------------------------------------------------------


def test_neither_an_agent_nor_the_servers_end_lifts_the_hosts_pause(tmp_path: Path) -> None:
    with measuring() as measurement:
        with EmbeddedServer(measurement) as server:
            server.start_uds(tmp_path / "s")
            measurement.pause()
            thread = threading.Thread(target=feed, args=(measurement, map(pair, range(5))))
            thread.start()
            with connected(tmp_path / "s") as client:
                paused = client.call("vmaf.pause")
                assert [pause["by"] for pause in paused["paused_by"]] == ["host", "a client"]
                status = client.call("vmaf.status")
                assert (status["paused_until"], status["pause_seconds_left"]) == (None, None)
                resumed = client.call("vmaf.resume")
                assert resumed["paused"] is True
                assert [pause["by"] for pause in resumed["lifted"]] == ["a client"]
                assert resumed["paused_by"] == [{"by": "host", "transport": None, "until": None}]
                client.call("vmaf.pause")
                server.close()
        assert [pause.by for pause in measurement.gate.pauses] == ["host"]
        assert measurement.frames == 0
        measurement.resume()
        thread.join(PATIENCE)
        assert measurement.frames == 5


async def test_a_server_that_stops_while_a_pause_is_carried_out_leaves_none() -> None:
    room = Room()
    answer = await room.send("pause")
    hold = room.measurement.gate.hold

    def stopped_meanwhile(*arguments: Any) -> None:
        room.side.detach()
        hold(*arguments)

    room.measurement.gate.hold = stopped_meanwhile  # type: ignore[method-assign]
    await room.feed()
    await answer
    assert not room.measurement.paused
    room.close()


async def test_a_pause_is_told_to_those_who_follow(ground: Ground) -> None:
    told: list[dict[str, Any]] = []

    async def hear(message: Any) -> None:
        told.append(message.params.meta["acuity/measurement"])

    async with (
        ground.connected("legacy", message_handler=hear) as client,
        ground.connected("legacy", client_info=Implementation(name="other", version="1")) as other,
    ):
        await ground.feed()
        await client.subscribe_resource("acuity://measurement/status?rate=100")
        paused = await ground.steered("vmaf.pause", by=other)
        with anyio.fail_after(SECONDS):
            while not told or not told[-1]["paused"]:
                await asyncio.sleep(0)
        assert told[-1]["paused_by"] == paused["paused_by"]
        assert paused["paused_by"][0]["by"] == "other"


async def test_names_of_clients_are_shown_not_obeyed(ground: Ground) -> None:
    info = Implementation(name="\033[2Jevil\n" + "x" * 200, version="1")
    async with ground.connected("legacy", client_info=info) as client:
        (pause,) = (await ground.steered("vmaf.pause", by=client))["paused_by"]
        assert pause["by"].startswith("\\x1b[2Jevil\\nxxx")
        assert len(pause["by"]) == 64


# ---- hosts that only call add() ---------------------------------------------------------------


@contextmanager
def adding(measurement: Measurement) -> Iterator[list[int | None]]:
    """A host that knows nothing but add(), and goes on until that says None."""
    taken: list[int | None] = []

    def loop() -> None:
        while not taken or taken[-1] is not None:
            taken.append(measurement.add(*pair(len(taken) % 20)))

    thread = threading.Thread(target=loop)
    thread.start()
    try:
        yield taken
    finally:
        measurement.stop()
        thread.join(PATIENCE)
        assert not thread.is_alive()


def test_a_host_that_only_adds_is_paused_and_stopped(tmp_path: Path) -> None:
    with hosted(tmp_path) as (measurement, _):
        with adding(measurement) as taken, connected(tmp_path / "s") as client:
            first = client.call("vmaf.pause")["next_frame"]
            # A paused measurement carries out commands, and no frame moves meanwhile.
            assert client.call("vmaf.set_subsample", n=2)["next_frame"] == first
            assert client.call("vmaf.status")["frames_read"] == first
            moving = Moving(measurement)
            client.call("vmaf.resume")
            assert moving.again()
            assert client.call("vmaf.stop")["stopped"]
        assert taken == [*range(len(taken) - 1), None]
        measurement.flush()
        assert measurement.results().stopped_after == len(taken) - 2
