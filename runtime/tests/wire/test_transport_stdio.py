"""A server as a program, spoken to over its stdin and stdout."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from prepared_programs import starter
from raw_http import HELLO, call
from server_program import ENVIRONMENT, PROGRAM, line, program, say, until
from transport_bench import ERAS, SECONDS


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("framing", ["lines", "auto"])
async def test_the_official_client(era: str, framing: str) -> None:
    command, *arguments = [*starter(), *PROGRAM[1:]]
    parameters = StdioServerParameters(
        command=command, args=[*arguments, "--framing", framing], env=ENVIRONMENT
    )
    heard = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        heard.append(done)

    async with Client(stdio_client(parameters), mode=era) as client:
        said = await client.call_tool("echo", {"text": "hä"})
        assert said.structured_content == {"text": "hä", "client": "stdio"}
        await client.call_tool("steps", progress_callback=progress)
    assert heard == [1, 2, 3]


def test_what_is_printed_is_not_on_stdout_and_stdin_is_nobody_elses() -> None:
    with program() as process:
        say(process, HELLO, call(1, "noisy"))
        assert json.loads(line(process.stdout))["id"] == 0
        assert json.loads(line(process.stdout))["result"]["structuredContent"] == {"read": ""}
        out, err = process.communicate(timeout=SECONDS)
        assert out == b""
        assert all(word in err for word in (b"printed", b"written", b"from a child"))
        assert process.returncode == 0


@pytest.mark.parametrize("gone", [False, True])
def test_the_end_of_input_or_a_client_that_is_gone_ends_the_server_and_its_work(gone: bool) -> None:
    with program("--grace", "60") as process:
        say(process, HELLO, call(1, "stubborn"))
        until(process.stderr, b"stubborn: started")
        (process.stdout if gone else process.stdin).close()
        if gone:
            say(process, call(2))  # whose answer can't be written
        until(process.stderr, b"stubborn: cancelled")
        assert process.wait(SECONDS) == 0


@pytest.mark.parametrize("kind", ["file", "nothing"])
def test_input_and_output_that_are_no_pipes(kind: str, tmp_path: Path) -> None:
    text = b"\n".join(
        json.dumps(message).encode() for message in (HELLO, call(1, text="a"))
    )  # with no last end
    (tmp_path / "in").write_bytes(text if kind == "file" else b"")
    source = tmp_path / "in" if kind == "file" else Path(os.devnull)
    with (
        source.open("rb") as stdin,
        (tmp_path / "out").open("wb") as stdout,
        program(stdin=stdin, stdout=stdout) as process,
    ):
        assert process.wait(SECONDS) == 0
    answers = [json.loads(text) for text in (tmp_path / "out").read_bytes().splitlines()]
    assert [answer["id"] for answer in answers] == ([0, 1] if kind == "file" else [])
