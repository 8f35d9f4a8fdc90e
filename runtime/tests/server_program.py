"""The server of bench_server.py as a process, with its three pipes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from prepared_programs import Program

PROGRAM = [sys.executable, str(Path(__file__).with_name("bench_server.py"))]
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


@contextmanager
def program(*options: str, **streams: Any) -> Iterator[Program]:
    """The server as a process, which is killed if the test leaves it behind."""
    pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    process = Program([*PROGRAM, *options], env=ENVIRONMENT, **{**pipes, **streams})
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        for pipe in filter(None, (process.stdin, process.stdout, process.stderr)):
            with suppress(BrokenPipeError):
                pipe.close()


def line(stream: IO[bytes] | None) -> bytes:
    assert stream is not None
    return stream.readline()


def until(stream: IO[bytes] | None, text: bytes) -> None:
    """Read lines up to the one with that text."""
    while text not in (found := line(stream)):
        assert found, f"ended before {text!r}"


def say(process: Program, *messages: Any) -> None:
    assert process.stdin is not None
    process.stdin.write(b"".join(json.dumps(message).encode() + b"\n" for message in messages))
    process.stdin.flush()
