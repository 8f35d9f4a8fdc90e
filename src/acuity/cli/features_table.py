"""Make the table that 'acuity evaluate' reads: features of rated videos, in a parquet file.

    acuity features-table rated.csv -o rated.parquet

The list is CSV with a line for each distorted video: ref and dis (files, relative to the list), mos (its
rating), and if you like key (what the clip is called; otherwise dis), codec, preset and crf. The table has a
row for each frame, with the six features of VMAF v0.6.1."""

from __future__ import annotations

import argparse
import csv
import math
import os
import sys
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from acuity.cli.exits import OK
from acuity.cli.getopt import UsageError
from acuity.cli.terminal.style import count
from acuity.errors import AcuityError, EvaluationError
from acuity.report.write import check_output, written_beside
from acuity.text import one_line, quoted
from acuity.tiny.evaluate.choices import require_extra

USAGE: Final = "LIST.csv -o TABLE.parquet"
FEATURES: Final = ("adm2", "vif_scale0", "vif_scale1", "vif_scale2", "vif_scale3", "motion2")
_EXTRACTORS: Final = ("adm", "vif", "motion")
_REQUIRED: Final = ("ref", "dis", "mos")
_TEXTS: Final = ("codec", "preset")
_CRF: Final = "crf"
_OTHER_FORMATS: Final = (".csv", ".tsv", ".json", ".jsonl", ".xml", ".txt")
_MOST_LINES: Final = 100_000


class ListedPair(NamedTuple):
    line: int
    reference: str
    distorted: str
    key: str
    mos: float
    more: dict[str, str | int]  # codec, preset and crf, if the list has them


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("list", metavar="LIST.csv", help="the rated videos")
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="the parquet file to write")
    parser.add_argument("-q", "--quiet", action="store_true", help="print no progress")


def run(arguments: argparse.Namespace) -> int:
    require_extra("acuity features-table")
    _check_name(arguments.output)
    check_output(arguments.output, "table")
    clips = read_list(arguments.list)
    rows = 0
    with written_beside(arguments.output, "table") as name, _Writer(name, clips[0]) as writer:
        for number, clip in enumerate(clips, 1):
            columns = _measured(arguments.list, clip)
            rows += writer.add(clip, columns)
            if not arguments.quiet:
                print(f"{number} of {len(clips)}: {one_line(clip.key)}", file=sys.stderr)
    print(f"{one_line(arguments.output)}: {count(len(clips), 'clip')}, {count(rows, 'row')}")
    return OK


def _check_name(output: str) -> None:
    base, ending = os.path.splitext(output)
    if ending.lower() in _OTHER_FORMATS:
        raise UsageError(
            f"'{output}' ends in {ending}, and the table is written as parquet: name it '{base}.parquet'"
        )


def read_list(path: str) -> list[ListedPair]:
    """The clips of a list; raises EvaluationError with the line that can't be used."""
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            clips = list(_clips(path, csv.DictReader(file, strict=True)))
    except OSError as error:
        raise EvaluationError(f"'{path}' can't be opened: {error.strerror}") from error
    except (csv.Error, UnicodeDecodeError) as error:
        raise EvaluationError(f"'{path}' is no CSV: {error}") from error
    if not clips:
        raise EvaluationError(f"'{path}' has no videos: add a line for each")
    known: dict[str, int] = {}
    for clip in clips:
        if clip.key in known:
            raise EvaluationError(
                f"lines {known[clip.key]} and {clip.line} of '{path}' have the same key {quoted(clip.key)}:"
                " each video needs its own"
            )
        known[clip.key] = clip.line
    return clips


def _clips(path: str, reader: csv.DictReader[str]) -> Iterator[ListedPair]:
    names = reader.fieldnames or []
    missing = [name for name in _REQUIRED if name not in names]
    if missing:
        raise EvaluationError(
            f"'{path}' has no column {', '.join(missing)}: its first line has to name {', '.join(_REQUIRED)}"
        )
    folder = os.path.dirname(path)
    for row in reader:
        line = reader.line_num
        if line > _MOST_LINES:
            raise EvaluationError(f"'{path}' has more than {_MOST_LINES:,} lines: divide it")

        def given(name: str, row: dict[str, str] = row, line: int = line) -> str:
            value = (row.get(name) or "").strip()
            if not value:
                raise EvaluationError(f"line {line} of '{path}' has no {name}: add it")
            return value

        more: dict[str, str | int] = {name: given(name) for name in _TEXTS if name in names}
        if _CRF in names:
            more[_CRF] = int(_number(path, line, _CRF, given(_CRF), whole=True))
        reference, distorted = given("ref"), given("dis")
        key = given("key") if "key" in names else distorted
        videos = os.path.join(folder, reference), os.path.join(folder, distorted)
        yield ListedPair(line, *videos, key, _number(path, line, "mos", given("mos")), more)


def _number(path: str, line: int, name: str, text: str, *, whole: bool = False) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or (whole and not value.is_integer()):
        kind = "whole number" if whole else "number"
        raise EvaluationError(f"line {line} of '{path}' has the {name} {quoted(text)}, which is no {kind}")
    return value


def _measured(path: str, clip: ListedPair) -> dict[str, Any]:
    """The frames of a clip and their features; raises AcuityError that names the line."""
    from acuity.scoring.request import Request
    from acuity.scoring.run import run_request

    request = Request(
        clip.reference, clip.distorted, models=(), features=_EXTRACTORS, predict=False, guess=True
    )
    try:
        results = run_request(request).results
    except AcuityError as error:
        raise type(error)(f"line {clip.line} of '{path}': ", *error.args) from error
    return {"frame": results.frames} | {name: results.columns[f"integer_{name}"] for name in FEATURES}


class _Writer:
    def __init__(self, name: str, first: ListedPair) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        kinds = {"key": pa.string(), "frame": pa.int64(), "mos": pa.float64()}
        kinds |= dict.fromkeys(FEATURES, pa.float64())
        kinds |= {name: pa.int64() if name == _CRF else pa.string() for name in first.more}
        self._schema = pa.schema(kinds)
        self._writer = pq.ParquetWriter(name, self._schema, compression="zstd")

    def add(self, clip: ListedPair, columns: dict[str, Any]) -> int:
        import pyarrow as pa

        rows = len(columns["frame"])
        same = {"key": clip.key, "mos": clip.mos, **clip.more}
        table = {**{name: [value] * rows for name, value in same.items()}, **columns}
        self._writer.write_table(pa.table(table, self._schema))
        return rows

    def __enter__(self) -> _Writer:
        return self

    def __exit__(self, *_: object) -> None:
        self._writer.close()
