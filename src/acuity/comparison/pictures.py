"""The pictures of a comparison's page: the worst encode at its worst, and where two encodes differ most.

A frame in which two encodes differ is shown of both, one after the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from acuity.comparison.page import drawn_rows
from acuity.comparison.tables import score_figure
from acuity.frames.page_pictures import BUDGET, page_pictures

if TYPE_CHECKING:
    from acuity.comparison.analysis import ComparedRows
    from acuity.comparison.row import CompareRow
    from acuity.frames.request import Listener
    from acuity.report.page.page_document import Picture
    from acuity.scoring.request import Request

NONE_SCORED: Final = "there are no pictures: no encode was scored"
INTERRUPTED: Final = "there are no pictures: the comparison was interrupted"


class _Contrast(NamedTuple):
    """A frame in which two encodes differ: `a` is the one that is better on the whole."""

    a: CompareRow
    b: CompareRow
    frame: int


def compare_pictures(
    report: ComparedRows, scoring: Request, count: int, progress: Listener | None = None
) -> tuple[list[Picture], str | None]:
    """At most `count` pictures for compare_page(), and why there are none, if so.

    `scoring` is how all pairs were scored. Each encode that is shown is read once more, with its reference.
    """
    if report.interrupted:  # whoever ended it doesn't want to wait
        return [], INTERRUPTED
    rows = {row.name: number for number, row in enumerate(drawn_rows(report))}
    placed = [one.row for one in report.analysis.standings if one.place is not None]
    worst = placed[-1] if placed else next((row for row in report.ranking if row.ranked), None)
    if worst is None:
        return [], NONE_SCORED
    contrasts = list(_contrasts(report, count))
    lowest = count - 2 * len(contrasts)
    wanted: dict[str, list[int]] = {worst.name: []}
    for found in contrasts:
        for row in (found.a, found.b):
            wanted.setdefault(row.name, []).append(found.frame)
    drawn: dict[str, list[Picture]] = {}
    reasons: list[str] = []
    for row in [row for row in report.ranking if row.name in wanted]:
        if row.report is None:
            continue
        also = wanted[row.name]
        most = lowest + len(also) if row is worst else 0  # those that come later may be among the worst
        pictures, reason = page_pictures(
            replace(scoring, reference=row.reference, distorted=row.distorted),
            row.report,
            most,
            also=also,
            budget=BUDGET * max(most, len(also)) // count,
            progress=progress,
        )
        drawn[row.name] = [picture._replace(series=rows[row.name]) for picture in pictures]
        reasons += [reason] if reason is not None else []
    first = [one for one in drawn.get(worst.name, []) if one.frame not in wanted[worst.name]][:lowest]
    shown = [*first, *_in_contrast(report, contrasts, drawn)]
    return shown, None if shown else next(iter(reasons), None)


def _contrasts(report: ComparedRows, count: int) -> Iterator[_Contrast]:
    """The frames with the greatest differences of two encodes, each frame of a reference once."""
    by_name = {row.name: row for row in report.rows}
    found = [
        (abs(frame.difference), by_name[difference.a], by_name[difference.b], frame.frame)
        for difference in report.analysis.differences
        for frame in difference.worst
    ]
    seen: set[tuple[str, int]] = set()
    for _, a, b, frame in sorted(found, key=lambda entry: -entry[0]):
        if len(seen) == (count + 1) // 4:  # each takes two pictures: about half of all
            return
        if (a.reference, frame) not in seen:
            seen.add((a.reference, frame))
            yield _Contrast(a, b, frame)


def _in_contrast(
    report: ComparedRows, contrasts: list[_Contrast], drawn: dict[str, list[Picture]]
) -> Iterator[Picture]:
    """The frames that differ, each of the better encode first."""
    figure = score_figure(report)
    for found in contrasts:
        a, b = (
            next((one for one in drawn.get(row.name, []) if one.frame == found.frame), None)
            for row in (found.a, found.b)
        )
        for one, other, name in ((a, b, found.b.name), (b, a, found.a.name)):
            if one is None:
                continue
            there = "" if other is None else f", which has {figure.title} {other.score:.{figure.decimals}f}"
            yield one._replace(description=f"Differs most from {name}{there}. {one.description}")
