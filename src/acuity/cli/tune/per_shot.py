"""Choose the quality of each shot: easy shots need fewer bits for a score than hard ones.

Shots are found by looking at the frames, whatever the container, and each is encoded on its own:

    vmaf-tune tune-per-shot film.mkv --target-vmaf 93
    vmaf-tune tune-per-shot film.mkv --target-vmaf 93 --output tuned.mkv
    vmaf-tune tune-per-shot film.mkv --target-vmaf 93 --allocation mean --output tuned.mkv
    vmaf-tune tune-per-shot film.mkv --target-bitrate 2500 --output tuned.mkv
    vmaf-tune tune-per-shot film.mkv --format shell > encode.sh

With --allocation mean, and with a bitrate, bits go to the shots where they gain most (equal slope). --output
makes the stitched video, with a keyframe at each shot, and measures it. The shell script needs ffmpeg."""

from __future__ import annotations

import argparse
import sys
from typing import Any, Final

from acuity.cli.terminal.style import Style, clock, count
from acuity.cli.tune import shared
from acuity.report.tables import Table
from acuity.tune.request import PerShotRequest

USAGE: Final = "SRC [options]"


def _plan(document: dict[str, Any], _: argparse.Namespace) -> str:
    return str(document["plan"])


def _text(document: dict[str, Any], _: argparse.Namespace) -> str:
    style = Style(sys.stdout)
    rate = document["framerate"]
    rows = [
        [
            str(number),
            str(shot["start_frame"]),
            str(shot["end_frame"]),
            clock(shot["start_frame"] / rate, 2),
            str(shot["crf"]),
            f"{shot['predicted_vmaf']:.2f}",
            f"{shot['bitrate_kbps']:,.0f}",
            "" if shot["met"] or document["allocation"] != "each" else "below the target",
        ]
        for number, shot in enumerate(document["shots"], 1)
    ]
    titles = ["shot", "from", "to", "at", document["knob"], "VMAF", "kbit/s", ""]
    predicted, measured = document["predicted"], document["measured"]
    column = predicted["column"].upper()
    lines = [
        *Table(titles, rows, [True] * 7 + [False]).text(),
        style(
            "bold",
            f"{document['encoder']}: {column} {predicted['score']:.2f} at "
            f"{predicted['bitrate_kbps']:,.0f} kbit/s predicted",
        ),
    ]
    if measured is not None:
        lines.append(
            f"  '{measured['path']}' has {count(measured['frames'], 'frame')}, {measured['bytes']:,} bytes, "
            f"{column} {measured['score']:.2f} at {measured['bitrate_kbps']:,.0f} kbit/s measured"
        )
    lines += style.paragraph(
        "dim",
        f"{document['predicate']}; {document['model']}; {count(document['encodes'], 'encode')} made; "
        f"{document['encoder_version']}",
    )
    return "\n".join(lines)


configure, run = shared.command(
    PerShotRequest, {"text": _text, "json": shared.as_json, "shell": _plan, "csv": _plan}
)
