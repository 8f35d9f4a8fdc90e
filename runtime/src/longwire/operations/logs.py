"""Logs on stderr, one record a line: as JSON for machines or as text for people.

stdout belongs to the protocol, so nothing here writes to it. A line is at most as long as a pipe accepts in
one piece, and is dropped if writing it would block: a client that starts the server and never reads its
stderr would otherwise stop the server once the pipe is full.

Lines of successful tool calls are written together a moment later, with the time of their call, or before the
next other line. Writing each line between two calls costs several times as much.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import select
import sys
import weakref
from collections import deque
from collections.abc import Callable, Iterable
from contextvars import Context
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeAlias

from longwire.errors import SettingsError
from longwire.text import one_line
from longwire.wire.http.request import CURRENT_ID

LEVELS: Final = ("debug", "info", "warning", "error")

_LONGEST: Final = 4096  # bytes of a line with its end, which a pipe accepts completely or not at all
_PLAIN: Final = 1000  # characters of a line that needs no shortening
# Characters kept of one value and of a traceback's end; the next pair if the line is still too long.
_SIZES: Final = ((1000, 2400), (100, 1000), (30, 150))

# Other packages log much that an operator doesn't need, such as session ids; only their warnings are shown
# unless the level is DEBUG.
_CHATTY: Final = ("mcp", "asyncio", "httpx2", "opentelemetry")

_HIDDEN: Final = "[hidden]"
_SECRET_NAMES: Final = frozenset(
    {"authorization", "proxy-authorization", "token", "access_token", "cookie", "password", "secret"}
)
_SUSPICIOUS: Final = re.compile(
    r"bearer\s|authorization|token(?:[\\\"']*\s*=|[\\\"']+\s*:|:\s)"
)  # in lower case
# Long, or with a digit: so not the next word of a sentence about tokens.
_SECRET: Final = r"(?:[^\s\"',;&]{16,}|(?=[^\s\"',;&]*[0-9])[^\s\"',;&]+)"
_PATTERNS: Final = (
    re.compile(rf"(?i)\b(bearer\s+){_SECRET}"),
    re.compile(r"(?i)\b(authorization[\"']?\s*[:=]\s*[\"']?)(?!bearer\b)[^\"',;]+"),
    # Not `token:NAME`, which is how a client with a token is called.
    re.compile(rf"(?i)\b(\w*token(?:[\"']?\s*=\s*|[\"']\s*:\s*|:\s+)[\"']?){_SECRET}"),
)
# Session ids are credentials, too. Their beginning tells sessions apart; the label of a node may precede it.
_SESSION_ID: Final = (
    r"((?:session|sse)(?:[-_ ]?id)?[\\\"']*\s*[:=]\s*[\\\"']*(?:[a-z0-9]{1,16}-)?[0-9a-f]{8})[0-9a-f-]+"
)
_SESSION: Final = re.compile(_SESSION_ID, re.IGNORECASE)
_LOWER_SESSION: Final = re.compile(_SESSION_ID)  # a tenth of the time

_ENCODE: Final = json.JSONEncoder(default=str).encode  # json.dumps() would create an encoder for each line

_STANDARD: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


def configure_logging(
    level: str = "info", format: str = "json", *, secrets: Iterable[str] = (), fd: int | None = None
) -> Redactor:
    """Send every logger's records to stderr. Values given as secrets never appear in them.

    Returns the redactor that hides them, which can be given more.
    """
    if level not in LEVELS:
        raise SettingsError(f"'{level}' is no log level: use {', '.join(LEVELS)}")
    if format not in FORMATS:
        raise SettingsError(f"'{format}' is no log format: use {' or '.join(FORMATS)}")
    redactor = Redactor(secrets)
    if fd is None and sys.__stderr__ is not None:  # or it was closed at the start, and may be another file
        fd = sys.__stderr__.fileno()
    handler = LineHandler(fd, _Formatter(redactor, FORMATS[format]))
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    for name in _CHATTY:
        quiet = max(logging.WARNING, logging.getLogger().level) if level != "debug" else logging.NOTSET
        logging.getLogger(name).setLevel(quiet)
    logging.captureWarnings(True)
    # No line shows them, and asking for them takes a tenth of a line's time.
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    return redactor


class LineHandler(logging.Handler):
    """Writes each record as a line, and drops lines instead of blocking or failing."""

    def __init__(self, fd: int | None, formatter: logging.Formatter) -> None:
        super().__init__()
        self.setFormatter(formatter)
        self.lost = 0  # dropped lines
        self._fd = fd
        self._poll = select.poll()
        if fd is not None:
            self._poll.register(fd, select.POLLOUT)

    def emit(self, record: logging.LogRecord) -> None:
        if record.name != CALLS.name:
            for lines in list(_OPEN):  # those that wait are of an earlier time
                lines.write()
        if self.lost and self._write(
            _record(logging.WARNING, f"{self.lost} log line(s) left out: stderr was not read")
        ):
            self.lost = 0
        if self.lost or not self._write(record):
            self.lost += 1

    def _write(self, record: logging.LogRecord) -> bool:
        if self._fd is None or not self._poll.poll(0):
            return False
        try:
            text = self.format(record)
        except Exception as error:  # an argument whose str() fails, or too few of them
            where = f"{record.name}, line {record.lineno} of {record.filename}"
            said = f"a log record of {where} could not be shown: {type(error).__name__}"
            text = self.format(_record(logging.ERROR, said))
        try:
            os.write(self._fd, text.encode("utf-8", "backslashreplace") + b"\n")
        except OSError:  # the reader has closed stderr
            return False
        return True


def _record(level: int, message: str) -> logging.LogRecord:
    return logging.LogRecord(__name__, level, __file__, 0, message, None, None)


class Redactor:
    """Removes tokens and session ids from text."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets: list[str] = []
        self.hide(secrets)

    def hide(self, secrets: Iterable[str]) -> None:
        """Remove these secrets from now on, as well as the earlier ones."""
        self._secrets = list(dict.fromkeys([*self._secrets, *(secret for secret in secrets if secret)]))
        written = {form for secret in self._secrets for form in (secret, _ENCODE(secret)[1:-1])}
        self._suspicious = [form.lower() for form in written]

    def suspects(self, line: str) -> bool:
        """Whether a line, encoded or not, may hold a secret: a quick check, because patterns are slow."""
        lower = line.lower()
        found = _SUSPICIOUS.search(lower) or _LOWER_SESSION.search(lower)
        return found is not None or any(word in lower for word in self._suspicious)

    def text(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, _HIDDEN)
        for pattern in _PATTERNS:
            text = pattern.sub(rf"\1{_HIDDEN}", text)
        return _SESSION.sub(r"\1…", text)


Clean: TypeAlias = Callable[[str], str]
# Makes a line of a record, of what cleans its texts, and of its traceback.
Line: TypeAlias = Callable[[logging.LogRecord, Clean, str], str]


class _Formatter(logging.Formatter):
    """Makes lines of records: removes secrets and shortens them."""

    def __init__(self, redactor: Redactor, line: Line) -> None:
        super().__init__()
        self._redactor = redactor
        self._line = line

    def format(self, record: logging.LogRecord) -> str:
        info = record.exc_info
        trace = self.formatException(info) if info and info[0] is not None else ""
        line = self._line(record, str, trace)
        if len(line) < _PLAIN and not self._redactor.suspects(line):
            return line  # the usual case
        for longest, end in _SIZES:
            line = self._line(record, self._cleaner(longest), self._cleaner(end, end=True)(trace))
            if len(line.encode("utf-8", "backslashreplace")) < _LONGEST:
                return line
        message = f"{self._cleaner(100)(record.getMessage())} (and more than fits)"
        return self._line(_record(record.levelno, message), str, "")

    def _cleaner(self, longest: int, *, end: bool = False) -> Clean:
        """Hides secrets, and keeps the beginning of a long text, or its end."""

        def clean(text: str) -> str:
            text = self._redactor.text(text)
            if len(text) <= longest:
                return text
            return f"…{text[-longest:]}" if end else f"{text[:longest]}…"

        return clean


def _fields(record: logging.LogRecord, text: Clean) -> dict[str, Any]:
    """The fields that were given as `extra`, and which request the record is about."""
    found = {name: _plain(name, value, text) for name, value in vars(record).items() if name not in _STANDARD}
    if (request_id := CURRENT_ID.get()) is not None:
        found.setdefault("request_id", request_id)
    if (trace_id := current_trace()) is not None:
        found.setdefault("trace_id", trace_id)
    return found


def current_trace() -> str | None:
    """The id of the trace that the present request is part of; None: it is part of none."""
    from opentelemetry.trace import get_current_span  # the names in here are needed without it, too

    span = get_current_span().get_span_context()
    return f"{span.trace_id:032x}" if span.is_valid else None


def _plain(name: str, value: Any, text: Clean) -> Any:
    """Plain values unchanged, everything else as text."""
    if type(value) is float:
        return value if value - value == 0 else str(value)  # JSON has no infinities
    if name.lower() in _SECRET_NAMES:
        return _HIDDEN
    return value if value is None or type(value) in (int, bool) else text(str(value))


def _json(record: logging.LogRecord, text: Clean, trace: str) -> str:
    """One JSON object for each record, ASCII only, so that no value can control a terminal."""
    document = {
        "time": _time(record),
        "level": record.levelname.lower(),
        "logger": record.name,
        "message": text(record.getMessage()),
        **_fields(record, text),
    }
    if trace:
        document["exception"] = trace
    return _ENCODE(document).replace("\x7f", "\\u007f")


def _text(record: logging.LogRecord, text: Clean, trace: str) -> str:
    """A line for people; the lines of a traceback are marked."""
    fields = "".join(f" {name}={one_line(str(value))}" for name, value in _fields(record, text).items())
    message = one_line(text(record.getMessage()))
    line = f"{_time(record)} {record.levelname:7} {record.name}: {message}{fields}"
    return "\n".join([line, *(f"    | {one_line(part)}" for part in trace.splitlines())])


FORMATS: Final[dict[str, Line]] = {"json": _json, "text": _text}


def _time(record: logging.LogRecord) -> str:
    second, part = divmod(record.created, 1)
    return f"{_second(second)}.{int(1000 * part):03d}+00:00"


@lru_cache(maxsize=4)  # a busy server writes thousands of lines in one
def _second(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S")


CALLS: Final = logging.getLogger("longwire.product.calls")

_DELAY: Final = 0.1  # seconds that a line may wait


class EndedCall(NamedTuple):
    level: int
    tool: str
    client: str
    outcome: str
    seconds: float
    error: str | None  # the sentence of a call that failed
    ended: float  # seconds since 1970
    request_id: str | None = None  # these four: of a request over HTTP
    session: str | None = None  # the beginning of its id
    worker: str | None = None
    trace_id: str | None = None


class CallLines:
    """Collects the log lines of finished tool calls and writes them together."""

    def __init__(self) -> None:
        self._waiting: deque[EndedCall] = deque()
        self._timer: asyncio.TimerHandle | None = None
        weakref.finalize(self, _write, self._waiting)  # writes the rest when the process ends
        _OPEN.add(self)

    def add(self, call: EndedCall) -> None:
        self._waiting.append(call)
        if call.outcome != "ok":
            self.flush()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_DELAY, self.flush)

    def flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self.write()

    def write(self) -> None:
        """Write the waiting lines, from any thread; the timer finds none then."""
        if self._waiting:
            Context().run(_write, self._waiting)  # they are of other requests than the present one


_OPEN: Final[weakref.WeakSet[CallLines]] = weakref.WeakSet()


def _write(waiting: deque[EndedCall]) -> None:
    while waiting:
        CALLS.handle(_call_record(waiting.popleft()))


def _call_record(call: EndedCall) -> logging.LogRecord:
    # Its level and its end are those of the record.
    given = {**call._asdict(), "seconds": round(call.seconds, 6), "level": None, "ended": None}
    fields = {name: value for name, value in given.items() if value is not None}
    words = (call.tool, call.outcome, 1000 * call.seconds)
    record = CALLS.makeRecord(
        CALLS.name, call.level, __file__, 0, "%s %s in %.1f ms", words, None, extra=fields
    )
    record.created = call.ended
    return record
