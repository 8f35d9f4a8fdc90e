"""Tables for people and programs."""

from __future__ import annotations

import csv
import io

from acuity.report.tables import Table, to_csv

TABLE = Table(["encoder", "kbit/s"], [["libx264", "1,200"], ["a|b", "90"]], [False, True])


def test_text_is_aligned() -> None:
    assert TABLE.text("") == ["encoder  kbit/s", "libx264   1,200", "a|b          90"]


def test_markdown_keeps_cells_apart() -> None:
    assert TABLE.markdown() == ["| encoder | kbit/s |", "|---|---:|", "| libx264 | 1,200 |", "| a\\|b | 90 |"]


def test_csv_is_read_back() -> None:
    text = to_csv(["a", "b"], [['say "x", y', None], ["line\nbreak", 1.5]])
    assert list(csv.reader(io.StringIO(text))) == [["a", "b"], ['say "x", y', ""], ["line\nbreak", "1.5"]]


def test_columns_are_left_out_where_there_is_no_room() -> None:
    table = Table(["a", "long title", "b"], [["1", "2", "3"]], [True] * 3, ("long title",))
    assert table.text("") == ["a  long title  b", "1           2  3"]
    assert table.text("", width=16) == table.text("")
    assert table.text("", width=15) == ["a  b", "1  3"]
    assert table.text("", width=1) == ["a  b", "1  3"]  # nothing else may go
