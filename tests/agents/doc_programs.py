"""Stand-ins for the programs in docs/mcp.md, which print how they were called."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from prepared_programs import starter

_RECORD = """\
#!{python}
import json, os, sys
with open(os.environ["CALLED"], "a") as file:
    file.write(json.dumps([os.path.basename(sys.argv[0]), *sys.argv[1:]]) + "\\n")
"""
_SERVE = """\
#!/bin/sh
exec {server} -m acuity.cli.serve "$@"
"""
STAND_INS = ("claude", "docker", "pip")


@dataclass(frozen=True)
class Started:
    """A server as a client would have it: a command with arguments and environment, or an address."""

    command: list[str] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)
    url: str | None = None
    headers: dict[str, str] = field(default_factory=dict)


class Programs:
    """A folder with `vmaf-mcp` and the stand-ins, to be put first in PATH."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "bin"
        self.folder.mkdir()
        self._called = folder / "called"
        for name, text in {"vmaf-mcp": _SERVE, **dict.fromkeys(STAND_INS, _RECORD)}.items():
            script = self.folder / name
            script.write_text(text.format(python=shlex.quote(sys.executable), server=shlex.join(starter())))
            script.chmod(0o755)

    def environment(self, **more: str) -> dict[str, str]:
        path = os.pathsep.join([str(self.folder), os.environ.get("PATH", os.defpath)])
        return {**os.environ, "PATH": path, "CALLED": str(self._called), **more}

    def run(self, text: str, **environment: str) -> tuple[list[list[str]], str]:
        """Have a shell run the text: the calls of stand-ins, and what was printed. Nothing may go wrong."""
        self._called.write_text("")
        done = subprocess.run(
            ["sh", "-euc", text],
            env=self.environment(**environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in self._called.read_text().splitlines()], done.stdout


def from_configuration(server: dict[str, Any], workspace: str) -> Started:
    """What a client makes of an entry of its configuration file."""
    if "url" in server:
        return Started(url=server["url"], headers=server.get("headers", {}))
    arguments = [argument.replace("${workspaceFolder}", workspace) for argument in server["args"]]
    command = [server["command"], *arguments]
    if server["command"] == "docker":
        return from_docker(command)
    return Started(command, server.get("env", {}))


def from_claude(words: list[str]) -> Started:
    """What `claude mcp add` notes down."""
    rest = words[words.index("--") + 1 :] if "--" in words else []
    parser = argparse.ArgumentParser(exit_on_error=False)
    parser.add_argument("program", choices=["claude"])
    parser.add_argument("mcp", choices=["mcp"])
    parser.add_argument("add", choices=["add"])
    parser.add_argument("--env", action="append", default=[])
    parser.add_argument("--transport", choices=["http", "sse", "stdio"], default="stdio")
    parser.add_argument("--header", action="append", default=[])
    parser.add_argument("name", choices=["acuity"])
    parser.add_argument("url", nargs="?")
    found = parser.parse_args(words[: len(words) - len(rest) - bool(rest)])
    assert (found.url is None) == (found.transport == "stdio") == bool(rest)
    environment = dict(entry.split("=", 1) for entry in found.env)
    headers = dict(entry.split(": ", 1) for entry in found.header)
    return Started(rest, environment, found.url, headers)


def from_docker(words: list[str]) -> Started:
    """What `docker run` starts: the image's own command unless another follows its name."""
    parser = argparse.ArgumentParser(exit_on_error=False)
    parser.add_argument("program", choices=["docker"])
    parser.add_argument("run", choices=["run"])
    for switch in ("--rm", "--init", "-i", "-d"):
        parser.add_argument(switch, action="store_true")
    for option in ("-v", "-p", "-e"):
        parser.add_argument(option, action="append", default=[])
    parser.add_argument("image", choices=["acuity"])
    image = words.index("acuity")
    found = parser.parse_args(words[: image + 1])
    assert found.i != found.d  # one that speaks over stdin and stdout stays in the foreground
    mounted = [volume.split(":")[1] for volume in found.v]
    assert mounted[0] == "/data"
    return Started(["vmaf-mcp", *(words[image + 1 :] or ["--stdio"])], dict.fromkeys(found.e, ""))
