"""How the commands begin and end where a card may compute.

Starting a card takes as long as importing a command, so both are done at once. At the end, a process that
has used a card ends without waiting until CUDA has freed its memory piece by piece: the system does that at
once.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

# The commands of `acuity` that compute on a card, as a rule.
_COMPUTING: Final = frozenset({"score", "compare"})
_TAKES_CARDS: Final = ("auto", "cuda")
# Options that end or change the use of cards, without their dashes and with dashes between words. They may be
# abbreviated, and who uses other ones with these beginnings only starts more slowly.
_SWITCHES: Final = ("no-cuda", "help", "version", "list-backends")
_VALUES: Final = ("backend", "device", "gpumask")
_LEAST: Final = 3  # letters of an abbreviation
_DIGITS: Final = 9  # of a card's number


def vmaf() -> int:
    """The `vmaf` program."""
    return _ended("vmaf", _vmaf)


def acuity() -> int:
    """The `acuity` program."""
    return _ended("acuity", _acuity)


def vmaf_tune() -> int:
    """The `vmaf-tune` program."""
    return _ended("vmaf-tune", _vmaf_tune)


def _vmaf() -> int:
    begin_early(sys.argv[1:])
    from acuity.cli.vmaf import main

    return main()


def _acuity() -> int:
    if sys.argv[1:2] and sys.argv[1] in _COMPUTING:
        begin_early(sys.argv[2:])
    from acuity.cli.main import main

    return main()


def _vmaf_tune() -> int:
    from acuity.cli.tune import main

    return main()


def _ended(program: str, command: Callable[[], int]) -> int:
    """The exit code of a command, also where it is interrupted before it has been imported."""
    try:
        code = command()
    except KeyboardInterrupt:
        from acuity.cli.exits import interrupted

        code = interrupted(program)
    return leave(code)


class Card(NamedTuple):
    """The card that a command line asks for; None: any."""

    number: int | None = None


def begin_early(words: Sequence[str]) -> threading.Thread | None:
    """Begin to start the card that these options choose, if they choose one and there may be one."""
    if (card := wanted_card(words)) is None:
        return None
    from acuity.cli.exits import spare_threads
    from acuity.devices.cuda.hardware.early_start import begin

    spare_threads()
    return begin(card.number)


def wanted_card(words: Sequence[str]) -> Card | None:
    """The card that a command line asks for; None if it asks for another backend, or isn't understood."""
    given: dict[str, str] = {}
    rest = iter(words)
    for word in rest:
        name, equals, value = word[2:].replace("_", "-").partition("=")
        if word == "--":
            break
        if not word.startswith("--") or len(name) < _LEAST:
            continue
        if any(switch.startswith(name) for switch in _SWITCHES):
            return None
        if (option := next((option for option in _VALUES if option.startswith(name)), None)) is not None:
            given[option] = value if equals else next(rest, "")
    name, colon, number = given.get("backend", "auto").partition(":")
    number = number if colon else given.get("device", "")
    if name not in _TAKES_CARDS or given.get("gpumask", "0") != "0":
        return None
    if (colon or "device" in given) and not (
        number.isascii() and number.isdigit() and len(number) <= _DIGITS
    ):
        return None
    return Card(int(number) if number else None)


def leave(code: int) -> int:
    """Note how a command ended, and return its exit code: if it has started a card, the process ends at once.

    That is after everything is written, threads that others wait for have ended, and exit handlers have run.
    """
    if _has_started_a_card():
        _ENDED.append(code)
    return code


_ENDED: Final[list[int]] = []  # the exit code of a command that has started a card


def _end_at_once() -> None:
    if not _ENDED:
        return
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # as at any other end; what was lost was told already
            stream.flush()
    os._exit(_ENDED[-1] & 0xFF)


atexit.register(_end_at_once)  # before any other handler is, so it is the last that is called


def _has_started_a_card() -> bool:
    early = any(thread.name.startswith("acuity-early-start") for thread in threading.enumerate())
    return early or "cupy_backends.cuda.api.runtime" in sys.modules
