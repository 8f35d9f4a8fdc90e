"""Servers under test, as processes that end with the test."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

START: Final = 30.0  # seconds that a server may take to listen
STOP: Final = 15.0


class DidNotStart(RuntimeError):
    """A server that ended before it listened; its log says why."""

    def __init__(self, log: Path) -> None:
        super().__init__(f"the server did not start:\n{log.read_text()}")


def product_command() -> list[str]:
    """How the product's server is started: the installed script, or from the sources."""
    script = Path(sys.executable).parent / "vmaf-mcp"
    return [str(script)] if script.is_file() else [sys.executable, "-m", "acuity.cli.serve"]


@contextmanager
def fixtures(log: Path, *options: str) -> Iterator[str]:
    """The fixture server; gives its URL."""
    script = Path(__file__).with_name("fixture_server.py")
    with log.open("wb") as errors:
        process = subprocess.Popen(
            [sys.executable, str(script), *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
    with stopping(process):
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        if not url:
            raise DidNotStart(log)
        yield url


@contextmanager
def listening(command: Sequence[str], log: Path, **environment: str) -> Iterator[int]:
    """The product's server over both kinds of HTTP; gives its port."""
    port = _free_port()
    with log.open("wb") as errors:
        process = subprocess.Popen(
            [*command, "--http", str(port), "--sse", str(port)],
            stdin=subprocess.DEVNULL,
            stdout=errors,
            stderr=errors,
            env=os.environ | environment,
        )
    with stopping(process):
        deadline = time.monotonic() + START
        while not _answers(port):
            if process.poll() is not None or time.monotonic() > deadline:
                raise DidNotStart(log)
            time.sleep(0.05)
        yield port


@contextmanager
def stopping(process: subprocess.Popen[str] | subprocess.Popen[bytes]) -> Iterator[None]:
    """Ends the process: asked first, then made to."""
    try:
        yield
    finally:
        if process.stdin is not None:
            process.stdin.close()
        else:
            process.terminate()
        try:
            process.wait(STOP)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
