"""The end of a measurement reaches its clients, over every transport, before the server closes."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.server.subscriptions import InMemorySubscriptionBus

from acuity import EmbeddedConfig, EmbeddedServer
from acuity.agents.embedded.presence import Presence
from acuity.agents.embedded.subscriptions import UpdatePublisher
from acuity.measure.feed import feed
from bridge_room import measuring
from embedded_client import PATIENCE, LineClient, connected, ending_in_time, hosted
from endpoint_bench import META
from moving_pictures import pair
from prepared_programs import Program
from scoring_clips import y4m
from test_smoke_examples import example

FRAMES = 8
MODEL = "vmaf_v0.6.1"
STATUS = "acuity://measurement/status?rate=0.1"  # the next regular word would come after ten seconds
PROGRAMS = {
    "vmaf": ["acuity.cli.vmaf", "-r", "{0}", "-d", "{1}"],
    "acuity": ["acuity.cli.main", "score", "{0}", "{1}"],
}
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    folder = tmp_path_factory.mktemp("clips")
    return str(y4m(folder / "ref.y4m", FRAMES)), str(y4m(folder / "dis.y4m", FRAMES, worse=True))


def command(program: str, clips: tuple[str, str], *options: str) -> list[str]:
    return [sys.executable, "-m", *(word.format(*clips) for word in PROGRAMS[program]), *options]


# ---- commands ---------------------------------------------------------------------------------


@contextmanager
def serving(line: list[str], by: Callable[..., Program] = Program) -> Iterator[tuple[Program, str]]:
    """A command, and where it says that agents may connect."""
    started = by(line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
    with started as process, ending_in_time(process, process.kill, 3 * PATIENCE):
        said = process.stderr.readline()
        found = re.search(r"agents may connect to (\S+)", said)
        assert found, said + process.stderr.read()
        yield process, found[1]


def agent(*arguments: str) -> str:
    with example("embedded_agent.py", "--swap-after", "2", *arguments) as started:
        out, err = started.communicate(timeout=3 * PATIENCE)
    assert started.returncode == 0, err
    return out


# Both programs serve through cli/embedded.py: each transport once, one of them by the other program.
@pytest.mark.parametrize(("program", "transport"), [("vmaf", "sse"), ("vmaf", "uds"), ("acuity", "http")])
def test_the_example_agent_reads_the_end_of_a_command(
    program: str, transport: str, clips: tuple[str, str], tmp_path: Path
) -> None:
    value = str(tmp_path / "s") if transport == "uds" else "0"
    line = command(program, clips, f"--enable-mcp-{transport}={value}", "--mcp-wait", "-q")
    # One that loads the engine after its first client has come: the agent comes in several connections.
    with serving(line, by=subprocess.Popen) as (process, where):
        out = agent(where)
        assert process.wait(PATIENCE) == 0
    assert f"{FRAMES} frames, last score" in out
    assert "worst: " in out
    assert "mean: " in out


def test_a_command_stays_until_the_last_client_has_left(clips: tuple[str, str], tmp_path: Path) -> None:
    line = command("vmaf", clips, "--enable-mcp-uds", str(tmp_path / "s"), "--mcp-stay", "-q")
    with serving(line) as (process, where):
        assert "until the last agent has left" in lines_to(process, "done;")
        with connected(Path(where)) as client:
            assert client.call("vmaf.status")["state"] == "over"
            assert len(client.call("vmaf.report")["frames"]) == FRAMES
        assert process.wait(PATIENCE) == 0


def test_an_interrupt_ends_the_stay_and_nothing_else(clips: tuple[str, str], tmp_path: Path) -> None:
    report, path = tmp_path / "report.json", tmp_path / "s"
    options = ["--enable-mcp-uds", str(path), "--mcp-stay=3600", "-o", str(report), "--json"]
    with serving(command("vmaf", clips, *options)) as (process, _):
        lines_to(process, "done;")
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0
    assert report.exists()
    assert not path.exists()


def lines_to(process: Program, word: str) -> str:
    return next(line for line in process.stderr if word in line)


def test_a_command_waits_for_its_first_client(clips: tuple[str, str], tmp_path: Path) -> None:
    line = command("acuity", clips, "--enable-mcp-uds", str(tmp_path / "s"), "--mcp-wait", "-q")
    with serving(line) as (process, where):
        lines_to(process, "waiting for an agent")
        assert process.poll() is None
        with connected(Path(where)) as client:
            client.ask("resources/subscribe", uri=STATUS)
            assert told(client)["over"]
            assert client.call("vmaf.status")["frames_read"] == FRAMES
        assert process.wait(PATIENCE) == 0


# ---- hosts ------------------------------------------------------------------------------------


def told(client: LineClient) -> Any:
    """What the next notification says of the measurement, or the one after it if that is not over."""
    while True:
        message = client.receive()
        assert message is not None, "closed before the end was told"
        if message.get("method") == "notifications/resources/updated":
            found = message["params"]["_meta"]["acuity/measurement"]
            if found["over"]:
                return found


def joined(thread: threading.Thread) -> None:
    thread.join(PATIENCE)
    assert not thread.is_alive()


@contextmanager
def ending(folder: Path) -> Iterator[tuple[Callable[[], None], LineClient]]:
    """Has a measurement end and its server close on a thread of its own; and a client."""
    with hosted(folder, MODEL) as (measurement, server):

        def end() -> None:
            for index in range(FRAMES):
                measurement.add(*pair(index))
            measurement.flush()
            server.close()

        thread = threading.Thread(target=end)
        with connected(folder / "s") as client:
            yield thread.start, client
        joined(thread)


def test_a_server_that_closes_tells_the_end_and_shows_the_report(tmp_path: Path) -> None:
    with ending(tmp_path) as (end, client):
        client.ask("resources/subscribe", uri=STATUS)
        end()
        assert told(client)["frames_scored"] == FRAMES
        assert len(client.call("vmaf.report")["frames"]) == FRAMES
        assert client.receive() is None  # not for ever: a silent client is let go


@pytest.mark.parametrize(
    ("error", "state", "reason"),
    [
        (RuntimeError("boom"), "failed", "RuntimeError: boom"),
        (KeyboardInterrupt(), "interrupted", "KeyboardInterrupt"),
    ],
)
def test_an_exception_of_the_host_is_told(
    error: BaseException, state: str, reason: str, tmp_path: Path
) -> None:
    """To an agent that waits, to one that asks later, and to one that steers."""
    with measuring((MODEL,)) as measurement:
        server = EmbeddedServer(measurement)
        server.start_uds(tmp_path / "s")

        def host() -> None:
            with suppress(BaseException), server:
                measurement.add(*pair(0))
                raise error

        thread = threading.Thread(target=host)
        with connected(tmp_path / "s") as client:
            assert client.call("vmaf.status")["reason"] is None
            client.send("tools/call", name="vmaf.watch", arguments={"below": -1.0, "timeout_seconds": 300})
            thread.start()
            found = client.receive()["result"]["structuredContent"]
            assert (found["over"], found["state"], found["reason"]) == (True, state, reason)
            status = client.call("vmaf.status")
            assert (status["state"], status["reason"], status["frames_read"]) == (state, reason, 1)
            assert f"the measurement {state} ({reason})" in client.refused("vmaf.pause")
            client.send("resources/subscribe", uri=STATUS)
            assert told(client)["reason"] == reason
        joined(thread)


def test_a_source_that_fails_is_told_at_once(tmp_path: Path) -> None:
    """While the host still holds everything open: it may go on, and then all is as before."""

    def camera() -> Iterator[Any]:
        yield pair(0)
        raise OSError("camera unplugged")

    with hosted(tmp_path, MODEL) as (measurement, _):
        with connected(tmp_path / "s") as client:
            client.ask("resources/subscribe", uri="acuity://measurement/status?rate=100")
            with pytest.raises(OSError, match="camera unplugged"):
                feed(measurement, camera())
            found = told(client)
            assert (found["state"], found["reason"]) == ("failed", "OSError: camera unplugged")
        feed(measurement, [pair(1)])
        with connected(tmp_path / "s") as client:
            status = client.call("vmaf.status")
            assert (status["state"], status["reason"], status["frames_scored"]) == ("over", None, 2)
            assert not client.call("vmaf.report")["acuity"]["partial"]


def test_an_interrupted_command_says_so(clips: tuple[str, str], tmp_path: Path) -> None:
    options = ("--enable-mcp-uds", str(tmp_path / "s"), "--mcp-wait", "-q")
    with serving(command("vmaf", clips, *options)) as (process, where), connected(Path(where)) as client:
        client.call("vmaf.pause")
        client.send("tools/call", name="vmaf.watch", arguments={"below": -1.0, "timeout_seconds": 300})
        process.send_signal(signal.SIGINT)
        found = client.receive()["result"]["structuredContent"]
        assert (found["over"], found["state"]) == (True, "interrupted")
        report = client.call("vmaf.report")["acuity"]
        assert (report["partial"], report["reason"]) == (True, "the program was asked to end")
        assert client.call("vmaf.status")["frames_read"] < FRAMES


def test_who_subscribes_after_the_end_is_told_of_it(tmp_path: Path) -> None:
    with hosted(tmp_path, MODEL) as (measurement, _):
        measurement.add(*pair(0))
        measurement.flush()
        for _ in range(2):
            with connected(tmp_path / "s") as client:
                client.send("resources/subscribe", uri=STATUS)
                assert told(client)["frames_scored"] == 1


def test_a_stream_ends_with_its_answer(tmp_path: Path) -> None:
    asked = {"_meta": META, "notifications": {"resourceSubscriptions": [STATUS]}}
    with ending(tmp_path) as (end, client):
        number = client.send("subscriptions/listen", **asked)
        assert client.receive()["method"] == "notifications/subscriptions/acknowledged"
        end()
        assert told(client)["frames_scored"] == FRAMES
        answer = client.receive()
        assert answer["id"] == number
        assert "result" in answer


@pytest.mark.parametrize("linger", [0.0, 0.5])
def test_no_client_can_keep_a_server_from_closing(linger: float, tmp_path: Path) -> None:
    """With nothing to wait for, with a client that never stops asking, and with one that says nothing."""
    with hosted(tmp_path, MODEL, config=EmbeddedConfig(linger=linger)) as (measurement, server):
        measurement.add(*pair(0))
        measurement.flush()
        with connected(tmp_path / "s") as silent, connected(tmp_path / "s") as client:
            closing = threading.Thread(target=server.stop)
            assert client.call("vmaf.status")["state"] == "over"
            closing.start()
            with pytest.raises((AssertionError, BrokenPipeError, ConnectionResetError)):
                while True:
                    client.ask("tools/call", name="vmaf.status", arguments={})
            joined(closing)
            assert silent.receive() is None


def test_a_host_waits_for_a_client_and_stays_for_it(tmp_path: Path) -> None:
    with hosted(tmp_path, MODEL) as (_, server):
        assert not server.wait_for_client(0.0)
        with connected(tmp_path / "s") as client:
            client.send("tools/call", name="vmaf.status", arguments={})
            assert server.wait_for_client(PATIENCE)
            assert client.receive() is not None
            staying = threading.Thread(target=server.stay)
            staying.start()
            assert client.call("vmaf.status")["state"] == "waiting"
            assert staying.is_alive()
        joined(staying)


def test_nobody_waits_or_stays_for_a_client_that_never_comes(clips: tuple[str, str], tmp_path: Path) -> None:
    with hosted(tmp_path, MODEL) as (_, server):
        server.stay(empty=0.0)
    never = ["--mcp-wait=0.1", "--mcp-stay", "--mcp-stay-empty=0"]
    with serving(command("vmaf", clips, "--enable-mcp-uds", str(tmp_path / "s"), *never)) as (process, _):
        assert "or none has come for 0 seconds" in lines_to(process, "done;")
        assert process.wait(PATIENCE) == 0


def test_nobody_waits_for_a_client_that_cannot_come() -> None:
    ours, theirs = socket.socketpair()
    with ours, measuring((MODEL,)) as measurement, EmbeddedServer(measurement) as server, theirs:
        server.start_stdio(theirs.fileno(), theirs.fileno())
        ours.shutdown(socket.SHUT_RDWR)
        assert not server.wait_for_client(PATIENCE)


async def test_who_waits_for_an_answer_is_not_silent() -> None:
    """An answer may take longer than a silent client is given; no client is given more than the bound."""
    quiet = 0.2  # seconds
    presence, asked = Presence(quiet), 0

    def answering() -> bool:
        nonlocal asked
        asked += 1
        if asked == 2:
            presence.left("client")
        return True

    with anyio.fail_after(PATIENCE):
        presence.came("client")
        presence.came("another")
        presence.left("another")
        await presence.settled(PATIENCE, answering)
        assert asked == 2
        presence.came("client")
        await presence.settled(2 * quiet, lambda: True)  # for ever busy
        presence.heard("client")
        await presence.settled(PATIENCE, lambda: False)  # silent


async def test_an_end_that_was_not_said_yet_is_told() -> None:
    """Who subscribes when the measurement is over, but its end is still on its way to the server's thread."""
    bus, over, told = InMemorySubscriptionBus(), asyncio.Event(), asyncio.Event()
    bus.subscribe(lambda event: told.set())
    with UpdatePublisher(bus, lambda _: "over", over).watching([STATUS]), anyio.fail_after(PATIENCE):
        over.set()
        await told.wait()
