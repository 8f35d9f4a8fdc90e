"""Starting the server inside a process: when it does, when it doesn't, and where it listens."""

from __future__ import annotations

import os
import socket
import stat
from pathlib import Path
from typing import Any

import pytest

from acuity import EmbeddedError, EmbeddedServer
from acuity.agents.embedded import transport_available
from acuity.models.sources import find_model
from bridge_room import measuring
from embedded_client import connected, feeding, hosted, start
from moving_pictures import pair

TRANSPORTS = pytest.mark.parametrize("transport", ["uds", "stdio", "sse", "http"])


@TRANSPORTS
def test_a_measurement_that_has_begun_is_left_alone(transport: str, tmp_path: Path) -> None:
    with measuring() as measurement, EmbeddedServer(measurement) as server:
        measurement.add(*pair(0))
        with pytest.raises(EmbeddedError, match="has begun already: start the server before its first frame"):
            start(server, transport, tmp_path)
        with pytest.raises(EmbeddedError, match="has begun already"):
            EmbeddedServer(measurement)
        measurement.flush()
        with pytest.raises(EmbeddedError, match="is over"):
            EmbeddedServer(measurement)
    assert list(tmp_path.iterdir()) == []


@TRANSPORTS
def test_each_transport_starts_once(transport: str, tmp_path: Path) -> None:
    with measuring() as measurement, EmbeddedServer(measurement) as server:
        start(server, transport, tmp_path)
        with pytest.raises(EmbeddedError, match=f"'{transport}' was already started, at "):
            start(server, transport, tmp_path)
        assert list(server.started) == [transport]
        server.stop()
        with pytest.raises(EmbeddedError, match="stopped already: make another"):
            start(server, transport, tmp_path)


def test_what_is_available() -> None:
    names = ("sse", "uds", "stdio", "http", "carrier pigeon")
    for available in (transport_available, EmbeddedServer.transport_available):
        assert [*map(available, names)] == [True, True, True, True, False]


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"paths": "/data"}, "paths='/data' is no list of folders"),
        ({"paths": 7}, "paths=7 is no list of folders"),
        ({"paths": [7]}, "paths has 7, which is no folder"),
        ({"paths": ["/nowhere/at all"]}, "paths has '/nowhere/at all', which is no folder"),
        ({"paths": ["/"]}, "would open every file"),
        ({"config": {"queue_depth": 64}}, "is no EmbeddedConfig"),
        ({"total": "300"}, "total='300' is no number of frames"),
        ({"total": -1}, "total=-1 is no number of frames"),
        ({"watched": 300}, "watched=300 is no WatchedRun"),
    ],
)
def test_arguments_are_checked_when_they_are_given(given: dict[str, Any], reason: str) -> None:
    with measuring() as measurement, pytest.raises(EmbeddedError, match=reason):
        EmbeddedServer(measurement, **given)


def test_so_are_those_of_its_methods(tmp_path: Path) -> None:
    with pytest.raises(EmbeddedError, match=r"'vmaf_v0\.6\.1' is no Measurement"):
        EmbeddedServer("vmaf_v0.6.1")  # type: ignore[arg-type]
    with measuring() as measurement, EmbeddedServer(measurement) as server:
        wrong: list[tuple[Any, tuple[Any, ...], str]] = [
            (server.start_uds, (5,), "5 is no path of a socket"),
            (server.start_uds, ("a\0b",), r"a\\x00b' has a zero byte"),
            (server.start_uds, ("a\0b/s",), r"a\\x00b/s' has a zero byte"),
            (server.start_sse, (0, 7), "'7' is no path of a URL"),
            (server.start_sse, (0, "/"), "the path '/' is taken"),
            (server.start_sse, (0, "/mcp/request"), "the path '/mcp/request' is taken"),
            (server.start_stdio, ("3", 4), "'3' is no file descriptor"),
            (server.start_stdio, (3, 4, ["lines"]), "the framing"),
        ]
        for method, arguments, reason in wrong:
            with pytest.raises(EmbeddedError, match=reason):
                method(*arguments)
        server.start_uds(tmp_path / "s")
        with pytest.raises(EmbeddedError, match="another server steers this measurement already"):
            EmbeddedServer(measurement)
        for method in (server.wait_for_client, server.stay, server.stop):
            with pytest.raises(EmbeddedError, match="'9' must be a number of seconds 0 or more"):
                method("9")


def test_clients_name_files_in_the_folders_of_paths(tmp_path: Path) -> None:
    folder = tmp_path / "videos"
    folder.mkdir()
    model = folder / "own.json"
    model.write_bytes(find_model("vmaf_v0.6.1").read_bytes())
    hosting = hosted(tmp_path, "vmaf_v0.6.1", paths=[str(folder), folder])
    with hosting as (measurement, _), feeding(measurement), connected(tmp_path / "s") as client:
        assert client.call("vmaf.request_model_swap", name=f"path={model}")["model"] == str(model)
        assert client.call("vmaf.request_model_swap", name="vmaf_v0.6.1neg")["before"] == str(model)
        refused = client.refused("vmaf.request_model_swap", name="path=/etc/passwd.json")
        assert "pass its folder in paths= of EmbeddedServer to extend" in refused


@pytest.mark.parametrize("port", [-1, 65536, "80", True])
def test_ports_that_are_none(port: Any) -> None:
    with measuring() as measurement, EmbeddedServer(measurement) as server:
        for starting in (server.start_sse, server.start_http):
            with pytest.raises(EmbeddedError, match="is no port: pass 0 to 65535"):
                starting(port)
        assert server.started == {}


@pytest.mark.parametrize(
    "path", ["", "mcp", "/mcp sse", "/mcp?x", "/ü", "/a\n", "/{x}", "//evil", "/a//b", "/../x", "/a/."]
)
def test_paths_that_are_none(path: str) -> None:
    with (
        measuring() as measurement,
        EmbeddedServer(measurement) as server,
        pytest.raises(EmbeddedError, match="is no path of a URL") as caught,
    ):
        server.start_sse(path=path)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("transport", ["sse", "http"])
def test_a_port_in_use(transport: str) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        measuring() as measurement,
        EmbeddedServer(measurement) as server,
    ):
        starting = {"sse": server.start_sse, "http": server.start_http}[transport]
        with pytest.raises(EmbeddedError, match="is in use already"):
            starting(taken.getsockname()[1])
        assert starting().port > 0  # another one will do


@pytest.mark.parametrize(
    ("fds", "reason"),
    [
        ((0, 4), "descriptor 0 is the host's own"),
        ((3, 1), "descriptor 1 is the host's own"),
        ((2, 2), "descriptor 2 is the host's own"),
        ((-1, 4), "-1 is no file descriptor"),
        ((9999, 9999), "descriptor 9999 is not open"),
        ((1 << 40, 9999), "is not open"),
    ],
)
def test_descriptors_that_do_not_work(fds: tuple[int, int], reason: str) -> None:
    read, write = os.pipe()
    ours = tuple({3: read, 4: write}.get(number, number) for number in fds)
    with measuring() as measurement, EmbeddedServer(measurement) as server:
        with pytest.raises(EmbeddedError, match=reason):
            server.start_stdio(*ours)
        with pytest.raises(EmbeddedError, match="can't be read from"):
            server.start_stdio(write, write)
        with pytest.raises(EmbeddedError, match="can't be written to"):
            server.start_stdio(read, read)
        with pytest.raises(EmbeddedError, match="framing 'morse' is unknown"):
            server.start_stdio(read, write, framing="morse")  # type: ignore[arg-type]
    os.close(read)
    os.close(write)


# ---- the socket's file ------------------------------------------------------------------------


def test_the_file_is_its_owners_alone_and_goes_with_the_server(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with hosted(tmp_path):
            assert stat.S_IMODE(os.stat(tmp_path / "s").st_mode) == 0o700
    finally:
        os.umask(before)
    assert not (tmp_path / "s").exists()
