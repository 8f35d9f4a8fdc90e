"""vmaf-mcp as a process, and the official client for each of its endpoints."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from acuity.agents.settings import AcuitySettings
from acuity.agents.standalone.main import standalone_server
from longwire.endpoints import Http, Open
from longwire.guard.access import Access
from longwire.server.serve import Stop, serve
from moving_pictures import HEIGHT, WIDTH, luma
from prepared_programs import Program, starter
from prepared_workers import serving
from scoring_clips import GEOMETRY
from served_program import SECONDS as SECONDS
from served_program import ServedProgram, left_clean
from transport_bench import LOCAL

COMMAND = [sys.executable, "-m", "acuity.cli.serve"]
NETWORK = ["uds", "sse", "http"]
TRANSPORTS = ["stdio", *NETWORK]
LONG = 200_000  # frames: more than any test waits for
_WRITTEN = 1000


def environment(folder: Path) -> dict[str, str]:
    """A server that reads and writes in this folder only."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("VMAF", "ACUITY"))}
    own = {"ACUITY_DATA": str(folder / "data"), "VMAF_MCP_ALLOW": str(folder), "VMAF_MCP_MAX_CONCURRENT": "2"}
    return inherited | own


def clip(folder: Path, name: str, frames: int, *, worse: bool = False) -> str:
    """A raw 4:0:0 video; its pictures repeat after a while, and what follows in a long one is black."""
    path = folder / name
    pictures = [luma(index, worse=worse).astype("uint8").tobytes() for index in range(min(frames, 12))]
    with path.open("wb") as file:
        for index in range(min(frames, _WRITTEN)):
            file.write(pictures[index % len(pictures)])
        file.truncate(frames * WIDTH * HEIGHT)  # takes no room on the disk
    return str(path)


def raw_pair(folder: Path, frames: int) -> dict[str, Any]:
    """Arguments of vmaf_score for a pair that is made here."""
    ref, dis = (clip(folder, f"{name}{frames}.yuv", frames, worse=name == "dis") for name in ("ref", "dis"))
    return {"ref": ref, "dis": dis, **GEOMETRY, "pixfmt": "400", "threads": 1}


class ProductServer(ServedProgram):
    """A running server: where it listens, and the processes that belong to it."""

    def __init__(self, folder: Path, *arguments: str, by: Callable[..., Program] = Program) -> None:
        self.folder = folder
        super().__init__(serving(*arguments), environment(folder), by)


@contextmanager
def product_server(
    folder: Path, *arguments: str, by: Callable[..., Program] = Program
) -> Iterator[ProductServer]:
    """Start it with these arguments, and see that it leaves nothing behind."""
    with left_clean(ProductServer(folder, *arguments, by=by)) as server:
        yield server


@contextmanager
def everywhere(folder: Path, by: Callable[..., Program] = Program) -> Iterator[ProductServer]:
    """A server on every endpoint that several clients can share."""
    with product_server(
        folder, "--uds", str(folder / "socket"), "--http", "0", "--sse", "0", "--metrics", "0", by=by
    ) as server:
        for transport in (*NETWORK, "metrics"):
            server.where(transport)
        yield server


def stdio(folder: Path, era: str, *arguments: str) -> Client:
    """A client with a server of its own."""
    command, *rest = [*starter(), *serving(*arguments)[1:]]
    return Client(
        stdio_client(StdioServerParameters(command=command, args=rest, env=environment(folder))), mode=era
    )


async def asked(client: Client, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The document of a tool's good answer."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return result.structured_content


def own_settings(folder: Path, **more: Any) -> AcuitySettings:
    known = {"data": folder / "data", "allow": (str(folder),), "workers": 1, "grace": 0.0}
    return AcuitySettings(**{**known, **more})


@asynccontextmanager
async def product_client(
    folder: Path, make: Callable[[Any], Client] = Client, **settings: Any
) -> AsyncIterator[Client]:
    """A client of the server in this process, which has one worker and may read the folder."""
    async with standalone_server(own_settings(folder, **settings)) as made, make(made.server) as client:
        yield client


@asynccontextmanager
async def product_on_http(folder: Path, access: Access | None = None) -> AsyncIterator[str]:
    """The same server in this process, at the address that is given."""
    settings = own_settings(folder)
    async with standalone_server(settings) as made, anyio.create_task_group() as tasks:
        stop, opened = Stop(), asyncio.Future[list[Open]]()
        told = {"on_stop": made.jobs.stop, "on_ready": opened.set_result, "stop": stop}
        limits = {"access": access, "limits": made.limits}
        tasks.start_soon(partial(serve, made.server, [Http(LOCAL)], settings, **limits, **told))
        yield (await opened)[0].where
        stop.request()
