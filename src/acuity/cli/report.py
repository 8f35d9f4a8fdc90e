"""Show a report that was written before: a page with its curve, or a plot.

    acuity report report.json
    acuity report report.json -o page.html
    acuity report vmaf.xml -o plot.svg
    acuity report report.json --pictures worst

Reads JSON, XML and CSV reports of acuity score, vmaf and libvmaf, and documents of --json --per-frame. The
page is one file that needs no network. Frames can't be drawn from a report, but a folder that 'acuity worst'
made of the same videos can be put into the page."""

from __future__ import annotations

import argparse
import os
import shlex
from typing import TYPE_CHECKING, Final

from acuity.cli.exits import OK
from acuity.cli.getopt import UsageError
from acuity.cli.scoring import PAGE, WITHOUT_PAGE, spare
from acuity.errors import InputError, OutputError
from acuity.report.read_report import ReadReport, read_report
from acuity.report.write import SHOWN, check_output, write_report
from acuity.text import one_line

if TYPE_CHECKING:
    from acuity.report.document import ReportSource
    from acuity.report.page.page_document import PagePicture

SURPLUS: Final = "a call shows one report, so show this one in a call of its own"
_NO_PICTURES: Final = (
    "A report has no pictures: 'acuity worst' makes some of the two videos, and --pictures puts them here."
)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("report", metavar="REPORT", help="the report: JSON, XML or CSV ('-': standard input)")
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help=f"the file to write: {_ENDINGS} (default: the report's name with .html, if there is none yet)",
    )
    parser.add_argument("--pictures", metavar="DIR", help="put the worst frames of this folder into the page")


_ENDINGS: Final = " or ".join(", ".join(f".{name}" for name in SHOWN).rsplit(", ", 1))


def run(arguments: argparse.Namespace) -> int:
    target = arguments.output or f"{os.path.splitext(_name(arguments.report))[0]}.html"
    format = os.path.splitext(target)[1].lower().removeprefix(".")
    if format not in SHOWN:
        raise UsageError(f"'{one_line(target)}' doesn't say what to write: end it with {_ENDINGS}")
    if arguments.pictures is not None and format != PAGE:
        raise UsageError(f"argument --pictures: {WITHOUT_PAGE}")
    _check_target(target, arguments.report, named=arguments.output is not None)
    found = read_report(arguments.report)
    _write(found, arguments, target, format)
    print(one_line(target))
    return OK


def _name(report: str) -> str:
    return "report" if report in ("-", "/dev/stdin") else report


def _check_target(target: str, report: str, *, named: bool) -> None:
    """Refuse an output that can't be written, or would overwrite the report or what nobody named."""
    if not named and os.path.exists(target):
        raise OutputError(
            f"'{target}' exists already: name the file with -o ('-o {shlex.quote(target)}' overwrites it)"
        )
    spare(target, report, "the page would overwrite the report")
    check_output(target, "page")


def _write(found: ReadReport, arguments: argparse.Namespace, target: str, format: str) -> None:
    if found.source is None:
        raise InputError(
            f"'{arguments.report}' is a comparison: 'acuity compare' writes its page with -o, and remembers "
            "what it measured"
        )
    extra = {**found.extra, "name": _name(arguments.report), "no_pictures": _NO_PICTURES}
    if arguments.pictures is not None:
        extra |= {"pictures": _pictures(found.source, arguments.pictures), "no_pictures": None}
    write_report(found.source, target, format, extra=extra)


def _pictures(source: ReportSource, folder: str) -> list[PagePicture]:
    """The pictures of a folder of `acuity worst`, whose scores have to be those of a column of the report."""
    from acuity.frames.page_pictures import folder_pictures
    from acuity.report.page.column_names import is_score

    why: InputError | None = None
    # Scores first: if no column has those of the folder, the sentence compares with one of them.
    for name in sorted(source.columns, key=lambda name: (name != "vmaf", not is_score(name))):
        values = source.columns[name].tolist()
        try:
            return folder_pictures(folder, dict(zip(map(int, source.frames), values, strict=True)))
        except InputError as error:
            why = why or error
    raise why or InputError(f"the report has no scores, so the pictures in '{folder}' can't be its frames")
