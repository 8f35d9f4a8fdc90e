"""Prints or writes the answer of a tuning command, and says what was noticed."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable
from typing import Any, Final

from acuity.errors import OutputError
from acuity.report import check_output
from acuity.report.document import plain
from acuity.report.write import write_document
from acuity.text import one_line
from acuity.tune.request import TuneRequest
from acuity.tune.values import check_new

_SETTING: Final = re.compile(r"\b(display|out_pix_fmt|max_iterations)(?:=([\w.]+)|(?<=_iterations))")


def check_answer(output: str | None, request: TuneRequest) -> None:
    """Refuse, before long work, a file that can't be written, is the source, or exists already."""
    source = request.src
    if output is None:
        check_output("-")
        return
    if os.path.exists(output) and os.path.exists(source) and os.path.samefile(output, source):
        raise OutputError(f"the answer would overwrite the source '{source}': name another file")
    check_new(output, request.overwrite)
    check_output(output)


def deliver(text: str, output: str | None) -> None:
    """Print the answer, or write it to a file completely or not at all."""
    if output is None or output == "-":
        sys.stdout.write(text if text.endswith("\n") else f"{text}\n")
        sys.stdout.flush()
    else:
        write_document(output, text if text.endswith("\n") else f"{text}\n")


def as_json(document: dict[str, Any]) -> str:
    return json.dumps(plain(document), indent=2, allow_nan=False)


def say_notes(notes: Iterable[str]) -> None:
    """Print notes on stderr, one a line, with settings as options."""
    for note in notes:
        print(f"vmaf-tune: note: {one_line(_SETTING.sub(_option, note))}", file=sys.stderr)


def _option(setting: re.Match[str]) -> str:
    """A setting as documents write it (display=1080p) as an option."""
    name, value = setting.groups()
    return f"--{name.replace('_', '-')}" + (f" {value}" if value else "")
