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

from acuity.cli.terminal.style import Style, count
from acuity.cli.tune import shared
from acuity.report.page.page_document import Page, RatePoint, Rates
from acuity.report.tables import Table
from acuity.tune.request import LadderRequest

USAGE: Final = "SRC [options]"


def _playlist(document: dict[str, Any], _: argparse.Namespace) -> str:
    return str(document["playlist"])


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


def _text(document: dict[str, Any], _: argparse.Namespace) -> str:
    about = (
        f"{len(document['samples'])} samples, {count(document['encodes'], 'encode')} made; "
        f"{document['model']}; {document['encoder_version']}"
    )
    lines = [*_table(document).text(), *_written(document.get("package"))]
    return "\n".join([*lines, *Style(sys.stdout).paragraph("dim", about)])


def _written(package: dict[str, Any] | None) -> list[str]:
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
    page = Page(
        "tune",
        f"Ladder of {os.path.basename(document['src'])}",
        f"{document['encoder_version']}; {document['model']}",
        rates=[Rates(name, points) for name, points in curves.items()],
        targets=document["target_vmafs"],
        tables=[("Rungs", _table(document))],
    )
    return shared.tune_page(page, document, arguments)


configure, run = shared.command(
    LadderRequest,
    {"text": _text, "json": shared.as_json, "hls": _playlist, "dash": _playlist, "html": _html},
)
