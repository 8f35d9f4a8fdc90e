"""The life of a server beside its measurement: what it outlives, and what it leaves behind."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from acuity import EmbeddedServer
from bridge_room import measuring
from embedded_client import PATIENCE, connected, descriptors, feeding, hosted, start
from moving_pictures import pair
from tool_results import wire_sentence


def test_a_client_that_vanishes_leaves_no_lines_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """asyncio logs each write to a connection that is lost, from the sixth on."""
    with hosted(tmp_path), connected(tmp_path / "s") as client:
        client.call("vmaf.status")
        with connected(tmp_path / "s") as vanishes:
            for _ in range(100):
                vanishes.send("tools/call", name="vmaf.curve", arguments={})
        for _ in range(10):  # they are answered in turn
            client.call("vmaf.features")
    assert [record.message for record in caplog.records if record.name == "asyncio"] == []


def test_stopping_again_does_nothing(tmp_path: Path) -> None:
    with measuring() as measurement:
        server = EmbeddedServer(measurement)
        server.stop()
        server.stop()
        other = EmbeddedServer(measurement)
        other.start_uds(tmp_path / "s")
        other.stop()
        other.close()
        other.stop()
        measurement.add(*pair(0))
        measurement.flush()


def test_the_measurement_goes_on_without_the_server_and_without_clients(tmp_path: Path) -> None:
    with hosted(tmp_path) as (measurement, server), feeding(measurement), connected(tmp_path / "s") as first:
        assert first.call("vmaf.pause")["paused"]
        with connected(tmp_path / "s") as client:  # another one finds the state, and may change it
            assert client.call("vmaf.status")["state"] == "paused"
            assert client.call("vmaf.resume")["paused"] is False
        assert first.call("vmaf.pause")["paused"]
        went_on = threading.Event()
        measurement.boundary.on_frame(lambda _: went_on.set())
        server.stop()
        assert went_on.wait(PATIENCE)


def test_it_outlives_the_last_frame(tmp_path: Path) -> None:
    with hosted(tmp_path, "vmaf_v0.6.1", total=5) as (measurement, _):
        for index in range(5):
            measurement.add(*pair(index))
        measurement.flush()
        with connected(tmp_path / "s") as client:
            status = client.call("vmaf.status")
            assert (status["state"], status["frames_read"], status["frames_total"]) == ("over", 5, 5)
            assert (status["last_frame"], status["frames_pending"]) == (4, 0)
            assert status["last_score"] == measurement.score_at(4)
            assert status["fps"] > 0
            report = client.call("vmaf.report")
            assert len(report["frames"]) == 5
            assert "is over" in client.refused("vmaf.pause")
        measurement.close()
        with connected(tmp_path / "s") as client:
            assert client.call("vmaf.status")["state"] == "over"


def test_a_command_that_waits_is_answered_when_the_server_stops(tmp_path: Path) -> None:
    with hosted(tmp_path) as (measurement, server):
        with connected(tmp_path / "s") as client:
            client.send("tools/call", name="vmaf.pause", arguments={})
            while not client.call("vmaf.status")["queue"]["waiting"]:
                pass
            server.stop()
            answer = client.receive()
            assert "the server is stopping" in wire_sentence(answer["result"])
            assert client.receive() is None
        measurement.add(*pair(0))
        assert not measurement.paused


def test_nothing_is_left_open(tmp_path: Path) -> None:
    def once() -> None:
        with measuring() as measurement, EmbeddedServer(measurement) as server:
            for transport in ("uds", "stdio", "sse", "http"):
                start(server, transport, tmp_path)
            with connected(tmp_path / "s") as client, connected(tmp_path / "s"):
                client.call("vmaf.status")
                client.send("tools/call", name="vmaf.pause", arguments={})
                measurement.add(*pair(0))

    once()  # what is opened once and for all
    threads, open_before = threading.active_count(), descriptors()
    for _ in range(3):
        once()
    assert threading.active_count() == threads
    assert descriptors() == open_before
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "SCHED_BATCH"), reason="only Linux has this way of scheduling")
def test_its_thread_pushes_no_other_off_its_core(tmp_path: Path) -> None:
    with measuring() as measurement, EmbeddedServer(measurement) as server:
        before = {int(task) for task in os.listdir("/proc/self/task")}
        server.start_uds(tmp_path / "s")
        started = {int(task) for task in os.listdir("/proc/self/task")} - before
        assert started
        assert {os.sched_getscheduler(task) for task in started} == {os.SCHED_BATCH}
        assert os.sched_getscheduler(0) == os.SCHED_OTHER
