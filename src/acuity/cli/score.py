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
from collections.abc import Sequence
from typing import Final

from acuity.cli.embedded import embedded
from acuity.cli.exits import interruptible
from acuity.cli.score_options import check_pools, configure, embedding, report_format, request, videos
from acuity.cli.scoring import check_target, drawn_entries, exit_code, say, score_with
from acuity.cli.terminal.progress import for_people
from acuity.cli.terminal.style import Style, clock, columns, count, wrapped_columns
from acuity.measure import Results, Segment
from acuity.measure.pooling import Method
from acuity.models.choose import VIEWINGS, ModelChoice
from acuity.models.inputs import AnyModel
from acuity.report import check_output
from acuity.report.tables import Table
from acuity.scoring.fronts import ACUITY
from acuity.scoring.metrics import Headline
from acuity.scoring.report import TINY_ESTIMATE, ScoreReport
from acuity.scoring.run import Source
from acuity.text import one_line
from acuity.video.notes import Level

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


def announce(pairing: Source, models: list[AnyModel], choice: ModelChoice | None) -> None:
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


def _why(choice: ModelChoice) -> str:
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


# ---- the summary -----------------------------------------------------------------------------------


_PERCENTILES: Final = (1, 5, 10, 25, 50, 75, 90)
_MARKS: Final[dict[Level, tuple[str, str]]] = {"warning": ("yellow", "warning: "), "info": ("dim", "")}


def summary(
    report: ScoreReport, style: Style, *, worst: int, pools: Sequence[str], plotted: str | None = None
) -> list[str]:
    """The lines of the summary: warnings, score, spread, chart, worst frames, metrics, notes, speed.

    `plotted` is how a larger plot of all scores and metrics is shown at the end; None: there is none.
    """
    parts = [_notes(report, style, "warning")]
    if report.results.models:
        parts += [
            _headline(report, style),
            _spread(report, style, pools),
            _chart(report, style) if plotted is None else [],
            _worst(report, style, worst),
        ]
    elif not report.headlines:
        pooled = report.results.pooled()
        parts.append(columns([(name, f"mean {methods['mean']:.6g}") for name, methods in pooled.items()]))
    parts += [_metrics(report, style, pools), _notes(report, style, "info"), [_speed(report, style)]]
    if plotted is not None:
        from acuity.cli.terminal.score_plot import score_plot

        parts.append(score_plot(report, style, plotted))
    return [line for part in parts if part for line in ("", *part)]


def _headline(report: ScoreReport, style: Style) -> list[str]:
    results = report.results
    display = report.input["display"]
    shown = "" if display == "native" else f", filling a {display} display"
    if report.subsample is not None and report.subsample > 1:
        shown += f", one frame in {report.subsample}"
    if report.no_reference:
        shown += ", without a reference"
    rows = []
    tiny = report.tiny_model.output_names() if report.tiny_model is not None else ()
    for name in report.scores:
        label = results.label(name)
        if name in tiny:
            label = "tiny model" if label == name else f"tiny model {label}"
        depth = f"{label}, scored at {report.bitdepth} bit{shown}"
        title = "VMAF" if name == "vmaf" else name
        if results.shared(name):
            rows += [(title, _mean(report, part), str(part)) for part in results.holders(name)]
        else:
            rows.append((title, f"{results.pool(name):.2f}", depth))
    names, numbers = (max(len(row[i]) for row in rows) for i in range(2))
    lines = [
        f"  {style('bold', f'{name:{names}}  {number:>{numbers}}')}   {style('dim', label)}"
        for name, number, label in rows
    ]
    lines += [line for model in report.models if (line := _interval(report, model.name))]
    # Beside the score that they are about, not with the other notes.
    limits = [note.spelled(ACUITY.spell) for note in report.notes if note.code == TINY_ESTIMATE]
    return lines + [line for text in limits for line in style.paragraph("yellow", text)]


def _mean(report: ScoreReport, part: Segment) -> str:
    """The mean of one model's part of a score; nothing if no frame of it was measured."""
    if not report.results.known(part.name, part.first, part.last):
        return "-"
    return f"{report.results.pool(part.name, 'mean', part.first, part.last):.2f}"


def _interval(report: ScoreReport, name: str) -> str:
    interval = report.interval(name)
    if not interval:
        return ""
    return f"  95 % of the bootstrap models say {interval['ci_p95_lo']:.2f} to {interval['ci_p95_hi']:.2f}"


def _spread(report: ScoreReport, style: Style, pools: Sequence[str]) -> list[str]:
    """Pools and percentiles, of each model's part where several models contributed to the score."""
    results, parts = report.results, report.results.holders()
    if len(parts) < 2:
        return _pools(results, style, pools)
    measured = [part for part in parts if results.known(None, part.first, part.last)]
    return [
        line
        for part in measured
        for line in (style("dim", f"  {part}"), *_pools(results, style, pools, part.first, part.last))
    ]


def _pools(
    results: Results, style: Style, pools: Sequence[str], first: int | None = None, last: int | None = None
) -> list[str]:
    def pool(method: Method) -> str:
        return f"{results.pool(None, method, first, last):.2f}"

    wanted = [("lowest", "min"), ("harmonic mean", "harmonic_mean"), ("highest", "max")]
    line = "   ".join(f"{label} {pool(method)}" for label, method in wanted)
    percentiles = "   ".join(f"p{p} {pool(('percentile', p))}" for p in _PERCENTILES)
    asked = [style("bold", f"  {method} {pool(method)}") for method in pools]
    return [*asked, *style.paragraph(None, line), *style.paragraph(None, percentiles)]


def _chart(report: ScoreReport, style: Style) -> list[str]:
    if len(report.results.known()) < 2:
        return []
    from acuity.cli.terminal.score_plot import clip_seconds, plot

    width = min(style.columns - 12, 64)
    drawn = plot(report.results.values(), width=width, seconds=clip_seconds(report), unicode=style.unicode)
    return [f"  {line}" for line in drawn]


def _worst(report: ScoreReport, style: Style, number: int) -> list[str]:
    rows = []
    for frame, score in report.results.worst(number):
        seconds = report.time_of(frame)
        at = "" if seconds is None else f"at {clock(seconds, 3)}"
        rows.append((f"{frame:7d}", at, f"{score:.2f}", *report.model_at(frame)))
    return [style("dim", "  worst frames"), *columns(rows)] if rows else []


def _metrics(report: ScoreReport, style: Style, pools: Sequence[str]) -> list[str]:
    """One line for each requested metric; columns without figures are left out."""
    if not report.headlines:
        return []
    titles = ("metric", "mean", "whole clip", "harmonic", "worst 5 %", "worst", *pools, "")
    rows = [_metric(report, headline, pools) for headline in report.headlines]
    shown = [i for i in range(len(titles)) if i == len(titles) - 1 or any(row[i] for row in rows)]
    numeric = [0 < place < len(shown) - 1 for place in range(len(shown))]
    table = Table([titles[i] for i in shown], [[row[i] for i in shown] for row in rows], numeric)
    head, *lines = table.text()
    return [style("dim", head), *lines]


def _metric(report: ScoreReport, headline: Headline, pools: Sequence[str]) -> tuple[str, ...]:
    metric, key = headline.metric, headline.key
    if key in report.results.undefined:
        return (metric.name, *[""] * (5 + len(pools)), "not a number, see above")
    if not report.results.known(key):
        return (metric.name, *[""] * (5 + len(pools)), "no frame has a figure")

    def figure(method: str) -> str:
        return f"{report.pool(key, method):.{metric.decimals}f}"

    worst, few = metric.worst
    harmonic = figure("harmonic_mean") if metric.harmonic else ""
    clip = report.results.aggregate.get(metric.clip)
    whole = "" if clip is None else f"{clip:.{metric.decimals}f}"
    means = f"{metric.unit}, {metric.better} is better".removeprefix(", ")
    name = metric.name if key in (metric.key, metric.name) else f"{metric.name} ({key})"
    figures = (figure("mean"), whole, harmonic, figure(few), figure(worst), *map(figure, pools))
    return (name, *figures, means)


def _notes(report: ScoreReport, style: Style, level: Level) -> list[str]:
    colour, mark = _MARKS[level]
    shown = [note for note in report.notes if note.level == level and note.code != TINY_ESTIMATE]
    sentences = [mark + note.spelled(ACUITY.spell) for note in shown]
    return [line for text in sentences for line in style.paragraph(colour, text)]


def _speed(report: ScoreReport, style: Style) -> str:
    scored, frames = len(report.results.frames), report.pairs
    shown = count(frames, "frame") if scored == frames else f"{scored} of {count(frames, 'frame')}"
    if report.restored:
        shown = count(frames - report.restored, "more frame")
    where = [] if report.card is None else [f"{report.backend} ({report.card})"]
    if report.card is None or "cpu" in report.computed_by.values():
        where.append(f"{count(report.threads, 'thread')} ({report.instruction_set})")
    text = f"{shown} in {report.seconds:.1f} s: {report.speed:.1f} fps on {' and '.join(where)}"
    return "  " + style("dim", text)
