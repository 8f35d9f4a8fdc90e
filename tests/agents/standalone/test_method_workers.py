"""Methods in workers: the settings, and the product's own tools in worker processes."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
from mcp import Client

from acuity.agents.settings import SETTINGS_VARIABLE, settings_from, worker_environment
from longwire.config.effective import Effective, effective
from longwire.errors import SettingsError
from longwire.server.serve import ServeOptions
from longwire.server.start_checks import check_start
from longwire.wire.listeners import Address
from prepared_programs import Program

PATIENCE = 60.0


def found(folder: Path, **changed: Any) -> Effective:
    values: dict[str, Any] = {"server.data": folder, "server.http": Address("127.0.0.1", 0)}
    values |= {name.replace("__", "."): value for name, value in changed.items()}
    return effective({name: value for name, value in values.items() if value is not None}, {})


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"server__http": None}, "set http too"),
        ({"server__stdio": True}, "leave stdio out"),
        ({"server__uds": Path("/tmp/a.sock")}, "leave uds out"),
        ({"server__sse": Address("127.0.0.1", 0)}, "leave sse out"),
        ({"workers__command": "/no/such/program"}, "there is no program '/no/such/program'"),
        ({"workers__sockets": ("relative.sock",)}, "write the whole path"),
    ],
)
def test_what_workers_can_not_do_is_refused(tmp_path: Path, changed: dict[str, Any], sentence: str) -> None:
    with pytest.raises(SettingsError, match=re.escape(sentence)):
        check_start(found(tmp_path, workers__method_workers=2, **changed))


def test_workers_get_the_settings_that_matter_to_them(tmp_path: Path) -> None:
    settings = found(tmp_path, workers__method_workers=2, server__allow=("/videos",)).settings()
    sent = worker_environment(ServeOptions(settings, []), tmp_path / "turns")
    document = json.loads(sent[SETTINGS_VARIABLE])
    again = settings_from(document["settings"])
    assert (again.data, again.allow, again.time_limit) == (tmp_path, ("/videos",), settings.time_limit)
    assert not again.has_workers


@contextmanager
def saying(folder: Path, words: tuple[str, ...], *options: str) -> Iterator[tuple[Program, str]]:
    """The product's server, and what it says until all of these words were there."""
    environment = {**os.environ, "ACUITY_DATA": str(folder), "PYTHONPATH": os.pathsep.join(sys.path)}
    process = Program(
        [sys.executable, "-m", "acuity.cli.serve", "--http", "0", "--log-format", "text", *options],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    assert process.stderr is not None
    try:
        said = ""
        while not all(re.search(word, said) for word in words):
            line = process.stderr.readline()
            assert line, said
            said += line
        yield process, said
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


@contextmanager
def serving(folder: Path, *options: str) -> Iterator[tuple[Program, str]]:
    """The product's server with workers, and its address."""
    with saying(folder, (r"http://\S+/mcp",), *options) as (process, said):
        place = re.search(r"http://\S+/mcp", said)
        assert place is not None
        yield process, place.group()


def test_the_products_tools_run_in_worker_processes(tmp_path: Path) -> None:
    async def use(url: str) -> None:
        async with Client(url) as client:
            tools = {tool.name for tool in (await client.list_tools()).tools}
            assert {"vmaf_score", "submit_job"} <= tools
            answer = await client.call_tool("vmaf_version", {})
            assert not answer.is_error
            refused = await client.call_tool("vmaf_score", {"ref": "/etc/passwd"})
            assert refused.is_error
            started = await client.call_tool("submit_job", {"tool": "run_benchmark", "arguments": {}})
            assert not started.is_error, started.content
            document = started.structured_content
            assert document is not None
            ended = await client.call_tool("cancel_job", {"job_id": document["job_id"]})
            assert not ended.is_error

    with serving(tmp_path, "--method-workers", "1") as (process, url):
        asyncio.run(asyncio.wait_for(use(url), PATIENCE))
        children = psutil.Process(process.pid).children(recursive=True)
        assert any("method_worker" in " ".join(child.cmdline()) for child in children)
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
        _, alive = psutil.wait_procs(children, PATIENCE)
        assert not alive
