"""The answer of `acuity compare` on a terminal of any width: ranking, failures, BD-rates, notes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final

from acuity.cli.style import Style, count
from acuity.comparison.encoder_curves import EncoderRate
from acuity.comparison.report import CompareReport
from acuity.comparison.tables import differences_table, ranking_table, score_figure
from acuity.report.tables import Table
from acuity.scoring.fronts import ACUITY
from acuity.text import one_line, shortened

_NAMES: Final = ("encode", "first", "second")  # columns of names, which are shortened where there is no room
_SHORTEST: Final = 8
_TIES: Final = (
    "tie: the encodes differ by no more than chance (the 95 % interval of the difference, frame by frame, "
    "reaches zero)"
)


def comparison_lines(
    report: CompareReport, style: Style, *, pools: Sequence[str], differences: bool
) -> list[str]:
    """The lines of the answer."""
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
