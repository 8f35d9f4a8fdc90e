"""Every snippet of docs/embedded.md is run as it is written, but for the port, which is one that is free.

A block that starts a server is run by itself, and again beside each block behind it in its section; where a
section starts none, blocks that speak to a server get the page's first.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TypeAlias

import pytest

from devtools import Chromium
from embedded_client import PATIENCE, ending_in_time
from prepared_programs import starter
from scoring_clips import container, y4m

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "embedded.md"
PORT = "8723"
Said: TypeAlias = int | IO[str]  # where a process writes
FRAMES = 60
LONGEST = 3 * PATIENCE
_FENCED = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
_INDENTED = re.compile(r"(?:^    .*\n)+", re.M)


# What a fragment takes for granted.
FRAGMENT = """\
import acuity
from moving_pictures import pair
measurement = acuity.Measurement()
measurement.add_model("vmaf_v0.6.1")
pictures = map(pair, range(3))
"""


@dataclass(frozen=True)
class Block:
    """A snippet."""

    section: str
    kind: str  # shell, python or js
    text: str

    @property
    def serves(self) -> bool:
        return self.kind == "shell" and bool(
            re.search(r"--enable-mcp-(sse|uds|http)|embedded_host", self.text)
        )

    @property
    def asks(self) -> bool:
        """Whether there has to be a server."""
        return not self.serves and (PORT in self.text or "vmaf.sock" in self.text)

    @property
    def runnable(self) -> str:
        if self.kind != "python" or "import" in self.text:
            return self.text
        return f"{FRAGMENT}{self.text}print(measurement.pool())\n"

    @property
    def endless(self) -> bool:
        return "curl -N" in self.text


def blocks(page: str) -> list[Block]:
    found = []
    for section in re.split(r"^## ", page, flags=re.M)[1:]:
        title = section.partition("\n")[0]
        places = [(m.start(), Block(title, m[1], m[2])) for m in _FENCED.finditer(section)]
        places += [
            (m.start(), Block(title, "shell", re.sub("^    ", "", m[0], flags=re.M)))
            for m in _INDENTED.finditer(_FENCED.sub(lambda m: "\n" * len(m[0]), section))
        ]
        found += [block for _, block in sorted(places, key=lambda place: place[0])]
    return [block for block in found if "bench/" not in block.text]  # takes minutes


BLOCKS = blocks(PAGE.read_text())
SERVER = next(block for block in BLOCKS if block.serves)


def server_for(block: Block) -> Block | None:
    if not block.asks:
        return None
    before = [other for other in BLOCKS[: BLOCKS.index(block)] if other.section == block.section]
    return next((other for other in reversed(before) if other.serves), SERVER)


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two clips in two formats."""
    made = tmp_path_factory.mktemp("clips")
    for name, worse in (("ref", False), ("dis", True)):
        y4m(made / f"{name}.y4m", FRAMES, worse=worse)
        container(made / f"{name}.mp4", FRAMES, worse=worse, codec="mpeg4")
    return made


@pytest.fixture
def folder(clips: Path, tmp_path: Path) -> Path:
    """Where somebody who reads the page might be: two clips, the examples, and the commands."""
    for clip in clips.iterdir():
        (tmp_path / clip.name).hardlink_to(clip)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, module in {
        "vmaf": "-m acuity.cli.vmaf ",
        "acuity": "-m acuity.cli.main ",
        "python": "",
    }.items():
        (programs / name).write_text(f'#!/bin/sh\nexec {shlex.join(starter())} {module} "$@"\n')
        (programs / name).chmod(0o755)
    return tmp_path


@dataclass(frozen=True)
class Ground:
    folder: Path
    port: str

    @property
    def complaints(self) -> Path:
        """What a block writes to its standard error."""
        return self.folder / "stderr.txt"

    @contextmanager
    def running(self, block: Block, out: Said = subprocess.PIPE) -> Iterator[subprocess.Popen[str]]:
        """The block's process, and everything it starts."""
        line = [*starter(), "-u", "-c"] if block.kind == "python" else ["bash", "-e", "-o", "pipefail", "-c"]
        process = subprocess.Popen(
            [*line, block.runnable.replace(PORT, self.port)],
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=out,
            # A server says there where it is; a client may show its progress, which is no part of an answer.
            stderr=subprocess.STDOUT if block.serves else self.complaints.open("w"),
            text=True,
            start_new_session=True,
            env={
                **os.environ,
                "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
                "PYTHONPATH": os.pathsep.join(sys.path),
                "PYTHONUNBUFFERED": "1",
            },
        )
        with ending_in_time(process, lambda: os.killpg(process.pid, signal.SIGKILL), LONGEST):
            yield process

    @contextmanager
    def serving(self, block: Block | None) -> Iterator[None]:
        """The server that a block starts, once it listens."""
        if block is None:
            yield
            return
        with self.running(block) as process:
            last = "waiting for an agent" if "--mcp-wait" in block.text else "agents may connect"
            seen = lines_until(process, last)
            assert last in seen[-1], "".join(seen)
            drain = threading.Thread(target=process.stdout.read, daemon=True)
            drain.start()
            yield


def lines_until(process: subprocess.Popen[str], word: str) -> list[str]:
    seen = [""]
    for line in process.stdout:
        seen.append(line)
        if word in line:
            break
    return seen


@pytest.fixture
def ground(folder: Path) -> Ground:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    return Ground(folder, str(port))


@pytest.mark.parametrize("block", [b for b in BLOCKS if b.serves], ids=lambda block: block.section)
def test_servers(block: Block, ground: Ground) -> None:
    with ground.serving(block):
        request = urllib.request.Request(f"http://127.0.0.1:{ground.port}/")
        if (token := ground.folder / "token.txt").exists():
            request.add_header("Authorization", f"Bearer {token.read_text().strip()}")
        with urllib.request.urlopen(request, timeout=LONGEST) as answer:
            assert json.load(answer)["status"] == "ok"


@pytest.mark.parametrize(
    "block", [b for b in BLOCKS if not b.serves and b.kind != "js"], ids=lambda block: block.text[:60]
)
def test_snippets(block: Block, ground: Ground) -> None:
    program = next((name for name in ("socat", "curl") if f"{name} " in block.text), None)
    if program and block.kind == "shell" and shutil.which(program) is None:
        pytest.skip(f"{program} is not installed here")
    if block.endless:
        with ground.serving(server_for(block)), ground.running(block) as process:
            seen = lines_until(process, "data:")
            assert seen[-1].startswith("data:"), "".join(seen)
        return
    answers = ground.folder / "stdout.txt"  # a program that a block leaves behind would keep a pipe open
    with ground.serving(server_for(block)), answers.open("w") as file, ground.running(block, file) as process:
        process.wait(LONGEST)
    out = answers.read_text()
    assert process.returncode == 0, out + ground.complaints.read_text()
    assert out.strip()
    for line in re.findall(r"^\{.*\}$", out, re.M):
        message = json.loads(line)
        assert "error" not in message
        assert not message.get("result", {}).get("isError")


@pytest.mark.parametrize("block", [b for b in BLOCKS if b.kind == "js"], ids=lambda block: block.text[:60])
async def test_scripts_of_pages(block: Block, ground: Ground, chromium: Chromium) -> None:
    with ground.serving(server_for(block)):
        async with chromium.page() as page:
            await page.go(f"http://127.0.0.1:{ground.port}/no-page")  # of this machine, as the page says
            await page.value("window.said = []; console.log = (...words) => said.push(words); undefined")
            await page.value(f"{block.text.replace(PORT, ground.port)}; undefined")
            await page.until(f"said.length === {block.text.count('console.log')}")


def test_the_page_has_snippets_of_each_kind() -> None:
    assert {block.kind for block in BLOCKS} == {"shell", "python", "js"}
    assert len(BLOCKS) > 8
