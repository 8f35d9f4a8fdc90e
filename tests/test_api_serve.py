"""acuity.score(serve=…): agents watch a call of one line, and the figures stay the same."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import acuity
from scoring_clips import y4m

FRAMES = 8
ASKING = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "vmaf.status"}}


def at_socket(path: Path) -> dict[str, Any]:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))
        client.sendall(json.dumps(ASKING).encode() + b"\n")
        return _status(json.loads(client.makefile("rb").readline()))


def at_url(url: str) -> dict[str, Any]:
    request = urllib.request.Request(
        url, json.dumps(ASKING).encode(), {"Content-Type": "application/json", "Accept": "*/*"}
    )
    with urllib.request.urlopen(request) as answer:
        return _status(json.load(answer))


def _status(message: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = message["result"]["structuredContent"]
    return found


@pytest.fixture
def clips(tmp_path: Path) -> tuple[Path, Path]:
    return y4m(tmp_path / "a.y4m", FRAMES), y4m(tmp_path / "b.y4m", FRAMES, worse=True)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def test_agents_reach_it_while_it_runs_and_no_longer(clips: tuple[Path, Path], tmp_path: Path) -> None:
    port, place = free_port(), tmp_path / "s"
    asking: dict[str, Callable[[], dict[str, Any]]] = {
        f"sse:{port}": lambda: at_url(f"http://127.0.0.1:{port}/mcp/sse"),
        f"http:{port}": lambda: at_url(f"http://127.0.0.1:{port}/mcp"),
        f"uds:{place}": lambda: at_socket(place),
    }
    alone = acuity.score(*clips)
    for where, ask in asking.items():
        seen: list[dict[str, Any]] = []

        def progress(done: int, *_: object, ask: Any = ask, seen: Any = seen) -> None:
            if not seen:
                seen.append(ask())

        report = acuity.score(*clips, serve=where, progress=progress)
        assert seen[0]["frames_total"] == FRAMES
        # The callback holds up the frames while it asks; on a slow machine that looks like missing input.
        assert seen[0]["state"] in ("measuring", "waiting_for_input", "over")
        assert report.score == alone.score
        with pytest.raises(OSError, match=r"refused|No such file"):
            ask()


def test_a_function_starts_the_server_as_it_likes(clips: tuple[Path, Path], tmp_path: Path) -> None:
    urls: list[str] = []
    seen: list[dict[str, Any]] = []

    def start(server: acuity.EmbeddedServer) -> None:
        urls.append(server.start_sse().url)
        server.start_uds(tmp_path / "s")

    def progress(*_: object) -> None:
        if not seen:
            seen.extend([at_url(urls[0]), at_socket(tmp_path / "s")])

    acuity.score(*clips, metrics=["vmaf", "psnr"], serve=start, progress=progress)
    assert [status["frames_total"] for status in seen] == [FRAMES, FRAMES]
    assert (seen[0]["reference"], seen[0]["distorted"]) == ("a.y4m", "b.y4m")
    psnr = {"name": "psnr", "column": "psnr_y", "unit": "dB", "decimals": 2}
    assert seen[0]["metrics"] == [psnr]


def test_several_places_and_who_is_told_of_them(
    clips: tuple[Path, Path], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    places: dict[str, str] = {}
    socket_place = f"uds:{tmp_path / 's'}"
    acuity.score(*clips, serve=["sse:0", socket_place, lambda server: places.update(server.started)])
    assert places["uds"] == str(tmp_path / "s")
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/mcp/sse", places["sse"])
    assert capfd.readouterr().err == ""
    acuity.score(*clips, serve=("http:0", socket_place))
    assert re.fullmatch(
        r"acuity: agents may connect to http://127\.0\.0\.1:\d+/mcp\n", capfd.readouterr().err
    )


def test_cancelling_waits_for_no_agent(clips: tuple[Path, Path], tmp_path: Path) -> None:
    """A silent one is given two seconds to read the end of a measurement that ends by itself."""
    lingered: list[float | None] = []

    class Server(acuity.EmbeddedServer):
        def close(self, linger: float | None = None) -> None:
            lingered.append(linger)
            super().close(linger)

    async def main(paused: asyncio.Event) -> None:
        loop = asyncio.get_running_loop()

        servers: list[acuity.EmbeddedServer] = []

        def start(server: acuity.EmbeddedServer) -> None:
            server.__class__ = Server
            server.start_uds(tmp_path / "s")
            servers.append(server)

        def progress(*_: object) -> None:
            if not paused.is_set():
                servers[0].measurement.pause(shared=True)
                loop.call_soon_threadsafe(paused.set)

        task = asyncio.ensure_future(acuity.score_async(*clips, serve=start, progress=progress))
        await paused.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main(asyncio.Event()))
    assert lingered[0] == 0.0


_NO_PLACES = ["sse", "sse:", "sse:a", "uds:", "stdio:3", "", "8723", 42, ["sse:0", 42], b"sse:0"]


@pytest.mark.parametrize("where", _NO_PLACES)
def test_what_is_no_place_is_refused_before_a_file_is_opened(where: Any) -> None:
    with pytest.raises(acuity.EmbeddedError, match=r"=('|b'|42).*is no place to serve: write 'sse:8723'"):
        acuity.score("/nowhere/a.y4m", "/nowhere/b.y4m", serve=where)


def test_a_place_that_cannot_be_had_is_refused(clips: tuple[Path, Path]) -> None:
    with pytest.raises(acuity.EmbeddedError, match="99999"):
        acuity.score(*clips, serve="sse:99999")
