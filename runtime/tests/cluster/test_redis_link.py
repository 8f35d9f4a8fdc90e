"""The connection to Redis: bounded calls, reconnecting, messages, the shared clock."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

import pytest
import uvloop

from longwire.cluster.redis_address import MOST_CONNECTIONS, WAIT
from longwire.cluster.redis_link import RedisLink, open_redis
from longwire.errors import ClusterUnavailable, SettingsError
from redis_server import COMMAND_WAIT, RedisServer, needs_redis, redis_server
from waiting import SOON, until


@pytest.fixture
def server() -> Iterator[RedisServer]:
    with redis_server() as running:
        yield running


@needs_redis
async def test_commands_scripts_and_keys(server: RedisServer) -> None:
    async with open_redis(server.url, "a", prefix="room", wait=COMMAND_WAIT) as link:
        assert link.healthy
        assert link.key("node", "a") == "room:node:a"
        await link.call("SET", link.key("x"), b"\xff\n")
        assert await link.call("GET", link.key("x")) == b"\xff\n"
        source = "return {KEYS[1], ARGV[1]}"
        for _ in range(2):
            assert await link.script(source, [link.key("x")], [7]) == [b"room:x", b"7"]
        await link.call("SCRIPT", "FLUSH")
        assert await link.script(source, [link.key("x")], [8]) == [b"room:x", b"8"]
        assert await link.calls([("INCR", "n"), ("INCR", "n")]) == [1, 2]
        with pytest.raises(ClusterUnavailable, match="refuses"):
            await link.call("INCR", link.key("x"))
        assert link.healthy  # that is no loss of the connection


@needs_redis
async def test_the_clock_is_that_of_redis(server: RedisServer, monkeypatch: pytest.MonkeyPatch) -> None:
    truth = time.time
    monkeypatch.setattr(time, "time", lambda: truth() - 600)  # this node's clock is ten minutes late
    async with open_redis(server.url, "a", wait=COMMAND_WAIT) as link:
        assert abs(link.now() - truth()) < 2.0


@needs_redis
async def test_a_server_that_is_restarted_or_gone_at_the_start_is_found(
    server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    server.kill()
    async with open_redis(server.url, "a", wait=COMMAND_WAIT) as link:
        assert not link.healthy
        server.start()
        await until(lambda: link.healthy)
        back: list[int] = []
        link.on_back(lambda: back.append(1))
        heard: list[bytes] = []
        link.subscribe("news", heard.append)
        await until(lambda: _sent(link, heard))
        server.kill()
        for _ in range(3):
            with pytest.raises(ClusterUnavailable, match="try again"):
                await link.call("PING")
        assert not link.healthy
        server.start()
        await until(lambda: link.healthy)
        assert back
        heard.clear()
        await until(lambda: _sent(link, heard))
    events = [entry.__dict__.get("event") for entry in caplog.records]
    assert (events.count("redis_gone"), events.count("redis_back")) == (1, 2)


def _sent(link: RedisLink, heard: list[bytes]) -> bool:
    link.publish("news", b"hello")
    return bool(heard)


@needs_redis
async def test_a_server_that_hangs_holds_nobody_up(server: RedisServer) -> None:
    async with open_redis(server.url, "a") as link:
        server.pause()
        began = time.monotonic()
        with pytest.raises(ClusterUnavailable):
            await link.call("PING")
        assert time.monotonic() - began < 5.0
        assert not link.healthy
        many = [asyncio.create_task(link.call("PING")) for _ in range(50)]
        done = await asyncio.gather(*many, return_exceptions=True)
        assert all(isinstance(result, ClusterUnavailable) for result in done)
        assert time.monotonic() - began < 10.0
        server.go_on()
        await until(lambda: link.healthy)
        assert await link.call("PING")


@needs_redis
@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_a_process_that_stood_still_doesn_t_blame_redis(
    server: RedisServer, loop: Callable[[], asyncio.AbstractEventLoop]
) -> None:
    async def main() -> None:
        async with open_redis(server.url, "a") as link:
            for _ in range(2):
                server.pause()
                asked = asyncio.create_task(link.call("PING"))
                for _ in range(20):  # turns, in the first of which the command is sent
                    await asyncio.sleep(0)
                server.go_on()
                time.sleep(2 * WAIT)  # the answer comes while nothing of this process runs
                assert await asked
            assert link.failures == 0

    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(main())


@needs_redis
async def test_commands_that_wait_for_a_connection_don_t_blame_redis(
    server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_redis(server.url, "a", wait=WAIT / 2) as link:
        slow = [link.call("BLPOP", "x", WAIT, within=SOON) for _ in range(8 * MOST_CONNECTIONS)]
        held = asyncio.gather(*slow, return_exceptions=True)
        await asyncio.sleep(0)  # they are before the next one
        with pytest.raises(ClusterUnavailable, match="too much to ask of the nodes' shared store"):
            await link.call("PING")
        assert link.healthy
        await held
    assert {entry.__dict__.get("event") for entry in caplog.records} == {"redis_crowded"}


@needs_redis
async def test_messages_reach_all_subscribers_until_they_leave(server: RedisServer) -> None:
    async with (
        open_redis(server.url, "a", wait=COMMAND_WAIT) as link,
        open_redis(server.url, "b", wait=COMMAND_WAIT) as other,
    ):
        first: list[bytes] = []
        second: list[bytes] = []
        leave = other.subscribe("news", first.append)
        link.subscribe("news", second.append)
        link.subscribe("news", lambda _: 1 // 0)  # hurts nobody else
        await until(lambda: _sent(link, first) and second)
        leave()
        leave()
        first.clear()
        second.clear()
        await until(lambda: _sent(link, second))
        assert first == []


class LoadingRedis:
    """Answers as Redis does, and while it is `loading` its data what Redis answers then."""

    _LOADING = b"-LOADING Redis is loading the dataset in memory\r\n"
    _ALWAYS: ClassVar = {
        b"TIME": b"*2\r\n$10\r\n1700000000\r\n$1\r\n0\r\n",
        b"INFO": b"$10\r\nrun_id:a\r\n\r\n",
        b"PUBLISH": b":0\r\n",
        b"CLIENT": b"+OK\r\n",
    }

    def __init__(self) -> None:
        self.loading = False
        self.refused = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, OSError):
            while True:
                count = int((await reader.readuntil(b"\r\n"))[1:])
                words = []
                for _ in range(count):
                    size = int((await reader.readuntil(b"\r\n"))[1:])
                    words.append((await reader.readexactly(size + 2))[:-2])
                writer.write(self._answer(words[0]))
        writer.close()

    def _answer(self, name: bytes) -> bytes:
        if (known := self._ALWAYS.get(name)) is not None:
            return known
        self.refused += self.loading
        return self._LOADING if self.loading else b"+PONG\r\n"


async def test_redis_is_gone_as_long_as_it_loads_its_data(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    redis, path = LoadingRedis(), tmp_path / "redis.sock"
    async with (
        await asyncio.start_unix_server(redis.serve, path),
        open_redis(f"unix://{path}", "a", wait=SOON) as link,
    ):
        assert link.healthy
        redis.loading = True
        await until(lambda: not link.healthy)
        link.publish("news", b"hello")
        looks = redis.refused
        await until(lambda: redis.refused > looks + 1)
        assert not link.healthy
        with pytest.raises(ClusterUnavailable):
            await link.call("GET", "x")
        redis.loading = False
        await until(lambda: link.healthy)
    events = [entry.__dict__.get("event") for entry in caplog.records]
    assert events == ["redis_gone", "redis_back"]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        *(
            ({"url": url}, "redis://HOST:PORT")
            for url in (
                "",
                "localhost:6379",
                "http://localhost",
                "redis://",
                "redis://localhost:port",
                "unix://",
            )
        ),
        *(({"node": node}, "1 to 16 of a-z and 0-9") for node in ("", "A", "a-b", "a" * 17, "ä", "a\n")),
        *(
            ({"prefix": prefix}, "can't begin keys: write 1 to 64 of")
            for prefix in ("", "a b", "longwire:session", ":", "ä", "x" * 65)
        ),
    ],
)
def test_settings_that_are_refused(given: dict[str, str], sentence: str) -> None:
    with pytest.raises(SettingsError, match=sentence):
        RedisLink(**{"url": "redis://localhost", "node": "a", **given})


def test_the_address_shows_no_password() -> None:
    link = RedisLink("redis://user:secret@localhost:6379/1", "a")
    assert str(link.address) == "redis://localhost:6379/1"
    with pytest.raises(SettingsError) as caught:
        RedisLink("redis://user:secret@localhost:port", "a")
    assert "secret" not in str(caught.value)
