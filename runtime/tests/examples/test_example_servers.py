"""The example workers behind a real server, called by the official client of both eras."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client

from asking_client import Person
from example_workers import PATIENCE, SERVED
from served_program import ServedProgram, longwire_server
from tool_results import text_of
from transport_bench import ERAS, transport_to


@pytest.fixture(scope="module", params=SERVED)
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServedProgram]:
    command = shlex.join([*SERVED[request.param](), "--socket", "{socket}"])
    folder: Path = tmp_path_factory.mktemp("server")
    with longwire_server(folder, "--http", "0", "--worker-command", command) as running:
        yield running


def _client(server: ServedProgram, era: str, **callbacks: Any) -> Client:
    return Client(transport_to(server.where("http")), mode=era, **callbacks)


@pytest.mark.parametrize("era", ERAS)
async def test_all_that_a_worker_offers(server: ServedProgram, era: str) -> None:
    person = Person(colour="green")
    told: list[float] = []

    async def heard(progress: float, total: float | None, message: str | None) -> None:
        told.append(progress)

    async with _client(server, era, **person.callbacks) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert names == ["echo", "count", "ask", "visits", "announce"]
        assert text_of(await client.call_tool("echo", {"text": "ünïcode 🎬"})) == "ünïcode 🎬"
        counted = await client.call_tool("count", {"to": 3}, progress_callback=heard)
        assert (text_of(counted), told) == ("counted to 3", [1, 2, 3])
        assert text_of(await client.call_tool("ask", {})) == "Ada likes green."
        assert person.asked == ["Your name?", "Which colour do you like, Ada?"]
        visits = [text_of(await client.call_tool("visits", {})) for _ in range(2)]
        expected = ["visit 1", "visit 2"] if era == "legacy" else ["There is no session to count in."] * 2
        assert visits == expected
        (content,) = (await client.read_resource("example://language")).contents
        assert content.text.startswith(("PHP 8", "TypeScript on Node v", "Python 3"))
        (message,) = (await client.get_prompt("greet", {"name": "Ada"})).messages
        assert message.content.text == "Greet Ada in one sentence."


async def test_an_announcement_reaches_every_session(server: ServedProgram) -> None:
    lines, heard = [], anyio.Event()

    async def logged(params: types.LoggingMessageNotificationParams) -> None:
        lines.append(params.data)
        heard.set()

    async with (
        _client(server, "legacy", logging_callback=logged) as listener,
        _client(server, "legacy") as other,
    ):
        assert text_of(await listener.call_tool("echo", {"text": "here"})) == "here"
        assert text_of(await other.call_tool("announce", {"text": "dinner"})) == "announced"
        with anyio.fail_after(PATIENCE):
            await heard.wait()
        assert lines == ["dinner"]
