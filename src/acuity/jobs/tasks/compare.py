"""The task that compares many encodes of a reference, and the document it leaves.

The document is that of `acuity compare` with what clients may ask for later beside it: the page and the table
are written here, where the exact figures are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from acuity.jobs.progress import Pace
from acuity.scoring.request import Request
from longwire.work import Progress

if TYPE_CHECKING:
    from acuity.comparison.report import CompareReport
    from acuity.comparison.request import ComparePair

TOOL: Final = "compare_encodes"
PAGE: Final = "page_text"  # entries of the document that are read as resources of their own
TABLE: Final = "table_text"
_MOST_FIGURES: Final = 2_000_000  # of frames in the document, about 40 MB of JSON
_TOO_LONG: Final = "the figures of single frames are too many to be kept: the page has the curves"


def compare_payload(
    pairs: Sequence[ComparePair], scoring: Request, options: Mapping[str, Any]
) -> dict[str, Any]:
    """The task's payload; `options` are those of run_comparison()."""
    return {"pairs": [list(pair) for pair in pairs], "request": scoring.to_document(), "options": options}


def run(payload: dict[str, Any], report: Callable[[Progress], None]) -> dict[str, Any]:
    """Compare, and return the document; what goes wrong with one encode is in its entry."""
    from acuity.comparison.call import run_comparison
    from acuity.comparison.encodes import distinct
    from acuity.comparison.request import ComparePair
    from acuity.measure import available_threads

    scoring = Request.from_document(payload["request"])
    if scoring.threads is not None:
        scoring = replace(scoring, threads=min(scoring.threads, available_threads()))
    encodes = distinct([ComparePair(*pair) for pair in payload["pairs"]])
    report(Progress(0.0, None, f"reading {len(encodes.pairs)} encodes"))
    pace: Pace | None = None

    def frames(done: int, total: int | None, _: float | None) -> None:
        nonlocal pace
        if pace is None:
            pace = Pace(before=done)  # remembered ones took no time
        report(pace.progress(done, total, None))

    return _document(scoring, run_comparison(encodes, scoring, progress=frames, **payload["options"]))


def _document(scoring: Request, found: CompareReport) -> dict[str, Any]:
    from acuity.comparison.comparison import Extras
    from acuity.comparison.report import as_csv, as_html
    from acuity.comparison.tables import all_figures
    from acuity.jobs.tasks.score import mismatch
    from acuity.scoring.fronts import FRONTS

    spell = FRONTS[TOOL].spell
    document = found.to_document(spell=spell)
    scored = next((row.report for row in found.rows if row.report is not None), None)
    if scored is not None:
        document |= mismatch(scoring, scored)  # pictures of one reference have one size
    columns = [figure.key for figure in all_figures(found)]
    frames = sum(row.report.pairs for row in found.rows if row.report is not None)
    if frames * (1 + len(columns)) <= _MOST_FIGURES:
        for row, entry in zip(found.rows, document["pairs"], strict=True):
            if row.report is not None:
                entry["per_frame"] = row.frames_document(columns)
    else:
        document["notes"].append(_TOO_LONG)
    extras = Extras(spell=spell)
    return {**document, PAGE: as_html(found, extras), TABLE: as_csv(found, extras)}
