"""Exit codes, and the one place where an exception becomes a sentence on stderr."""

from __future__ import annotations

import atexit
import errno
import gc
import io
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from types import FrameType
from typing import Any, Final, Protocol

from acuity.cli.getopt import UsageError
from acuity.errors import (
    AcuityError,
    BackendError,
    EmbeddedError,
    MissingExtra,
    NameClashError,
    NoFilterError,
    NoFramesError,
    OutputError,
    SettingsError,
    UnfitOptionError,
    UnfitPictureError,
)
from acuity.text import one_line

OK: Final = 0
FAILED: Final = 1
STRICT: Final = 3  # scored, with warnings
BACKEND: Final = 100
NO_FRAMES: Final = 101
INTERRUPTED: Final = 130  # 128 + SIGINT, as shells say it
TERMINATED: Final = 143  # 128 + SIGTERM
PIPE_CLOSED: Final = 141  # 128 + SIGPIPE

_ENDING: Final = (signal.SIGINT, signal.SIGTERM)
# Seconds in which another signal is the same one: `timeout` sends it to the process and to its group.
REPEAT: Final = 0.5
_MAX_ALLOCATIONS: Final = 20_000  # between two runs of the garbage collector; Python has 700

# The code of each kind of error; the first match counts, and all others are FAILED.
Kind = type[BaseException] | tuple[type[BaseException], ...]
Codes = tuple[tuple[Kind, int], ...]
CODES: Final[Codes] = ((BackendError, BACKEND), (NoFramesError, NO_FRAMES))
# As libvmaf's `vmaf`: a bad command line is 1, what an extractor can't start with is -EINVAL, filters that it
# lacks are found out later and are 1, other bad input is -1. libvmaf has no codes for backends and
# servers, and exits with 0 if it can't write a report.
LIBVMAF_CODES: Final[Codes] = (
    *CODES,
    ((UnfitPictureError, UnfitOptionError), 234),
    (NoFilterError, FAILED),
    (NameClashError, FAILED),
    (OutputError, FAILED),
    (EmbeddedError, FAILED),
    (MissingExtra, FAILED),
    (AcuityError, 255),
)


class Interruptible(Protocol):
    """A measurement, or a comparison of many, that a signal ends so that its results are kept."""

    def interrupt(self) -> bool:
        """Ask it to end; returns whether it will, with something to keep."""
        ...


def guarded(program: str, command: Callable[[], int], codes: Codes = CODES) -> int:
    """Run a command; print an error in one line, without a traceback."""
    spare_threads()
    _fill_closed_streams()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # as stderr: names of files may hold any bytes
    try:
        code = _finished(command)
        sys.stdout.flush()
        return code
    except UsageError as error:
        _say(f"{program}: {one_line(str(error))}", f"Try '{error.program or program} --help'.")
        return _code(error, codes)
    except BrokenPipeError:
        _silence(sys.stdout)
        return PIPE_CLOSED
    except AcuityError as error:
        if isinstance(error.__cause__, BrokenPipeError):
            _silence(sys.stdout)
            return PIPE_CLOSED
        from acuity.scoring.fronts import sentence

        others = error.problems[1:] if isinstance(error, SettingsError) else ()
        _say(*(f"{program}: {one_line(said)}" for said in (sentence(error, program), *others)))
        return _code(error, codes)
    except OSError as error:
        _silence(sys.stdout)
        _say(f"{program}: {one_line(describe(error))}")
        return _code(error, codes)
    except MemoryError as error:
        _say(f"{program}: not enough memory: use fewer threads or smaller pictures")
        return _code(error, codes)
    except KeyboardInterrupt as end:
        interrupted(program)
        return TERMINATED if isinstance(end, Terminated) else INTERRUPTED


@contextmanager
def told() -> Iterator[None]:
    """Raise errors of the runtime as those of Acuity, which have exit codes and help pages."""
    from longwire import errors as runtime

    try:
        yield
    except runtime.SettingsError as error:
        raise SettingsError(*(error.problems or (str(error),))) from None
    except runtime.LongwireError as error:
        ours = {
            runtime.UsageError: UsageError,
            runtime.DescriptorError: EmbeddedError,
            runtime.MissingExtra: MissingExtra,
        }
        kind = next((ours[known] for known in ours if isinstance(error, known)), AcuityError)
        raise kind(str(error)) from None


def interrupted(program: str) -> int:
    """Say that a command was interrupted; its exit code."""
    _say(f"{program}: interrupted")
    return INTERRUPTED


@contextmanager
def interruptible() -> Iterator[Callable[[Interruptible], None]]:
    """Make the first SIGINT or SIGTERM end a measurement at a frame boundary, so that its frames are kept.

    Yields the function that names the measurement, or what goes on after it. A later signal ends the command
    at once, and so does the first one if no frame was computed yet. The block ends with SystemExit if a
    signal came.
    """
    running: list[Interruptible] = []
    code, since = OK, 0.0
    handlers = ExitStack()

    def end(number: int, _: FrameType | None) -> None:
        nonlocal code, since
        if code and time.monotonic() - since < REPEAT:
            return
        if not code and running and running[-1].interrupt():
            code, since = 128 + number, time.monotonic()
        else:
            handlers.close()
            signal.raise_signal(number)

    with handlers:
        handlers.enter_context(handled(_ENDING, end))
        yield running.append
    if code:
        raise SystemExit(code)


class Terminated(KeyboardInterrupt):
    """SIGTERM, where it ends a block as Ctrl-C does."""


def terminable() -> AbstractContextManager[None]:
    """Make SIGTERM end the block as Ctrl-C does, so that no file is left."""

    def end(number: int, frame: FrameType | None) -> None:
        raise Terminated

    return handled((signal.SIGTERM,), end)


@contextmanager
def handled(
    signals: Iterable[signal.Signals], handler: Callable[[int, FrameType | None], Any]
) -> Iterator[None]:
    """Have the signals handled so in the block, but for those that are ignored, as in background jobs."""
    before: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():
        for number in signals:
            if signal.getsignal(number) is not signal.SIG_IGN:
                before[number] = signal.signal(number, handler)
    try:
        yield
    finally:
        for changed, usual in before.items():
            signal.signal(changed, usual)


def spare_threads() -> None:
    """Keep numpy from starting threads; called before it is imported."""
    # Its linear algebra, which is not used here, would start a spinning one for every core.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def spare_collector() -> None:
    """Make the garbage collector run rarely, and not over all modules at exit.

    With Python's own settings it takes a fifth of the time of scoring one frame, and finds nothing. This
    changes the whole interpreter: it is for the commands, not for programs that call main().
    """
    gc.set_threshold(_MAX_ALLOCATIONS)
    atexit.register(gc.freeze)


def _code(error: BaseException, codes: Codes) -> int:
    return next((code for kind, code in codes if isinstance(error, kind)), FAILED)


def _finished(command: Callable[[], int]) -> int:
    try:
        return command()
    except SystemExit as end:  # argparse ends so after --help
        return end.code if isinstance(end.code, int) else OK


def describe(error: OSError) -> str:
    """`FILE: reason` instead of Python's `[Errno 2] reason: 'FILE'`."""
    reason = error.strerror or str(error)
    if error.errno == errno.EMFILE:
        most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        return f"this process may have {most:,} files open, and needs more: raise the limit, 'ulimit -n'"
    # Errors of opened files have a name; without a name it is an error of printing.
    return f"{error.filename}: {reason}" if error.filename else f"the output could not be written: {reason}"


def _say(*lines: str) -> None:
    try:
        print("\n".join(lines), file=sys.stderr, flush=True)
    except OSError:
        _silence(sys.stderr)


def _fill_closed_streams() -> None:
    """Open descriptors that were closed at the start, or the next opened file would get what is printed."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            # Takes the lowest free number, so this one. Writing to a closed output then fails, because a
            # report that can't be delivered is no success. A closed stdin is empty.
            os.open(os.devnull, os.O_RDONLY if name == "stdout" else os.O_RDWR)
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, "r" if number == 0 else "w", closefd=False))


def _silence(stream: object) -> None:
    """Point a stream whose reader is gone to /dev/null, or Python complains at exit."""
    try:
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, stream.fileno())  # type: ignore[attr-defined]
        os.close(nothing)
    except (OSError, ValueError):
        pass
