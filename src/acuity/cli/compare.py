"""Compare many encodes with their reference: which one looks best, and for how many bits?

All encodes are scored as 'acuity score' scores them, with one reading of the reference:

    acuity compare original.mkv x264.mp4 x265.mp4 av1.mp4
    acuity compare original.mkv 'encodes/*.mp4' -o compare.html
    acuity compare original.mkv encodes/ --metrics vmaf,psnr,ssim --csv
    acuity compare encodes.csv -o compare.json     # reference, distorted, name, encoder, bitrate
    acuity compare original.mkv encodes.yaml --encoder-from folder

A file that fails is a row with its error, and the others go on. Encodes whose scores differ by no more than
chance, frame by frame, are a tie. With four or more encodes of each encoder there is a BD-rate. Encodes of a
reference advance together, up to eight at once. Those that are finished are remembered; Ctrl-C shows the
figures so far of those under way, and the same command scores them anew."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

from acuity.cli.exits import FAILED, OK, STRICT, Interruptible, interruptible
from acuity.cli.getopt import UsageError, whole
from acuity.cli.score_options import (
    GROUPS,
    add_entries,
    add_groups,
    check_needs,
    check_pools,
    entry,
    format_by,
    scoring_request,
)
from acuity.cli.scoring import COMPARE_HELP, MOST, check_target, drawn_comparison, spare
from acuity.cli.terminal.progress import for_people
from acuity.cli.terminal.style import Style, count
from acuity.comparison.comparison import Extras
from acuity.comparison.encoder_curves import EncoderRate
from acuity.comparison.encoder_names import AUTO, SOURCES
from acuity.comparison.report import FORMATS, CompareReport, comparison_format, write_comparison
from acuity.comparison.tables import csv_text, differences_table, ranking_table, score_figure
from acuity.report import check_output
from acuity.report.document import plain
from acuity.report.tables import Table
from acuity.scoring.fronts import ACUITY
from acuity.text import one_line, shortened

USAGE: Final = "REF ENCODE... [options]\n       acuity compare [REF] LIST.csv|LIST.yaml [options]"

# The groups of `acuity score` that mean the same here, and what of them doesn't.
_GROUPS: Final = [title for title in GROUPS if title not in ("output", "for agents, while it runs")]
_LEFT_OUT: Final = frozenset(("resume", "no_reference"))
_ENCODER: Final = (
    f"where the encoder's name comes from unless a list has it: {', '.join(SOURCES)}, or a regular "
    "expression with (?P<encoder>…) (default: auto: the file's name before its bitrate or quality, or "
    "its metadata)"
)
# fmt: off
_OPTIONS: Final = {
    "the comparison": (
        entry("--encoder-from", metavar="SOURCE", default=AUTO, help=_ENCODER),
        entry("--against", metavar="ENCODER", help="the anchor of BD-rates (default: the first)"),
        entry("--differences", help="print how every two encodes differ, frame by frame"),
        entry("--no-remember", help="score all encodes again, and remember none"),
    ),
    "output": (
        entry("-o", "--output", metavar="FILE", help="write a report: .html, .json or .csv"),
        entry("--format", choices=FORMATS, help="format of the report, whatever its name"),
        entry("--pictures", metavar="N", type=whole(0, MOST), help=COMPARE_HELP),
        entry("--json", help="print one JSON document on standard output"),
        entry("--per-frame", help="with --json: the figures of every frame too"),
        entry("--csv", help="print a CSV on standard output"),
        entry("-q", "--quiet", help="print only the scores, best first, and errors on stderr"),
        entry("--strict", help="exit with 3 if a score has a warning"),
    ),
}
# fmt: on


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "videos",
        metavar="REF ENCODE",
        nargs="*",
        help="the original, and the versions to judge: files, folders, patterns, lists (.csv, .yaml)",
    )
    for title, options in _OPTIONS.items():
        add_entries(parser, title, options)
    add_groups(parser, _GROUPS, _LEFT_OUT)


def run(arguments: argparse.Namespace) -> int:
    from acuity.comparison.call import run_comparison
    from acuity.comparison.encodes import find_encodes, is_list

    check_pools(arguments.pools)
    _check_combinations(arguments)
    format = format_by(comparison_format, arguments)
    arguments.reference = arguments.distorted = ""
    scoring = scoring_request(arguments)
    encodes = find_encodes(arguments.videos)
    if arguments.output is None:
        check_output("-")
    else:
        inputs = [path for pair in encodes.pairs for path in (pair.reference, pair.distorted)]
        check_target(arguments.output, inputs)
        for path in filter(is_list, arguments.videos):
            spare(arguments.output, path, "the report would overwrite the list")
    quiet = arguments.quiet or arguments.json or arguments.csv
    if not quiet:
        _announce(encodes.pairs)
    shown = for_people(sys.stderr, quiet)
    with interruptible() as watch:
        try:
            report = run_comparison(
                encodes,
                scoring,
                encoder_from=arguments.encoder_from,
                against=arguments.against,
                remember=not arguments.no_remember,
                progress=None if shown is None else shown.frame,
                watch=lambda running: watch(_Acknowledged(running)),
            )
        finally:
            if shown is not None:
                shown.done()
        if arguments.output is not None:
            pictures, reason = drawn_comparison(report, scoring, arguments.pictures, format, watch, quiet)
            command = getattr(arguments, "command_line", None)
            extras = Extras(arguments.pools, command, ACUITY.spell, pictures, reason)
            write_comparison(report, arguments.output, format, extras)
        if quiet:
            _say_failures(report)
        for line in _answer(report, arguments):
            print(line)
        sys.stdout.flush()
    return exit_code(report, strict=arguments.strict)


class _Acknowledged:
    """A comparison that says at once that it will end: frames under way may take seconds."""

    def __init__(self, running: Interruptible) -> None:
        self._running = running

    def interrupt(self) -> bool:
        with suppress(OSError):  # print() could be interrupted in itself
            os.write(2, b"\nacuity: interrupted: waiting for the frames under way\n")
        return self._running.interrupt()


def exit_code(report: CompareReport, *, strict: bool) -> int:
    """A row without figures is no success; with --strict a warning isn't either."""
    if any(row.report is None for row in report.rows):
        return FAILED
    warned = any(row.report is not None and row.report.warnings for row in report.rows)
    return STRICT if strict and warned else OK


def _check_combinations(arguments: argparse.Namespace) -> None:
    check_needs(arguments)
    if arguments.json and arguments.csv:
        raise UsageError("argument --csv: --json is printed in its place: leave one of them out")
    if arguments.differences and (arguments.json or arguments.csv or arguments.quiet):
        raise UsageError("argument --differences: it adds to the printed table, and the JSON has them anyway")
    if arguments.encoder_from not in SOURCES:
        from acuity.comparison.encoder_names import encoder_finder

        encoder_finder(arguments.encoder_from)


def _announce(pairs: Any) -> None:
    references = list(dict.fromkeys(pair.reference for pair in pairs))
    named = (
        f"'{os.path.basename(references[0])}'" if len(references) == 1 else f"{len(references)} references"
    )
    text = f"comparing {count(len(pairs), 'encode')} with {one_line(named)}"
    print("\n".join(Style(sys.stderr).paragraph("dim", text)), file=sys.stderr)


def _answer(report: CompareReport, arguments: argparse.Namespace) -> list[str]:
    if arguments.json:
        command = getattr(arguments, "command_line", None)
        document = report.to_document(per_frame=arguments.per_frame, pools=arguments.pools, command=command)
        return [json.dumps(plain(document), indent=2, allow_nan=False)]
    if arguments.csv:
        return csv_text(report, arguments.pools).splitlines()
    if arguments.quiet:
        return [f"{row.score:.6f} {one_line(row.name)}" for row in report.ranking if row.ranked]
    style = Style(sys.stdout)
    return comparison_lines(report, style, pools=arguments.pools, differences=arguments.differences)


def _say_failures(report: CompareReport) -> None:
    for row in report.rows:
        if (said := row.spelled(ACUITY.spell)) is not None:
            print(f"acuity: {one_line(row.name)}: {one_line(said)}", file=sys.stderr)
        for note in (note for note in row.notes if note.level == "warning"):
            text = one_line(note.spelled(ACUITY.spell))
            print(f"acuity: warning: {one_line(row.name)}: {text}", file=sys.stderr)
    for text in report.all_notes:
        print(f"acuity: note: {one_line(text)}", file=sys.stderr)


# ---- the answer as text ----------------------------------------------------------------------------


_NAMES: Final = ("encode", "first", "second")  # columns of names, which are shortened where there is no room
_SHORTEST: Final = 8
_TIES: Final = (
    "tie: the encodes differ by no more than chance (the 95 % interval of the difference, frame by frame, "
    "reaches zero)"
)


def comparison_lines(
    report: CompareReport, style: Style, *, pools: Sequence[str], differences: bool
) -> list[str]:
    parts = [
        *(_ranking(report, style, reference, pools) for reference in report.references),
        _failures(report, style),
        _differences(report, style) if differences else [],
        _rates(report, style),
        _notes(report, style),
        _speed(report, style),
    ]
    return [line for part in parts if part for line in ("", *part)]


def _ranking(report: CompareReport, style: Style, reference: str, pools: Sequence[str]) -> list[str]:
    standings = report.analysis.of(reference)
    name = one_line(os.path.basename(reference) or reference)
    model = "" if report.model is None else f", {report.model}"
    basis = report.analysis.basis(reference)
    ranked = "" if basis is None else f", {basis}"
    head = style.paragraph("dim", f"{count(len(standings), 'encode')} of {name}{model}{ranked}")
    lines = fitted(ranking_table(report, standings, pools), style)
    best = 1 if standings[0].place is not None else None
    table = [style("bold", line) if number == best else line for number, line in enumerate(lines)]
    shared = any(one.shared for one in standings)
    return [*head, style("dim", table[0]), *table[1:], *(style.paragraph("dim", _TIES) if shared else [])]


def fitted(table: Table, style: Style) -> list[str]:
    """The lines of a table that fit the terminal: columns are left out, then names are shortened."""
    table = table._replace(rows=[[one_line(cell) for cell in row] for row in table.rows])
    if not style.fits:
        return table.text()
    lines = table.text(width=style.columns)
    while (over := max(map(len, lines)) - style.columns) > 0:
        names = [number for number, title in enumerate(table.titles) if title in _NAMES]
        longest = {number: max(len(row[number]) for row in table.rows) for number in names}
        widest = max(longest, key=longest.__getitem__)
        room = max(_SHORTEST, longest[widest] - over)
        if room >= longest[widest]:
            break  # nothing more can be left out
        rows = [
            [shortened(cell, room) if number == widest else cell for number, cell in enumerate(row)]
            for row in table.rows
        ]
        table = table._replace(rows=rows)
        lines = table.text(width=style.columns)
    return lines


def _failures(report: CompareReport, style: Style) -> list[str]:
    lines = []
    for row in report.rows:
        if (said := row.spelled(ACUITY.spell)) is not None:
            lines += style.paragraph("red", f"{row.name} failed: {said}", hanging=2)
    return lines


def _differences(report: CompareReport, style: Style) -> list[str]:
    if not report.analysis.differences:
        return []
    head, *lines = fitted(differences_table(report), style)
    return [style("dim", head), *lines]


def _rates(report: CompareReport, style: Style) -> list[str]:
    sentences = [rate_sentence(rate, report) for rate in report.analysis.rates]
    return [line for text in dict.fromkeys(sentences) for line in style.paragraph(None, text)]


def rate_sentence(rate: EncoderRate, report: CompareReport) -> str:
    """A BD-rate as a sentence, or why there is none."""
    where = ""
    if len(report.references) > 1:
        where = ", all references" if rate.reference is None else f", {os.path.basename(rate.reference)}"
    if rate.percent is None:
        return f"no BD-rate of {rate.encoder} against {rate.against}{where}: {rate.note}"
    word = "fewer" if rate.percent <= 0 else "more"
    score = score_figure(report)
    gain = "" if rate.score is None else f", {rate.score:+z.{score.decimals}f} {score.title} at equal rates"
    return (
        f"{rate.encoder} needs {abs(rate.percent):.1f} % {word} bits than {rate.against} for the same "
        f"{score.title} (BD-rate{where}; {rate.note}){gain}"
    )


def _notes(report: CompareReport, style: Style) -> list[str]:
    """Warnings with the encodes that they are about, then notes; each is said once."""
    scored = sum(row.report is not None for row in report.rows)
    lines = []
    for (level, text), names in report.notes_by_encode(ACUITY.spell).items():
        who = "" if len(names) == scored else f"{', '.join(names)}: "
        colour, mark = ("yellow", "warning: ") if level == "warning" else ("dim", "")
        lines += style.paragraph(colour, f"{mark}{who}{text}")
    for text in report.all_notes:
        lines += style.paragraph("dim", text)
    return lines


def _speed(report: CompareReport, style: Style) -> list[str]:
    fresh = [row.report.pairs for row in report.rows if row.report is not None and not row.remembered]
    known = sum(row.remembered for row in report.rows)
    remembered = f", {count(known, 'encode')} remembered from an earlier run" if known else ""
    if not fresh:
        alone = known and known == len(report.rows)
        text = f"{count(known, 'encode')} remembered{', nothing to score' if alone else ''}"
        return style.paragraph("dim", text) if known else []
    frames = sum(fresh)
    speed = frames / max(report.seconds, 1e-9)
    done = f"{count(frames, 'frame')} of {count(len(fresh), 'encode')} in {report.seconds:.1f} s"
    return style.paragraph("dim", f"{done}: {speed:.1f} fps{remembered}")
