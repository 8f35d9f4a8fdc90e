"""Formats text for a terminal: bold and dim, columns, times.

Everything that is formatted here may hold names of files, which may hold anything: control characters are
made visible. What is printed without formatting goes through one_line() itself.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final, TextIO

from acuity.text import clock as clock
from acuity.text import one_line

_WIDEST: Final = 100  # columns of a sentence, however wide the terminal is
_NARROWEST: Final = 24  # columns that words need
_CODES: Final = {"bold": "1", "dim": "2", "red": "31", "yellow": "33", "green": "32", "cyan": "36"}


class Style:
    """Formats text for one stream; plain unless the stream is a terminal."""

    def __init__(self, stream: TextIO) -> None:
        self.terminal = stream.isatty()
        self.colour = self.terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        self.unicode = "utf" in (getattr(stream, "encoding", None) or "").lower()
        self.columns = 80
        # A width that is set counts in a pipe too; otherwise lines are as long as they are.
        width = os.environ.get("COLUMNS", "")
        self.fits = self.terminal or (width.isascii() and width.isdigit() and int(width) > 0)
        if self.fits:
            import shutil  # slow to import: it loads all compression modules

            self.columns = shutil.get_terminal_size((80, 24)).columns

    def __call__(self, name: str, text: str) -> str:
        text = one_line(text)
        return f"\033[{_CODES[name]}m{text}\033[0m" if self.colour else text

    def paragraph(self, name: str | None, text: str, *, margin: int = 2, hanging: int = 0) -> list[str]:
        """The text behind a margin, as lines that fit the terminal; `hanging` is that of later lines."""
        text = one_line(text)
        first, later = " " * margin, " " * (margin + hanging)
        if not self.fits:
            return [first + (self(name, text) if name else text)]
        import textwrap

        width = max(min(self.columns, _WIDEST), margin + hanging + _NARROWEST)
        lines = textwrap.wrap(text, width - margin - hanging, break_long_words=False, break_on_hyphens=False)
        styled = [self(name, line) for line in lines] if name else lines
        return [(later if number else first) + line for number, line in enumerate(styled)]


def count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def columns(rows: Sequence[Sequence[str]], indent: str = "  ") -> list[str]:
    """Rows of cells as aligned lines; the last cell may have any length."""
    rows = [[one_line(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))] if rows else []
    return [
        indent + "  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def wrapped_columns(rows: Sequence[Sequence[str]], style: Style, name: str | None = None) -> list[str]:
    """Rows of cells as lines that fit the terminal; the rest goes on below the last cell, or below all."""
    lines = []
    for line, row in zip(columns(rows), rows, strict=True):
        start = len(line) - len(one_line(row[-1]))
        room = start < style.columns // 2
        lines += style.paragraph(name, line.lstrip(), hanging=start - 2 if room else 2)
    return lines
