"""How the server holds out: killed workers, clients that vanish, signals, a second server, a restart."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest
from mcp import Client

from product_server import COMMAND, LONG, SECONDS, ProductServer, environment, product_server, raw_pair
from raw_http import META, call
from waiting import until


async def score(client: Client, arguments: dict[str, Any], started: anyio.Event | None = None) -> Any:
    async def listen(done: float, total: float | None, message: str | None) -> None:
        if done and started is not None:
            started.set()

    return await client.call_tool("vmaf_score", arguments, progress_callback=listen)


def test_the_end_of_stdin_ends_the_work(tmp_path: Path) -> None:
    """A client that vanishes in the middle of a call leaves no process behind."""
    ends = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(COMMAND, env=environment(tmp_path), text=True, **ends)
    asked = call(1, "vmaf_score", **raw_pair(tmp_path, LONG))
    asked["params"]["_meta"] = {**META, "progressToken": 1}
    process.stdin.write(json.dumps(asked) + "\n")
    process.stdin.flush()
    while json.loads(process.stdout.readline())["params"]["progress"] == 0:
        pass
    children = psutil.Process(process.pid).children(recursive=True)
    assert children
    process.stdin.close()
    assert process.wait(SECONDS) == 0
    assert psutil.wait_procs(children, SECONDS)[1] == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_work_within_the_grace_time(tmp_path: Path, number: signal.Signals) -> None:
    with product_server(tmp_path, "--http", "0", "--grace", "0.1") as server:
        async with server.client("http", "2026-07-28") as client, anyio.create_task_group() as tasks:
            started = anyio.Event()
            ended: list[Any] = []

            async def call() -> None:
                try:
                    ended.append(await score(client, raw_pair(tmp_path, LONG), started))
                except Exception as error:
                    ended.append(error)

            tasks.start_soon(call)
            await started.wait()
            children = server.workers()
            server.process.send_signal(number)
            code = await anyio.to_thread.run_sync(server.process.wait, SECONDS)
            assert code == 0
            assert psutil.wait_procs(children, SECONDS)[1] == []
        assert isinstance(ended[0], Exception) or ended[0].is_error


async def test_a_restarted_server_knows_what_was_done(tmp_path: Path) -> None:
    async def submit(server: ProductServer, frames: int) -> str:
        async with server.client("http", "2026-07-28") as client:
            arguments = {"tool": "vmaf_score", "arguments": raw_pair(tmp_path, frames)}
            return (await client.call_tool("submit_job", arguments)).structured_content["job_id"]

    async def look(server: ProductServer, job_id: str) -> dict[str, Any]:
        async with server.client("http", "legacy") as client:
            found = await client.call_tool("get_job", {"job_id": job_id})
            assert not found.is_error, found
            return found.structured_content

    async def comes_to(server: ProductServer, job_id: str, status: str) -> dict[str, Any]:
        async def there() -> dict[str, Any] | None:
            found = await look(server, job_id)
            return found if found["status"] == status else None

        return await until(there, SECONDS)

    with product_server(tmp_path, "--http", "0") as first:
        done = await submit(first, 10)
        before = await comes_to(first, done, "completed")
        running = await submit(first, LONG)
        await comes_to(first, running, "running")
        children = first.workers()
        os.kill(first.process.pid, signal.SIGKILL)  # no time to write anything down
        first.process.wait(SECONDS)
        assert psutil.wait_procs(children, SECONDS)[1] == []
    with product_server(tmp_path, "--http", "0") as second:
        assert await look(second, done) == before
        interrupted = await look(second, running)
        assert interrupted["status"] == "interrupted"
        assert interrupted["error"]
