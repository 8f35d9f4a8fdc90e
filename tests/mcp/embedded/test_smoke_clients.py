"""The official client over every transport, a command's own descriptors 3 and 4 among them."""

from __future__ import annotations

import json
import os
import shlex
import sys
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters, stdio_client

from acuity.mcp.endpoints import Open
from live_ground import ERAS
from prepared_programs import starter
from smoke_film import Film
from smoke_host import TOOLS, Smoke, smoking
from tool_results import sentence_of
from transport_bench import run, transport_to

pytestmark = pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")


async def use(transport: AbstractAsyncContextManager[Any], era: str) -> None:
    """What any client does, and one thing that is carried out between two frames."""
    async with Client(transport, mode=era) as client:
        assert {tool.name for tool in (await client.list_tools()).tools} == TOOLS
        status = await client.call_tool("vmaf.status", {})
        assert status.structured_content["model"] == "vmaf_v0.6.1"
        sampled = await client.call_tool("vmaf.set_subsample", {"n": 2})
        assert not sampled.is_error
        assert sampled.structured_content["subsample"] == 2
        wrong = await client.call_tool("vmaf.request_model_swap", {"name": "no_such_model"})
        assert "no_such_model" in sentence_of(wrong)
        content = (await client.read_resource("acuity://measurement/status")).contents[0]
        assert json.loads(content.text)["subsample"] == 2


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("name", ["uds", "sse", "http"])
def test_the_official_client(name: str, era: str, tmp_path: Path) -> None:
    def where(host: Smoke) -> str:
        return {"uds": str(host.socket), "sse": host.sse, "http": host.http}[name]

    with smoking(tmp_path) as host:
        run(lambda: use(transport_to(Open(name, where(host), lambda: None)), era))


@pytest.mark.parametrize("era", ERAS)
def test_a_client_that_starts_the_command(era: str, tmp_path: Path) -> None:
    """What the SDK takes for a server's stdin and stdout are descriptors 3 and 4 of `vmaf`."""
    film = Film(tmp_path, 24)
    film.more(5)  # the command looks at its videos before it serves anybody
    report = tmp_path / "report.json"
    videos = ["-r", str(film.paths[0]), "-d", str(film.paths[1])]
    options = ["--enable-mcp-stdio", "--threads", "1", "-q", "--json", "-o", str(report)]
    ended = tmp_path / "ended"
    os.mkfifo(ended)
    end = os.open(ended, os.O_RDWR | os.O_NONBLOCK)
    line = shlex.join([*starter(), "-m", "acuity.cli.vmaf", *videos, *options])
    server = StdioServerParameters(
        command="bash",
        args=["-c", f"{line} 3<&0 4>&1 </dev/null >/dev/null; echo $? >{ended}"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )

    async def main() -> None:
        async with Client(stdio_client(server), mode=era) as client:
            assert {tool.name for tool in (await client.list_tools()).tools} == TOOLS
            while (await ask(client, "vmaf.status"))["frames_read"] < 5:
                pass
            assert (await ask(client, "vmaf.score", index=0))["frame"] == 0
            film.close()
            await anyio.wait_readable(end)

    async def ask(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
        result = await client.call_tool(tool, arguments)
        assert not result.is_error, result.structured_content
        document: dict[str, Any] = result.structured_content
        return document

    try:
        run(main)
        assert os.read(end, 10) == b"0\n"
    finally:
        film.close()
        os.close(end)
    assert len(json.loads(report.read_text())["frames"]) == 5
