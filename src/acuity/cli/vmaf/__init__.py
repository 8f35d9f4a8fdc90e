"""The `vmaf` command: libvmaf's options, reports and exit codes."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from acuity.cli import LIBVMAF_VERSION, version_text
from acuity.cli.embedded import embedded
from acuity.cli.exits import LIBVMAF_CODES, guarded, interruptible, spare_collector
from acuity.cli.vmaf.options import CommandLine, parse

if TYPE_CHECKING:
    from acuity.cli.terminal.progress import LibvmafMeter
    from acuity.cli.vmaf.specs import Specs
    from acuity.scoring.report import ScoreReport
    from acuity.scoring.request import Request


# Codes of notes that don't apply: libvmaf always compares pictures at their own size.
_NOT_NOTED: Final = ("display",)
# Codes of notes that only repeat the command line: reports have them, stderr doesn't.
_NOT_SAID: Final = ("subsampled", "frame-limit", "skipped")


def main(argv: Sequence[str] | None = None) -> int:
    if argv is None:
        spare_collector()
    arguments = list(sys.argv[1:] if argv is None else argv)
    return guarded("vmaf", lambda: _run(arguments), LIBVMAF_CODES)


def _run(argv: list[str]) -> int:
    settings = parse(argv)
    settings.command = shlex.join(["vmaf", *argv])
    return _ACTIONS[settings.action](settings)


def _version(_: CommandLine) -> int:
    print(version_text("vmaf"), file=sys.stderr)  # as in libvmaf
    return 0


def _help(_: CommandLine) -> int:
    from acuity.cli.vmaf.options import help_page

    print(help_page(), end="")
    return 0


def _list_backends(_: CommandLine) -> int:
    from acuity.cli.lists.backends import as_json

    print(as_json())
    return 0


def _score(settings: CommandLine) -> int:
    from acuity import __version__
    from acuity.cli.scoring import check_target, drawn_entries, exit_code, say, score_with
    from acuity.cli.vmaf.specs import read_specs
    from acuity.report import SHOWN, write_report
    from acuity.scoring.fronts import VMAF
    from acuity.text import one_line

    with embedded("vmaf", settings.embedded) as attach, interruptible() as watch:
        specs = read_specs(settings.models, settings.features)
        if specs.warning is not None:
            print(f"vmaf: warning: {one_line(specs.warning)}", file=sys.stderr)
        request = _request(settings, specs)
        if settings.output is not None:
            videos = [settings.request[name] for name in ("reference", "distorted")]
            check_target(settings.output, [video for video in videos if video is not None])
        report = score_with(_meter(settings), request, attach=attach, watch=watch)
        notes = [note for note in report.notes if note.code not in _NOT_NOTED]
        spoken = report.warnings if settings.quiet else [note for note in notes if note.code not in _NOT_SAID]
        say("vmaf", spoken, VMAF.spell)
        if not (settings.quiet and settings.output is not None):
            for line in score_lines(report):
                print(line, file=sys.stderr)
        if settings.output is not None:
            said = [note.to_dict(VMAF.spell) for note in notes]
            about = {"version": __version__, "notes": said, "command": settings.command, **report.marks()}
            extra = {"acuity": about, **report.tiny_marks()}
            if settings.format in SHOWN:
                extra |= {"acuity": {**report.about(), **about}, **report.page_entries()}
                quiet = settings.quiet or not sys.stderr.isatty()  # as the meter
                extra |= drawn_entries(request, report, settings.pictures, settings.format, watch, quiet)
            form = settings.format, settings.precision
            write_report(report.results, settings.output, *form, extra=extra, version=LIBVMAF_VERSION)
        return exit_code(report, strict=settings.strict)


_ACTIONS = {"score": _score, "version": _version, "help": _help, "list_backends": _list_backends}


def _request(settings: CommandLine, specs: Specs) -> Request:
    from acuity.cli.vmaf.specs import allowed, forbidden_cards
    from acuity.devices import usable_instruction_sets
    from acuity.scoring.request import Request

    asked = {**settings.request, "models": specs.models, "features": specs.features}
    asked["excluded_backends"] = (*settings.excluded, *forbidden_cards(settings.gpumask))
    if not asked.get("no_reference"):
        asked.setdefault("align", "warn")  # libvmaf scores whatever frames it gets
        asked.setdefault("colour", "as-libvmaf")
    if settings.common_bitdepth:
        asked.setdefault("convert", "depth")
    if settings.cpumask:
        asked["cpu"] = allowed(usable_instruction_sets(), settings.cpumask)
    return Request(**asked)


def _meter(settings: CommandLine) -> LibvmafMeter | None:
    if settings.quiet or not sys.stderr.isatty():
        return None
    from acuity.cli.terminal.progress import LibvmafMeter

    return LibvmafMeter(sys.stderr)


def score_lines(report: ScoreReport) -> list[str]:
    """`vmaf_v0.6.1: 76.667831` for each model, then a line with the interval for each collection.

    A score that several models contributed to has a line for each of them.
    """
    results = report.results
    several = report.tiny_model.output_names() if report.tiny_model is not None else []
    shown = {name: name if name in several[1:] else report.results.label(name) for name in report.scores}
    lines = []
    for name, label in shown.items():
        parts = [(str(part), part.first, part.last) for part in results.holders(name)]
        for said, first, last in parts if results.shared(name) else [(label, None, None)]:
            if results.known(name, first, last):
                lines.append(f"{said}: {report.pool(name, 'mean', first, last):.6f}")
    for model in report.models:
        if found := report.interval(model.name):
            lines.append(
                f"{report.results.label(model.name)}: {found['bagging']:.6f}, "
                f"ci.p95: [{found['ci_p95_lo']:.6f}, {found['ci_p95_hi']:.6f}], stddev: {found['stddev']:.6f}"
            )
    return lines
