"""The example workers as processes: their commands, and starting them on a socket."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import anyio
import pytest

from prepared_programs import starter
from waiting import until

ROOT: Final = Path(__file__).parents[2]
WORKERS: Final = ROOT / "examples" / "workers"
# Node runs TypeScript as it is from this version on; with an older one, this package does.
_NODE: Final = (22, 18)
_TSX: Final = "tsx@4.23.15"
_TOOLS: Final = ROOT / "build" / "typescript"

PATIENCE: Final = 20.0  # seconds


def php() -> list[str]:
    """The command of the PHP worker; skips the test if there is no PHP."""
    if shutil.which("php") is None:
        pytest.skip("php is not installed here")
    return ["php", str(WORKERS / "php" / "worker.php")]


def typescript() -> list[str]:
    """The command of the TypeScript worker; skips the test if nothing here runs TypeScript."""
    if shutil.which("node") is None:
        pytest.skip("node is not installed here")
    worker = str(WORKERS / "typescript" / "worker.ts")
    told = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout
    version = tuple(int(part) for part in re.findall(r"\d+", told)[:2])
    return ["node", worker] if version >= _NODE else ["node", "--import", _tsx(), worker]


def _tsx() -> str:
    """The address of the package for an older Node; fetched once, into the build folder."""
    loader = _TOOLS / "node_modules" / "tsx" / "dist" / "loader.mjs"
    if not loader.is_file():
        if shutil.which("npm") is None:
            pytest.skip("npm is not installed here, and this Node runs no TypeScript without a package")
        quiet = ["--no-save", "--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error"]
        npm = ["npm", "install", "--prefix", str(_TOOLS), *quiet, _TSX]
        _TOOLS.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(npm, capture_output=True, text=True, timeout=120)
        if done.returncode:
            pytest.skip(f"npm could not fetch {_TSX}: {done.stderr.strip()[-300:]}")
    return loader.as_uri()


def python() -> list[str]:
    """The command of the Python worker, whose contract's side has tests of its own."""
    return [*starter(), str(WORKERS / "python" / "worker.py")]


COMMANDS: Final = {"php": php, "typescript": typescript}
SERVED: Final = {**COMMANDS, "python": python}


@contextmanager
def started(
    command: list[str], *, log: list[str] | None = None, **environment: str
) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """A worker that somebody else runs, and the path of its socket; `log` is given what it says."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s"
        process = subprocess.Popen(
            [*command, "--socket", str(path)], stderr=subprocess.PIPE, text=True, env=os.environ | environment
        )
        try:
            yield process, path
        finally:
            process.kill()
            process.wait()
            assert process.stderr is not None
            said = process.stderr.read()
            process.stderr.close()
            if log is None:
                assert not re.search(r"(?m)^(PHP )?(Warning|Notice|Deprecated|Fatal error)|Error:", said), (
                    said
                )
            else:
                log.append(said)


async def listening(path: Path) -> None:
    """Until a worker accepts connections."""

    async def accepts() -> bool:
        with suppress(OSError):
            await (await anyio.connect_unix(path)).aclose()
            return True
        return False

    await until(accepts)
