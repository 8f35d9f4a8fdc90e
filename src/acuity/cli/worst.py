"""Show the worst frames of a distorted video: what they look like, where the loss is, and what is wrong.

    acuity worst original.mp4 encoded.mp4 -o worst
    acuity worst original.mp4 encoded.mp4 -o worst -n 8 --apart 3
    acuity worst original.mp4 encoded.mp4 -o worst --region
    acuity worst original.mp4 encoded.mp4 -o worst --json

The folder gets, for each frame, the reference, the distorted picture and a heat map of the loss as PNG, and
contact_sheet.png with all of them. The frames are the ones that were scored: cropped, scaled and aligned in
the same way. Both videos are read twice, so they can't come from a pipe."""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

from acuity.cli.exits import OK, terminable
from acuity.cli.getopt import amount, whole
from acuity.cli.score_options import (
    GROUPS,
    RUNNING,
    add_entries,
    add_groups,
    add_videos,
    entry,
    scoring_request,
)
from acuity.cli.scoring import say
from acuity.cli.terminal.progress import ProgressDisplay, for_people
from acuity.cli.terminal.style import Style, clock, wrapped_columns
from acuity.frames.request import ALIGN, DEFAULT_APART, DEFAULT_FRAMES, MAX_FRAMES, WorstRequest
from acuity.report import check_output
from acuity.scoring.fronts import ACUITY
from acuity.scoring.request import TINY
from acuity.text import one_line

if TYPE_CHECKING:
    from acuity.frames.report import WorstReport
    from acuity.frames.request import WorstProgress

USAGE: Final = "REF DIS -o DIR [options]"
SURPLUS: Final = "a call shows the frames of one encode, so show this one's in a call of its own"

# Options of `acuity score` that would change nothing here, or that need a report.
_GROUPS: Final = [title for title in GROUPS if title not in (TINY, "output", RUNNING)]
_LEFT_OUT: Final = frozenset(("metrics", "features", "pools", "resume"))


_VLM: Final = "let the vision-language model in this folder describe the frames too (extra 'vlm')"
_APART: Final = f"seconds between two of them at least (default: {DEFAULT_APART:g}); 0 allows neighbours"
# fmt: off
_OPTIONS: Final = (
    entry("-o", "--output", metavar="DIR", required=True, help="the folder for the pictures; it is created"),
    entry("-n", metavar="N", type=whole(1, MAX_FRAMES), default=DEFAULT_FRAMES,
          help=f"how many frames, at most {MAX_FRAMES} (default: {DEFAULT_FRAMES})"),
    entry("--apart", metavar="S", type=amount(0, 86_400, "number of seconds"), default=DEFAULT_APART,
          help=_APART),
    entry("--region", help="pictures of the region with the greatest loss alone"),
    entry("--vlm", metavar="FOLDER", help=_VLM),
    entry("--json", help="print one JSON document on standard output"),
    entry("-q", "--quiet", help="print only where the contact sheet is, and warnings on stderr"),
)
# fmt: on


def configure(parser: argparse.ArgumentParser) -> None:
    add_videos(parser)
    add_entries(parser, "the frames and their pictures", _OPTIONS)
    add_groups(parser, _GROUPS, _LEFT_OUT)


def run(arguments: argparse.Namespace) -> int:
    from acuity.frames.worst import find_worst

    if arguments.align is None:
        arguments.align = ALIGN
    wanted = WorstRequest(
        scoring_request(arguments), arguments.output, arguments.n, arguments.apart, arguments.region
    )
    check_output("-")
    quiet = arguments.quiet or arguments.json
    with ExitStack() as stack:
        narrator = None
        if arguments.vlm is not None:
            from acuity.frames.narrator import Narrator, check_narrator

            check_narrator(arguments.vlm)
            narrator = stack.enter_context(Narrator(arguments.vlm))
        stack.enter_context(terminable())
        shown = stack.enter_context(_Shown(quiet))
        report = find_worst(wanted, narrator=narrator, progress=shown)
    if quiet:
        say("acuity", [note for note in report.notes if note.level == "warning"], ACUITY.spell)
    for line in _answer(report, arguments):
        print(line)
    return OK


class _Shown:
    """Shows the progress of each stage: a bar on a terminal, lines in a log."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._stage: str | None = None
        self._display: ProgressDisplay | None = None

    def __enter__(self) -> _Shown:
        return self

    def __exit__(self, *_: object) -> None:
        if self._display is not None:
            self._display.done()

    def __call__(self, progress: WorstProgress) -> None:
        if progress.stage != self._stage:
            self._stage = progress.stage
            self.__exit__()
            self._display = for_people(sys.stderr, self._quiet)
            if self._display is not None:
                print(Style(sys.stderr)("dim", _STAGES[progress.stage]), file=sys.stderr, flush=True)
        if self._display is not None:
            self._display.frame(progress.done, progress.total, progress.mean)


_STAGES: Final = {
    "scoring": "  scoring",
    "comparing": "  reading once more, because scores don't tell which frames are the worst",
    "drawing": "  reading once more, to draw and examine the worst frames",
    "describing": "  describing them with the vision-language model",
}


def _answer(report: WorstReport, arguments: argparse.Namespace) -> list[str]:
    if arguments.json:
        return [json.dumps(report.to_document(), indent=2, allow_nan=False)]
    if arguments.quiet:
        return [one_line(str(report.contact_sheet))] if report.contact_sheet else []
    style = Style(sys.stdout)
    rows: list[tuple[str, ...]] = [("frame", "time", "score", "picture", "what is wrong")]
    for frame in report.frames:
        time = "" if frame.time is None else clock(frame.time, 3)
        said = frame.description if frame.narration is None else f"{frame.description} {frame.narration}"
        rows.append((str(frame.index), time, f"{frame.score:.2f}", frame.distorted.name, one_line(said)))
    head, *table = wrapped_columns(rows, style)
    name = report.scoring.results.models[0]
    mean = style("bold", f"{'VMAF' if name == 'vmaf' else name}  {report.scoring.score:.2f}")
    lines = ["", f"  {mean}   {style('dim', str(report.scoring.model))}"]
    if report.frames:
        lines += ["", style("dim", head), *table]
    lines.append("")
    for level, colour, mark in (("warning", "yellow", "warning: "), ("info", "dim", "")):
        for note in report.notes:
            if note.level == level:
                lines += style.paragraph(colour, mark + note.spelled(ACUITY.spell))
    if report.contact_sheet is None:
        return lines
    return [*lines, "", *style.paragraph(None, f"all of them: {report.contact_sheet}")]
