"""stdin and stdout as one client's connection. Everything else that is printed goes to stderr."""

from __future__ import annotations

import fcntl
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final

import anyio
from mcp.server.lowlevel import Server

from acuity.mcp.settings import Settings
from acuity.mcp.wire.framing import FRAMINGS, FramingName
from acuity.mcp.wire.stream import FLUSH, Descriptors, serve_stream

NAME: Final = "stdio"


@contextmanager
def claimed_stdio() -> Iterator[tuple[int, int]]:
    """stdin and stdout under numbers of their own.

    Meanwhile 0 reads as empty and 1 leads to stderr, here and in child processes: a stray print or a
    library's banner would otherwise end up between the messages.
    """
    read, write = (fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, 3) for number in (0, 1))
    try:
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.dup2(2, 1)
        yield read, write
    finally:
        os.dup2(read, 0)
        os.dup2(write, 1)
        os.close(read)
        os.close(write)


@asynccontextmanager
async def serve_stdio(
    server: Server[Any],
    settings: Settings,
    *,
    framing: FramingName,
    lifespan_state: Any,
    on_end: Callable[[], None],
) -> AsyncIterator[None]:
    """Answer the client at stdin and stdout until the block ends; `on_end` is told when its input does."""
    ending, over = anyio.Event(), anyio.Event()

    async def run(read: int, write: int) -> None:
        try:
            await serve_stream(
                server,
                Descriptors(read, write),
                FRAMINGS[framing](settings.body),
                settings,
                name=NAME,
                lifespan_state=lifespan_state,
                ending=ending,
            )
        finally:
            over.set()
            on_end()

    with claimed_stdio() as (read, write):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run, read, write)
            try:
                yield
            finally:
                ending.set()
                with anyio.move_on_after(FLUSH, shield=True):
                    await over.wait()
                tasks.cancel_scope.cancel()
