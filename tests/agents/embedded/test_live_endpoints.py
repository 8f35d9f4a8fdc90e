"""A server beside a thread that measures, followed and steered by the official client over real endpoints."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client

from acuity.access.paths import AllowedPaths
from acuity.agents.embedded import EmbeddedConfig, EmbeddedServer
from acuity.agents.embedded.resources import REPORT, SCORES, STATUS
from acuity.measure import Measurement
from acuity.measure.feed import feed
from live_ground import ERAS, MODEL, NEG, SECONDS
from longwire.endpoints import Open
from moving_pictures import measure, pair
from transport_bench import run, transport_to

pytestmark = pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")

TRANSPORTS = ["uds", "sse", "http"]
FRAMES = 40


class Host:
    """A process that measures: frames are let through one by one, or all at once."""

    def __init__(self, folder: Path) -> None:
        self.measurement = Measurement(threads=1)
        self.measurement.add_model(MODEL)
        self.server = EmbeddedServer(self.measurement, EmbeddedConfig(), paths=AllowedPaths([folder]))
        self.server.start_uds(folder / "socket")
        self.where = {
            "uds": str(folder / "socket"),
            "sse": self.server.start_sse().url,
            "http": self.server.start_http().url,
        }
        self.let = threading.Semaphore(0)
        self._thread = threading.Thread(target=self._measure)
        self._thread.start()

    def client(self, transport: str, era: str, **options: Any) -> Client:
        opened = Open(transport, self.where[transport], lambda: None)
        return Client(transport_to(opened), mode=era, **options)

    def feed(self, count: int) -> None:
        self.let.release(count)

    def _measure(self) -> None:
        def pairs() -> Iterator[Any]:
            for index in range(FRAMES):
                assert self.let.acquire(timeout=SECONDS)
                yield pair(index)

        feed(self.measurement, pairs())

    def finish(self) -> None:
        self.let.release(FRAMES)
        self._thread.join(SECONDS)
        assert not self._thread.is_alive()


@contextmanager
def hosting(folder: Path) -> Iterator[Host]:
    host = Host(folder)
    try:
        yield host
    finally:
        host.finish()
        host.server.stop()
        host.measurement.close()


async def ask(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.structured_content
    document: dict[str, Any] = result.structured_content
    return document


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_follow_swap_and_read_the_final_report(transport: str, era: str, tmp_path: Path) -> None:
    plain, neg = measure(FRAMES, MODEL), measure(FRAMES, NEG)

    async def main(host: Host) -> None:
        changed = anyio.Event()

        async def hear(message: Any) -> None:
            if isinstance(message, types.ResourceUpdatedNotification):
                assert message.params.uri == f"{STATUS}?rate=100"
                if message.params.meta["acuity/measurement"]["over"]:
                    changed.set()

        async def follow(client: Client) -> None:
            if era == "legacy":
                await changed.wait()
                return
            async with client.listen(resource_subscriptions=[f"{STATUS}?rate=100"]) as events:
                following.set()
                async for _ in events:
                    if (await ask(client, "vmaf.status"))["state"] == "over":
                        return

        following = anyio.Event()
        async with host.client(transport, era, message_handler=hear) as client:
            if era == "legacy":
                await client.subscribe_resource(f"{STATUS}?rate=100")
                following.set()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(follow, client)
                await following.wait()
                host.feed(10)
                async with anyio.create_task_group() as swapping:

                    async def swap() -> None:
                        nonlocal swapped
                        swapped = await ask(client, "vmaf.request_model_swap", name=NEG)

                    swapped: dict[str, Any] = {}
                    swapping.start_soon(swap)
                    while not swapped:
                        if (await ask(client, "vmaf.status"))["queue"]["waiting"]:
                            host.feed(1)  # its boundary is where the command is taken
                host.feed(FRAMES)
            first = swapped["first"]
            report = json.loads((await client.read_resource(REPORT)).contents[0].text)
            scores = await ask(client, "vmaf.score", first=0)
        expected = [*plain.columns["vmaf"][:first], *neg.columns["vmaf"][first:]]
        assert [row["score"] for row in scores["frames"]] == expected
        assert [s["first"] for s in report["acuity"]["steering"]["segments"]] == [0, first]

    with hosting(tmp_path) as host:
        run(lambda: main(host))


def test_a_lone_request_cannot_subscribe_over_http(tmp_path: Path) -> None:
    """Nothing could be told to one who posts a request and leaves."""
    import httpx2

    with hosting(tmp_path) as host:
        request = {"jsonrpc": "2.0", "id": 1, "method": "resources/subscribe", "params": {"uri": SCORES}}
        answer = httpx2.post(host.where["sse"], json=request, timeout=SECONDS).json()
        assert "nothing can be told over this connection" in answer["error"]["message"]


def test_a_lone_line_can_subscribe_over_a_socket(tmp_path: Path) -> None:
    with hosting(tmp_path) as host, socket.socket(socket.AF_UNIX) as client:
        client.settimeout(SECONDS)
        client.connect(host.where["uds"])
        request = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "resources/subscribe",
            "params": {"uri": f"{SCORES}?rate=100"},
        }
        client.sendall(json.dumps(request).encode() + b"\n")
        with client.makefile("r") as lines:
            assert json.loads(next(lines))["result"] == {}
            host.feed(4)
            told = json.loads(next(lines))
        assert told["method"] == "notifications/resources/updated"
        assert told["params"]["uri"] == f"{SCORES}?rate=100"
        assert told["params"]["_meta"]["acuity/measurement"]["frames_read"] >= 1
