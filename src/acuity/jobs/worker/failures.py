"""Errors for jobs whose worker process failed, each with one sentence for the caller."""

from __future__ import annotations

import signal
from typing import Final

from acuity.errors import WorkerLost
from acuity.text import one_line

_LONGEST_LINE: Final = 300
_FAULT: Final = "Fatal Python error"  # from here on a tail is a dump for developers, not a reason

# What a signal means to the caller, and the remedy. All other signals are crashes.
_MEANINGS: Final = {
    signal.SIGKILL: (
        "was killed (SIGKILL), as systems do when memory runs out",
        "make room, or let fewer jobs run at once with VMAF_MCP_MAX_CONCURRENT, and try again",
    ),
    signal.SIGXCPU: ("used more processor time than its limit (SIGXCPU)", "raise the limit or ask for less"),
}
_CRASH_REMEDY: Final = "others are not affected; check that the input is sound, then try again"


def lost(title: str, code: int | None, tail: str) -> WorkerLost:
    """The error for a worker that ended during a job. `code` is its exit status as in subprocess."""
    how, remedy = _meaning(code)
    said = _reason(tail)
    return WorkerLost(f"'{title}' is lost: its worker process {how}{said}; {remedy}")


def not_started(title: str, tail: str) -> WorkerLost:
    return WorkerLost(
        f"'{title}' could not begin: no worker process starts{_reason(tail)}; the server's log says more"
    )


def protocol_violation(title: str, what: str) -> WorkerLost:
    return WorkerLost(f"'{title}' is lost: its worker process sent {what} and was ended; {_CRASH_REMEDY}")


def out_of_memory(title: str, limit: int) -> WorkerLost:
    return WorkerLost(
        f"'{title}' needs more memory than the {limit >> 20} MB a worker may have: use smaller pictures or "
        "fewer threads, or let fewer jobs run at once (--workers) or all have more (--memory)"
    )


def _meaning(code: int | None) -> tuple[str, str]:
    if code is None:
        return "does not answer", _CRASH_REMEDY
    if code >= 0:
        return f"ended by itself (exit status {code})", _CRASH_REMEDY
    try:
        number = signal.Signals(-code)
    except ValueError:
        return f"was ended by signal {-code}", _CRASH_REMEDY
    return _MEANINGS.get(number, (f"crashed ({number.name})", _CRASH_REMEDY))


def _reason(tail: str) -> str:
    """The last line that the worker printed before a crash dump, if any."""
    lines = [line.strip() for line in tail.split(_FAULT, 1)[0].splitlines()]
    words = next((line for line in reversed(lines) if line), "")
    return f", saying '{one_line(words[:_LONGEST_LINE])[:_LONGEST_LINE]}'" if words else ""
