"""How a worker is started: its command with the socket's path, and the variables that it finds."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Final

SOCKET_VARIABLE: Final = "ACUITY_WORKER_SOCKET"
LABEL_VARIABLE: Final = "ACUITY_WORKER_LABEL"
PARENT_VARIABLE: Final = "ACUITY_PARENT_PID"
_PLACE: Final = "{socket}"


def worker_command(command: str, socket: Path) -> list[str]:
    """The words of a command, with the path in the place of {socket}, or after --socket at the end.

    Raises ValueError for a command that is empty or has a quote without its pair.
    """
    words = shlex.split(command)
    if not words:
        raise ValueError("the worker's command is empty: name a program")
    if any(_PLACE in word for word in words):
        return [word.replace(_PLACE, str(socket)) for word in words]
    return [*words, "--socket", str(socket)]


def worker_environment(socket: Path, label: str) -> dict[str, str]:
    """The variables of a worker that this process starts, besides its own."""
    return {
        SOCKET_VARIABLE: str(socket),
        LABEL_VARIABLE: label,
        PARENT_VARIABLE: str(os.getpid()),
    }
