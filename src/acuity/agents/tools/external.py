"""Finds the `vmaf` binary that VMAF_BIN names, and reads its options and backends.

They are read from its `--help` once for each resolved path: a binary that is replaced while the server runs
is read again after a restart. The option `--no_<backend>` means that it has that backend, unless it can list
its backends itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from acuity.devices import BACKENDS
from acuity.errors import GEOMETRY, BackendError
from acuity.foreign_json import parse_json
from acuity.scoring.fronts import RAW, as_whole
from acuity.scoring.presets import PRESETS
from acuity.scoring.request import DIFFERENT, FRAMES, PICTURES, SETTINGS

_TIMEOUT: Final = 20.0  # seconds for the answer to --help
_MOST_ANSWER: Final = 1 << 20  # bytes
_OPTION: Final = re.compile(r"(?<![\w-])--([A-Za-z][\w-]*)")
_VERSION: Final = re.compile(r"v?(\d+\.\d+[\w.+-]*)")
_LISTS_BACKENDS: Final = ("list_backends", "list-backends")


@dataclass(frozen=True, slots=True)
class External:
    path: Path  # resolved
    options: frozenset[str]  # long ones, without the dashes
    backends: tuple[str, ...]  # that it was built with; always has 'cpu'


_seen: Final[dict[Path, External]] = {}


def locate(named: str) -> Path:
    """The resolved path of the binary that VMAF_BIN names; raises BackendError if there is none."""
    found = shutil.which(os.path.expanduser(named))
    if found is None:
        where = os.path.abspath(named) if os.path.dirname(named) else named
        raise BackendError(
            f"vmaf binary not found at {where}. Set VMAF_BIN to an executable vmaf, "
            "or unset it: Acuity scores with its own engine then."
        )
    return Path(found).resolve()


async def examine(named: str) -> External:
    """The binary's path, options and backends; raises BackendError if it can't be run."""
    path = locate(named)
    if (known := _seen.get(path)) is not None:
        return known
    options = frozenset(_OPTION.findall(await _ask(path, "--help")))
    if not options:
        raise BackendError(f"{path} lists no options when asked for --help: set VMAF_BIN to a vmaf binary")
    found = External(path, options, await _backends(path, options))
    _seen[path] = found
    return found


async def version(path: Path) -> str | None:
    """The binary's `--version`; None if its answer contains no version."""
    with contextlib.suppress(BackendError):
        if (found := _VERSION.search(await _ask(path, "--version"))) is not None:
            return found[1]
    return None


async def _backends(path: Path, options: frozenset[str]) -> tuple[str, ...]:
    lister = next((name for name in _LISTS_BACKENDS if name in options), None)
    if lister is not None:
        listed = _compiled(await _ask(path, f"--{lister}"))
        if listed is not None:
            return ("cpu", *listed)
    return ("cpu", *(name for name in BACKENDS[1:] if f"no_{name}" in options))


def _compiled(answer: str) -> list[str] | None:
    """The backends other than the CPU in a JSON list; None if the answer is no such list."""
    try:
        listed = parse_json(answer)["backends"]
        compiled = {entry["name"] for entry in listed if entry["compiled"]}
    except (ValueError, LookupError, TypeError):
        return None
    return [name for name in BACKENDS[1:] if name in compiled]


async def _ask(path: Path, question: str) -> str:
    """The binary's output on both streams, because libvmaf prints its help on stderr, after a complaint."""
    try:
        child = await asyncio.create_subprocess_exec(
            path,
            question,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        reason = error.strerror or str(error)
        raise BackendError(
            f"the vmaf binary {path} can't be run: {reason}; set VMAF_BIN to another"
        ) from error
    assert child.stdout is not None
    try:
        async with asyncio.timeout(_TIMEOUT):
            answer = await _read(child.stdout)
            await child.wait()
    except TimeoutError:
        raise BackendError(
            f"the vmaf binary {path} did not answer {question} in {_TIMEOUT:.0f} s: set VMAF_BIN to another"
        ) from None
    finally:
        if child.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            await asyncio.shield(child.wait())
    return answer.decode("utf-8", "replace")


async def _read(stream: asyncio.StreamReader) -> bytes:
    answer = bytearray()
    while len(answer) < _MOST_ANSWER and (chunk := await stream.read(1 << 16)):
        answer += chunk
    return bytes(answer)


# Settings about pairing, which are left out if Acuity decodes and pairs the videos.
_PAIRING: Final = [
    name
    for name in RAW.settings
    # Subsampling leaves out pairs, not pictures.
    if SETTINGS[name].group in (FRAMES, PICTURES, DIFFERENT) and name != "subsample"
]
# Settings that the task writes itself, or that have their own place below.
_ELSEWHERE: Final = (*_PAIRING, *GEOMETRY, "models", "features", "backend")
_SCORING: Final = [name for name in RAW.settings if name not in _ELSEWHERE]


def option_list(
    binary: External, arguments: Mapping[str, Any], defaults: Mapping[str, Any], *, decoded: bool
) -> list[str]:
    """The binary's options for these arguments; raises BackendError if it lacks one that is needed.

    An argument at its default needs no option. With `decoded`, the binary gets raw samples of frames that are
    already paired.
    """
    options: list[str] = []
    settings = [*_SCORING, *([] if decoded else _PAIRING)]
    # libvmaf and its forks take arguments as options of the same names.
    for name in ("precision", *map(RAW.name, settings)):
        value = as_whole(arguments.get(name))
        chosen = value is not None and value != defaults.get(name)
        # Always pass the precision, so that a binary with another default gives the same digits.
        if name in binary.options and (chosen or (name == "precision" and value is not None)):
            options += [f"--{name}", *([] if value is True else [str(value)])]
        elif chosen:
            raise _lacks(binary, name)
    for preset in PRESETS:  # the task writes these itself
        if arguments.get(preset) is not None and preset not in binary.options:
            raise _lacks(binary, preset)
    return [*options, *backend_options(binary, arguments["backend"])]


def _lacks(binary: External, name: str) -> BackendError:
    return BackendError(
        f"the vmaf binary {binary.path} has no --{name}: leave out {name},"
        " or unset VMAF_BIN to score with Acuity's own engine"
    )


def backend_options(binary: External, backend: str) -> list[str]:
    """Options that choose this backend by name if the binary can, and switch the others off.

    Older binaries can only switch backends off, which leaves the CPU as an alternative.
    """
    if backend == "auto":
        return []
    chosen = ["--backend", backend] if "backend" in binary.options else []
    return chosen + [
        f"--no_{name}" for name in BACKENDS[1:] if name != backend and f"no_{name}" in binary.options
    ]
