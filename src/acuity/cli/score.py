"""Score a distorted video against its reference: how good would it look to a viewer?

100 looks like the reference, 0 is the worst score. Some common uses:

    acuity score original.mp4 encoded.mp4
    acuity score original.mp4 encoded.mp4 -o report.json
    acuity score original.mp4 encoded.mp4 -o report.html    # a page with the curve, to open in a browser
    acuity score original.mp4 encoded.mp4 --viewing phone
    acuity score original.mp4 encoded.mp4 --metrics vmaf,psnr,ssim,cambi
    acuity score original.mp4 encoded.mp4 --model vmaf_v0.6.1neg --pool p5
    acuity score ref_1920x1080_420p10.yuv encoded.mkv
    acuity score 'shots/shot.%04d.png' encoded.mkv --fps 24
    acuity score original.mp4 encoded.mp4 --json
    acuity score original.mp4 encoded.mp4 --tiny-model acuity_fr_v1
    acuity score encoded.mp4 --no-reference --tiny-model acuity_nr_v1
    acuity score original.mp4 encoded.mp4 --resume report.json    # after Ctrl-C

Missing options are filled in where that is safe: the size and format of raw video from its file
name, the model from the resolution. A pair that could give a wrong number is refused, and the
message names the option that settles it."""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import Final

from acuity.cli.embedded import embedded
from acuity.cli.exits import interruptible
from acuity.cli.page_pictures import drawn_entries
from acuity.cli.progress import for_people
from acuity.cli.score_options import check_pools, configure, embedding, report_format, request, videos
from acuity.cli.scoring import check_target, exit_code, say, score_with
from acuity.cli.style import Style, wrapped_columns
from acuity.cli.summary import summary
from acuity.models.choose import VIEWINGS, Choice
from acuity.report import check_output
from acuity.scoring.fronts import ACUITY
from acuity.scoring.report import TINY_ESTIMATE, AnyModel, ScoreReport
from acuity.scoring.run import Source
from acuity.text import one_line

__all__ = ["MISSING", "SURPLUS", "configure", "run", "score_and_report"]

SURPLUS: Final = "a call scores one encode, so score this one in a call of its own"

MISSING: Final = "; one video alone is scored with --no-reference and --tiny-model"


def run(arguments: argparse.Namespace) -> int:
    check_pools(arguments.pools)
    if arguments.output is None and arguments.resume is not None:
        arguments.output, arguments.format = arguments.resume, "json"  # completes the report
    format = report_format(arguments)
    wanted = request(arguments)
    if arguments.output is None:
        check_output("-")  # the score is only printed
    else:
        check_target(arguments.output, [video for video in videos(arguments) if video is not None])
    quiet = arguments.quiet or arguments.json
    with embedded("acuity", embedding(arguments)) as attach, interruptible() as watch:
        report = score_with(for_people(sys.stderr, quiet), wanted, None if quiet else announce, attach, watch)
        if arguments.output is not None:
            command = getattr(arguments, "command_line", None)
            shown = drawn_entries(wanted, report, arguments.pictures, format, watch, quiet)
            report.write(
                arguments.output, format, arguments.precision, command=command, spell=ACUITY.spell, **shown
            )
        if quiet:  # the summary has them otherwise
            limits = [note for note in report.notes if note.code == TINY_ESTIMATE and arguments.quiet]
            say("acuity", [*report.warnings, *limits], ACUITY.spell)
        print("\n".join(_answer(report, arguments)))
        sys.stdout.flush()
        if arguments.output is not None and format == "json" and report.resumption():
            where = one_line(arguments.output)
            print(f"acuity: interrupted: --resume {where} goes on from there", file=sys.stderr)
    return exit_code(report, strict=arguments.strict)


def score_and_report(reference: str, distorted: str) -> int:
    """Score two files as `acuity score REF DIS` does."""
    parser = argparse.ArgumentParser()
    configure(parser)
    return run(parser.parse_args([reference, distorted]))


def announce(pairing: Source, models: list[AnyModel], choice: Choice | None) -> None:
    """Print, before the first frame, what is compared, with which models and why."""
    style = Style(sys.stderr)
    rows: list[tuple[str, str, str]] = []
    for role, info in (("reference", pairing.info_ref), ("distorted", pairing.info_dis)):
        if info is None:  # one video alone
            continue
        rate = f", {float(info.rate):.6g} fps" if info.rate else ""
        codec = f", {info.codec}" if info.codec else ""
        square = info.aspect in (None, 1)
        shape = "" if square else f" (samples {info.to_dict()['aspect']})"
        pixels = f"{info.width}x{info.height}{shape}, {info.format.layout} {info.format.depth}-bit"
        rows.append((role, os.path.basename(info.path), f"{pixels}{rate}{codec}"))
    if pairing.display != "native":
        what = "both are compared" if pairing.info_ref is not None else "it is scored"
        rows.append(("display", pairing.display, f"{what} at {pairing.width}x{pairing.height}"))
    for model in models:
        shown = "" if model.name in ("vmaf", model.label) else f"shown as {model.name}"
        rows.append(("model", model.label, _why(choice) if choice and model.label == choice.model else shown))
    print("\n".join(wrapped_columns(rows, style, "dim")), file=sys.stderr)


def _why(choice: Choice) -> str:
    if choice.by == "viewing":
        return choice.reason
    *most, last = VIEWINGS
    return f"{choice.reason}; --viewing {', '.join(most)} or {last} chooses VMAF v1"


def _answer(report: ScoreReport, arguments: argparse.Namespace) -> list[str]:
    if arguments.json:
        document = report.to_dict(pools=arguments.pools, worst=arguments.worst, per_frame=arguments.per_frame)
        return [json.dumps(document, indent=2, allow_nan=False)]
    if arguments.quiet:
        return _figures(report)
    return summary(
        report, Style(sys.stdout), worst=arguments.worst, pools=arguments.pools, plotted=arguments.plot
    )


def _figures(report: ScoreReport) -> list[str]:
    """One number a line; with a tiny model among several, behind its name."""
    tiny = report.tiny_model.output_names() if report.tiny_model is not None else []
    named = [(headline.metric.name, headline.key) for headline in report.headlines]
    named = [*named, *((name, name) for name in tiny)] if named else [(name, name) for name in report.scores]
    labelled = bool(tiny) and len(named) > 1
    return [
        f"{name} {report.pool(key):.6f}" if labelled else f"{report.pool(key):.6f}" for name, key in named
    ]
