"""Build a bitrate ladder for a video: which sizes at which bitrates, as JSON, HLS or DASH.

Every size is encoded over a few quality settings and scored at the source's size, as a player would show it.
Rungs are taken from the convex hull of all samples, far enough apart to be told apart:

    vmaf-tune ladder film.mkv --resolutions 1920x1080,1280x720,640x360 --target-vmafs 95,90,80
    vmaf-tune ladder film.mkv --resolutions 1920x1080,960x540 --target-vmafs 95,75 --format hls
    vmaf-tune ladder film.mkv --resolutions 1920x1080,960x540 --target-vmafs 95,75 --encode out/

The highest target is that of the top rung, the lowest that of the bottom one. --encode makes renditions in
segments with playlists for HLS and DASH that play, and measures them."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any, Final

from acuity.cli.exits import FAILED, OK
from acuity.cli.getopt import UsageError
from acuity.cli.style import Style
from acuity.cli.tune.answers import as_json, check_answer, deliver, say_notes
from acuity.cli.tune.options import configure as add_options
from acuity.cli.tune.options import request
from acuity.cli.tune.page import tune_page
from acuity.cli.tune.progress import shown
from acuity.report.page.page_document import RatePoint, Rates
from acuity.report.tables import Table
from acuity.tune.request import LadderRequest

USAGE: Final = "SRC [options]"
FORMATS: Final = ("text", "json", "hls", "dash", "html")


def configure(parser: argparse.ArgumentParser) -> None:
    add_options(parser, LadderRequest, formats=FORMATS)


def run(arguments: argparse.Namespace) -> int:
    from acuity.tune.run import run_ladder

    for name in ("resolutions", "target_vmafs"):
        if not getattr(arguments, name):
            option = f"--{name.replace('_', '-')}"
            raise UsageError(f"{option} is missing: pass it, as in the examples of 'vmaf-tune ladder --help'")
    format = arguments.format
    arguments.format = format if format in ("hls", "dash") else "json"
    wanted = request(LadderRequest, arguments)
    check_answer(arguments.output, wanted)
    with shown(sys.stderr, arguments.quiet) as listener:
        document = run_ladder(wanted, listener=listener)
    if format not in ("json", "html"):
        say_notes(document["notes"])
    deliver(_answer(document, format, arguments), arguments.output)
    return OK if document["ok"] else FAILED


def _answer(document: dict[str, Any], format: str, arguments: argparse.Namespace) -> str:
    if format in ("hls", "dash"):
        return str(document["playlist"])
    if format == "json":
        return as_json(document)
    return _html(document, arguments) if format == "html" else "\n".join(_text(document))


def _table(document: dict[str, Any]) -> Table:
    rows = [
        [
            f"{rung['width']}x{rung['height']}",
            str(rung["crf"]),
            f"{rung['vmaf']:.2f}",
            f"{rung['bitrate_kbps']:,.0f}",
            f"{rung['bandwidth_bps'] / 1000:,.0f}",
            rung["codecs"],
        ]
        for rung in document["rungs"]
    ]
    return Table(["size", "crf", "VMAF", "kbit/s", "peak", "codecs"], rows, [False, *[True] * 4, False])


def _text(document: dict[str, Any]) -> list[str]:
    style = Style(sys.stdout)
    made = document["encodes"]
    return [
        *_table(document).text(),
        *_written(document.get("package")),
        *style.paragraph(
            "dim",
            f"{len(document['samples'])} samples, {made} encode{'' if made == 1 else 's'} made; "
            f"{document['model']}; {document['encoder_version']}",
        ),
    ]


def _written(package: dict[str, Any] | None) -> list[str]:
    """What --encode has made, measured beside predicted."""
    if package is None:
        return []
    rows = [
        [
            made["name"],
            f"{made['vmaf']:.2f} ({made['predicted_vmaf']:.2f})",
            f"{made['bitrate_kbps']:,.0f} ({made['predicted_bitrate_kbps']:,.0f})",
            str(made["segments"]),
        ]
        for made in package["renditions"]
    ]
    titles = ["rendition", "VMAF (predicted)", "kbit/s (predicted)", "segments"]
    where = f"  written to '{package['folder']}': {package['hls']}, {package['dash']}"
    return [where, *Table(titles, rows, [False, True, True, True]).text("    ")]


def _html(document: dict[str, Any], arguments: argparse.Namespace) -> str:
    rungs = {(rung["width"], rung["height"], rung["crf"]) for rung in document["rungs"]}
    curves: dict[str, list[RatePoint]] = {}
    for sample in document["samples"]:
        if sample.get("error"):
            continue
        size = sample["width"], sample["height"]
        point = RatePoint(
            sample["bitrate_kbps"], sample["vmaf"], f"crf {sample['crf']}", (*size, sample["crf"]) in rungs
        )
        curves.setdefault("{}x{}".format(*size), []).append(point)
    return tune_page(
        f"Ladder of {os.path.basename(document['src'])}",
        f"{document['encoder_version']}; {document['model']}",
        [Rates(name, points) for name, points in curves.items()],
        [("Rungs", _table(document))],
        targets=document["target_vmafs"],
        notes=document["notes"],
        facts=[("source", document["src"])],
        arguments=arguments,
    )
