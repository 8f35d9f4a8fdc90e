"""The examples do what they say, and docs/embedded.md names every tool, resource and option."""

from __future__ import annotations

import dataclasses
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from acuity.agents.embedded import EmbeddedConfig, EmbeddedServer
from acuity.agents.embedded.config import READING_TOOLS, STEERING_TOOLS
from acuity.agents.embedded.resources import RATES
from embedded_client import PATIENCE, ending_in_time
from prepared_programs import Program
from smoke_film import Film

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "embedded.md").read_text()
TOOLS = {*READING_TOOLS, *STEERING_TOOLS}


@contextmanager
def example(name: str, *arguments: str) -> Iterator[Program]:
    process = Program(
        [sys.executable, "-u", str(ROOT / "examples" / name), *arguments],
        **dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE),
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    with ending_in_time(process, process.kill, 3 * PATIENCE):
        yield process


@pytest.mark.parametrize("transport", ["sse", "uds"])
def test_an_agent_follows_a_host_and_swaps_its_model(transport: str, tmp_path: Path) -> None:
    film = Film(tmp_path, 24)
    film.more(5)
    where = ["--port", "0"] if transport == "sse" else ["--socket", str(tmp_path / "s")]
    with example("embedded_host.py", *map(str, film.paths), "--wait", "--stay", *where) as host:
        address = host.stdout.readline().removeprefix("agents may connect to ").strip()
        with example("embedded_agent.py", address, "--swap-after", "5") as agent:
            lines = [_next(agent.stdout, "MODEL_SWAPPED", film)]
            film.more(5)
            film.close()
            rest, err = agent.communicate(timeout=PATIENCE)
            assert agent.returncode == 0, err
        said, err = host.communicate(timeout=PATIENCE)
        assert host.returncode == 0, err
    first = int(lines[0].split()[-2])
    assert lines[0] == f"MODEL_SWAPPED: vmaf_v0.6.1neg from frame {first} on"
    assert "worst: " in rest
    for text in (said, rest):
        assert f"frames 0 to {first - 1}: vmaf_v0.6.1" in text
        assert f"frames {first} to {film.written - 1}: vmaf_v0.6.1neg" in text


def _next(stream: Iterator[str], word: str, film: Film) -> str:
    """The first line with a word, while frames come one by one."""
    found: list[str] = []

    def look() -> None:
        found.extend(next(((line.strip(),) for line in stream if word in line), ()))

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    while thread.is_alive() and film.written < 5000:
        film.more()
        thread.join(0.02)
    assert found, "the agent did not swap the model"
    return found[0]


def test_the_page_names_everything() -> None:
    section = PAGE.partition("## Tools")[2].partition("\n## ")[0]
    assert {*re.findall(r"^\| `([a-z_.]+)` \|", section, re.M)} == TOOLS
    for name in (*RATES, *(setting.name for setting in dataclasses.fields(EmbeddedConfig))):
        assert f"`{name}`" in PAGE
    for name in vars(EmbeddedServer):
        assert not name.startswith("start_") or f"`{name}(" in PAGE
    for file in re.findall(r"(?:examples|bench)/\w+\.py", PAGE):
        assert (ROOT / file).is_file()
