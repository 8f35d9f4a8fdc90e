"""How the commands begin and end.

Where a card may compute, starting it takes as long as importing a command, so both are done at once. The
version is printed before anything else is loaded. At the end a process doesn't wait until Python, and CUDA,
have freed their memory piece by piece: the system does that at once.
"""

from __future__ import annotations

import atexit
import os
import sys

from acuity.cli import version_text

TYPE_CHECKING = False  # typing's own would load typing
if TYPE_CHECKING:
    import threading
    from collections.abc import Sequence
    from typing import Final

# The commands of `acuity` that compute on a card, as a rule.
_COMPUTING: Final = frozenset({"score", "compare"})
_TAKES_CARDS: Final = ("auto", "cuda")
# Options that end or change the use of cards, without their dashes and with dashes between words. They may be
# abbreviated; another option that begins like one of them only makes the start slower.
_SWITCHES: Final = ("no-cuda", "help", "version", "list-backends")
_VALUES: Final = ("backend", "device", "gpumask")
_LEAST: Final = 3  # letters of an abbreviation
_DIGITS: Final = 9  # of a card's number


def vmaf() -> int:
    return _program("vmaf", "acuity.cli.vmaf", sys.argv[1:])


def acuity() -> int:
    command, *options = sys.argv[1:] or [""]
    return _program("acuity", "acuity.cli.main", options if command in _COMPUTING else None)


def vmaf_tune() -> int:
    return _program("vmaf-tune", "acuity.cli.tune", None)


def _program(program: str, module: str, computing: Sequence[str] | None) -> int:
    """Run a program; `computing` are the options of a command that computes. Returns its exit code.

    It may be interrupted before it has been imported, too.
    """
    if sys.argv[1:] == ["--version"] and _print_version(program):
        return leave(0)
    try:
        if computing is not None:
            begin_early(computing)
        from importlib import import_module

        code: int = import_module(module).main()
    except KeyboardInterrupt:
        from acuity.cli.exits import interrupted

        code = interrupted(program)
    return leave(code)


def _print_version(program: str) -> bool:
    """Print the version; False if that can't be done, which the command itself then says."""
    stream = sys.stderr if program == "vmaf" else sys.stdout
    if stream is None:
        return False
    try:
        print(version_text(program), file=stream, flush=True)
    except (OSError, ValueError):
        return False
    return True


class CardChoice:
    """The card that a command line asks for; None: any."""

    def __init__(self, number: int | None = None) -> None:
        self.number = number

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CardChoice) and other.number == self.number


def begin_early(words: Sequence[str]) -> threading.Thread | None:
    """Begin to start the card that these options choose, if they choose one and there may be one."""
    if (card := wanted_card(words)) is None:
        return None
    from acuity.devices.signs import has_traces

    if not has_traces():
        return None
    from acuity.cli.exits import spare_threads
    from acuity.devices.cuda.hardware.early_start import begin

    spare_threads()
    return begin(card.number)


def wanted_card(words: Sequence[str]) -> CardChoice | None:
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
    return CardChoice(int(number) if number else None)


def leave(code: int) -> int:
    """Note how a command ended, and return its exit code: the process ends at once.

    That is after everything is written, threads that others wait for have ended, and exit handlers have run.
    """
    _ENDED.append(code)
    return code


_ENDED: Final[list[int]] = []  # the exit code of a command


def _end_at_once() -> None:
    if not _ENDED:
        return
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):  # as at any other end; what was lost was told already
            pass
    os._exit(_ENDED[-1] & 0xFF)


atexit.register(_end_at_once)  # before any other handler is, so it is the last that is called
