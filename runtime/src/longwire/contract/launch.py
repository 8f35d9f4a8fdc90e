"""How a worker is started: its command with the socket's path, and the variables that it finds."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from typing import Final

from longwire.errors import SettingsError

SOCKET_VARIABLE: Final = "LONGWIRE_WORKER_SOCKET"
LABEL_VARIABLE: Final = "LONGWIRE_WORKER_LABEL"
PARENT_VARIABLE: Final = "LONGWIRE_PARENT_PID"
_PLACEHOLDER: Final = "{socket}"


def command_words(command: str) -> list[str]:
    """The words of a command line; raises SettingsError."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise SettingsError(f"the worker's command '{command}' can't be read: {error}") from None
    if not words:
        raise SettingsError("the worker's command is empty: name a program")
    return words


def command_with_socket(command: Sequence[str], socket: str) -> list[str]:
    """The command with the path in the place of {socket}, or after --socket at the end."""
    if any(_PLACEHOLDER in word for word in command):
        return [word.replace(_PLACEHOLDER, socket) for word in command]
    return [*command, "--socket", socket]


def worker_environment(label: str, socket: str) -> dict[str, str]:
    """The variables of a worker that this process starts, besides its own."""
    return {SOCKET_VARIABLE: socket, LABEL_VARIABLE: label, PARENT_VARIABLE: str(os.getpid())}
