"""Exit codes, and the one place where an exception becomes a sentence on stderr."""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Callable
from typing import Final

from acuity.cli.getopt import UsageError
from acuity.errors import AcuityError, BackendError, NoFramesError

OK: Final = 0
FAILED: Final = 1
BACKEND: Final = 100
NO_FRAMES: Final = 101
INTERRUPTED: Final = 130  # 128 + SIGINT, as shells say it
PIPE_CLOSED: Final = 141  # 128 + SIGPIPE

_REMEDY: Final = re.compile(r"\b(scale|convert|rate|vfr|hdr)=([a-z]+(?:-[a-z]+)*)")

# Asked in this order; what is not listed is FAILED.
_CODES: Final[tuple[tuple[type[Exception], int], ...]] = (
    (BackendError, BACKEND),
    (NoFramesError, NO_FRAMES),
)


def guarded(program: str, command: Callable[[], int]) -> int:
    """Run a command; say what went wrong in one line, without a traceback."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # as stderr: names of files may hold any bytes
    try:
        code = _finished(command)
        sys.stdout.flush()
        return code
    except UsageError as error:
        _say(f"{program}: {error}\nTry '{error.program or program} --help'.")
        return FAILED
    except BrokenPipeError:
        _silence(sys.stdout)
        return PIPE_CLOSED
    except AcuityError as error:
        if isinstance(error.__cause__, BrokenPipeError):
            _silence(sys.stdout)
            return PIPE_CLOSED
        _say(f"{program}: {as_options(str(error))}")
        return next((code for kind, code in _CODES if isinstance(error, kind)), FAILED)
    except OSError as error:
        _silence(sys.stdout)
        _say(f"{program}: {describe(error)}")
        return FAILED
    except MemoryError:
        _say(f"{program}: not enough memory: use fewer threads or smaller pictures")
        return FAILED
    except KeyboardInterrupt:
        _say(f"{program}: interrupted")
        return INTERRUPTED


def _finished(command: Callable[[], int]) -> int:
    try:
        return command()
    except SystemExit as end:  # argparse ends so after --help
        return end.code if isinstance(end.code, int) else OK


def as_options(text: str) -> str:
    """Remedies in the words of a command line: `pass scale=force` becomes `pass --scale force`."""
    return _REMEDY.sub(r"--\1 \2", text)


def describe(error: OSError) -> str:
    """`FILE: reason` instead of Python's `[Errno 2] reason: 'FILE'`."""
    reason = error.strerror or str(error)
    return f"{error.filename}: {reason}" if error.filename else reason


def _say(text: str) -> None:
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:
        _silence(sys.stderr)


def _silence(stream: object) -> None:
    """Point a stream that nobody can read any more at nothing, or Python complains at exit."""
    try:
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, stream.fileno())  # type: ignore[attr-defined]
        os.close(nothing)
    except (OSError, ValueError):
        pass
