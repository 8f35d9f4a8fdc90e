"""The parts of all tuning commands: options from a request's fields, progress, notes, and the answer."""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TextIO, TypeAlias

from acuity import __version__
from acuity.cli.exits import FAILED, OK, terminable
from acuity.cli.getopt import UsageError, amount, whole
from acuity.cli.score_options import Entry, add_entries, entry, setting_entry, typed
from acuity.cli.scoring import spare
from acuity.cli.terminal.style import Style
from acuity.report import check_output
from acuity.report.document import plain
from acuity.report.tables import to_csv
from acuity.report.write import write_document
from acuity.scoring.fronts import TUNE
from acuity.scoring.setting import Setting
from acuity.text import one_line
from acuity.tune.common_request import ENCODING, MEASURED, OUTPUT, SOURCE, WANTED, WORK, TuneRequest
from acuity.tune.progress import Listener, Progress
from acuity.tune.values import check_new

if TYPE_CHECKING:
    from acuity.report.page.page_document import Page

Document: TypeAlias = dict[str, Any]
# The answers of a command by their formats, of which the first is the usual one.
Renderers: TypeAlias = Mapping[str, Callable[[Document, argparse.Namespace], str]]

_GROUPS: Final = (WANTED, SOURCE, ENCODING, MEASURED, OUTPUT, WORK)
_LETTERS: Final = {"encoder": "e", "output": "o"}  # of options, as other commands have them
_WITH_NOTES: Final = ("json", "html", "both")  # formats that say the notes themselves
# Settings as documents write them, in notes.
_SETTING: Final = re.compile(r"\b(display|out_pix_fmt|max_iterations)(?:=([\w.]+)|(?<=_iterations))")
_REDRAWN: Final = 0.1  # seconds
_LOGGED: Final = 5.0


def command(
    kind: type[TuneRequest], renderers: Renderers
) -> tuple[Callable[[argparse.ArgumentParser], None], Callable[[argparse.Namespace], int]]:
    """The functions `configure` and `run` of the command that makes such requests."""
    return partial(_configure, kind, renderers), partial(_run, kind, renderers)


def _run(kind: type[TuneRequest], renderers: Renderers, arguments: argparse.Namespace) -> int:
    from acuity.tune.run import COMMANDS, run

    name, command = next(found for found in COMMANDS.items() if found[1].request is kind)
    wanted, target = _request(kind, name, arguments), arguments.answer
    _check_answer(target, wanted)
    with shown(sys.stderr, arguments.quiet) as listener:
        document = run(wanted, listener=listener)
    if arguments.format not in _WITH_NOTES:
        _say_notes(document["notes"])
    text = renderers[arguments.format](document, arguments)
    text = text if text.endswith("\n") else f"{text}\n"
    if target is None or target == "-":
        sys.stdout.write(text)
        sys.stdout.flush()
    else:
        write_document(target, text)
    return OK if command.succeeded(document) else FAILED


# ---- options -------------------------------------------------------------------------------------


def _configure(kind: type[TuneRequest], renderers: Renderers, parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", nargs="?", metavar="SRC", help="the video to encode")
    parser.add_argument("--src", metavar="SRC", help=argparse.SUPPRESS)  # as the original has it
    table = kind.settings_table()
    for group in _GROUPS:
        entries = [_entry(name, about) for name, about in table.items() if about.group == group]
        if group == OUTPUT:
            answer = ("--plan-out",) if "output" in table else ("-o", "--output")
            entries = [
                *(one for one in entries if one[1]["dest"] != "format"),
                entry(
                    "--format", choices=tuple(renderers), default=next(iter(renderers)), help="of the answer"
                ),
                entry(*answer, metavar="FILE", dest="answer", help="write the answer to this file"),
                entry("-q", "--quiet", help="show no progress"),
            ]
        add_entries(parser, group, entries)


def _entry(name: str, about: Setting) -> Entry:
    shown = "" if about.default in (None, False, (), "") else f" (default: {about.default})"
    changes: dict[str, Any] = {"help": (about.help + shown).replace("%", "%%")}
    if about.choices:
        changes |= {"choices": about.choices, "metavar": None}
    elif about.metavar or about.kind == "array":
        changes["metavar"] = about.metavar
    if about.kind in ("integer", "number"):
        changes["type"] = typed(_number(about))
    return setting_entry(name, about, TUNE, _LETTERS.get(name, ""), changes)


def _number(about: Setting) -> Callable[[str], float]:
    if about.kind == "number":
        least = -math.inf if about.minimum is None else about.minimum
        return amount(least, math.inf if about.maximum is None else about.maximum)
    return whole(int(about.minimum or 0), None if about.maximum is None else int(about.maximum))


def _request(kind: type[TuneRequest], command: str, arguments: argparse.Namespace) -> TuneRequest:
    named = [path for path in (arguments.source, arguments.src) if path is not None]
    if not named:
        raise UsageError("the source is missing: name it, as in 'vmaf-tune search film.mkv'")
    if len(named) > 1:
        raise UsageError("the source is given twice: name it once")
    given: dict[str, Any] = {}
    for name, about in kind.settings_table().items():
        value = getattr(arguments, name)
        if not value and about.default == "":  # it has no default, whatever the record says
            option = f"--{TUNE.name(name)}"
            raise UsageError(
                f"{option} is missing: pass it, as in the examples of 'vmaf-tune {command} --help'"
            )
        if value is None or (name == "format" and value not in about.choices):  # one of the command's own
            continue
        given[name] = tuple(value) if isinstance(value, list) else value
    return kind(src=named[0], **given)


# ---- the answer ----------------------------------------------------------------------------------


def _check_answer(output: str | None, request: TuneRequest) -> None:
    """Refuse, before long work, a file that can't be written, is the source, or exists already."""
    if output is None:
        check_output("-")
        return
    spare(output, request.src, "the answer would overwrite the source")
    check_new(output, request.overwrite)
    check_output(output)


def as_json(document: Document, _: argparse.Namespace | None = None) -> str:
    return json.dumps(plain(document), indent=2, allow_nan=False)


def as_csv(rows: str, columns: Sequence[str]) -> Callable[[Document, argparse.Namespace], str]:
    """A renderer of the entry `rows` as a table with these columns."""
    return lambda document, _: to_csv(columns, [[row[name] for name in columns] for row in document[rows]])


def _say_notes(notes: Iterable[str]) -> None:
    for note in notes:
        print(f"vmaf-tune: note: {one_line(_SETTING.sub(_option, note))}", file=sys.stderr)


def _option(setting: re.Match[str]) -> str:
    name, value = setting.groups()
    return f"--{name.replace('_', '-')}" + (f" {value}" if value else "")


# ---- pages ---------------------------------------------------------------------------------------


_NO_CURVE: Final = "no encode was measured, so there is no curve"


def tune_page(page: Page, document: Document, arguments: argparse.Namespace) -> str:
    """The file of a page with curves of quality over bitrate; it gets the notes and facts of all of them."""
    from acuity.report.page.html_page import html_page
    from acuity.report.page.page_document import PageNote

    drawn = [curve for curve in page.rates if curve.points]
    command = getattr(arguments, "command_line", None)
    said = [] if drawn else [PageNote("warning", _NO_CURVE)]
    notes = [*said, *page.notes, *(PageNote("info", text) for text in document["notes"])]
    named = [] if command is None else [("command", str(command))]
    facts = [("source", document["src"]), *named, ("version", f"acuity {__version__}")]
    return "".join(html_page(replace(page, rates=drawn, notes=notes, facts=facts)))


# ---- progress ------------------------------------------------------------------------------------


class TuneProgress:
    """Writes progress to a stream, from any thread: one line on a terminal, several in a log."""

    def __init__(self, stream: TextIO, now: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._style = Style(stream)
        self._now = now
        self._every = _REDRAWN if self._style.terminal else _LOGGED
        self._drawn = now() - self._every  # the first is shown at once
        self._lock = threading.Lock()
        self._open = False  # whether a line is unfinished
        self._encodes = 0

    def __call__(self, progress: Progress) -> None:
        with self._lock:
            finished = progress.encodes_done > self._encodes
            if not finished and self._now() - self._drawn < self._every:
                return
            self._encodes = progress.encodes_done
            self._drawn = self._now()
            self._write(progress)

    def _write(self, progress: Progress) -> None:
        line = progress.line()
        if self._style.terminal:
            while len(line) >= self._style.columns and ", " in line:
                line = line.rpartition(", ")[0]  # drop whole parts: half a number would mislead
            self._stream.write(f"\r{line}\033[K")
        else:
            self._stream.write(f"{line}\n")
        self._open = self._style.terminal
        self._stream.flush()

    def done(self) -> None:
        with self._lock:
            if self._open:
                self._stream.write("\r\033[K")
                self._stream.flush()
                self._open = False


@contextmanager
def shown(stream: TextIO, quiet: bool) -> Iterator[Listener | None]:
    """The listener that shows progress; SIGTERM ends the block as Ctrl-C does."""
    display = None if quiet else TuneProgress(stream)
    with terminable():
        try:
            yield display
        finally:
            if display is not None:
                display.done()
