"""Writes a table as text for a terminal, as Markdown or as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

Cell = TypeVar("Cell")


class Table(NamedTuple):
    """Titles of columns, and rows of cells; columns of numbers are aligned to the right."""

    titles: Sequence[str]
    rows: Sequence[Sequence[str]]
    numeric: Sequence[bool]
    spare: Sequence[str] = ()  # columns that are left out where there is no room, the first one first

    def text(self, indent: str = "  ", width: int | None = None) -> list[str]:
        """Aligned lines, of at most that width as far as columns may be left out."""
        table = self
        while width is not None and table.spare and max(map(len, table._lines(indent))) > width:
            table = table.without(table.spare[0])
        return table._lines(indent)

    def without(self, title: str) -> Table:
        table = self._of([number for number, name in enumerate(self.titles) if name != title])
        return table._replace(spare=[name for name in self.spare if name != title])

    def in_order(self, *first: str, last: str) -> Table:
        """The table with these columns first and last, as far as it has them: narrow pages show few."""
        begin = [self.titles.index(title) for title in first if title in self.titles]
        end = [number for number, title in enumerate(self.titles) if title == last]
        return self._of([*begin, *(n for n in range(len(self.titles)) if n not in (*begin, *end)), *end])

    def _of(self, order: Sequence[int]) -> Table:
        """The table with these columns."""

        def moved(cells: Sequence[Cell]) -> list[Cell]:
            return [cells[number] for number in order]

        rows = [moved(row) for row in self.rows]
        return self._replace(titles=moved(self.titles), rows=rows, numeric=moved(self.numeric))

    def _lines(self, indent: str) -> list[str]:
        everything = [self.titles, *self.rows]
        widths = [max(map(len, column)) for column in zip(*everything, strict=True)]
        forms = [f"{'>' if right else '<'}{width}" for width, right in zip(widths, self.numeric, strict=True)]
        return [indent + "  ".join(map(format, row, forms)).rstrip() for row in everything]

    def markdown(self) -> list[str]:
        rule = f"|{'|'.join('---:' if right else '---' for right in self.numeric)}|"
        escaped = ([cell.replace("|", "\\|") for cell in row] for row in (self.titles, *self.rows))
        first, *others = (f"| {' | '.join(row)} |" for row in escaped)
        return [first, rule, *others]


def to_csv(titles: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """CSV with a line of titles; None is an empty cell."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(titles)
    writer.writerows([["" if cell is None else cell for cell in row] for row in rows])
    return buffer.getvalue()
