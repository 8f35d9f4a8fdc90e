"""Find the quality setting of an encoder that reaches a score with the fewest bits.

    vmaf-tune search film.mkv --target-vmaf 93
    vmaf-tune search film.mkv --target-vmaf 93 --encoder libsvtav1 --preset slow --encode film.av1.mkv
    vmaf-tune search film.mkv --target-vmaf 90 --pool p5
    vmaf-tune search film.mkv --metric ssim --target 0.99
    vmaf-tune search film.mkv --target-bitrate 2500
    vmaf-tune search film.mkv --target-size 700M --encode film.mp4
    vmaf-tune search film.mkv --sample 60

Usually three encodes are enough. Each is scored while it is made, with the settings of the final file, and
remembered, so that another target, or the same command after Ctrl-C, starts from what is known."""

from __future__ import annotations

import argparse
import sys
from typing import Any, Final

from acuity.cli.terminal.style import Style, count
from acuity.cli.tune import shared
from acuity.report.tables import Table
from acuity.tune.request import SearchRequest

USAGE: Final = "SRC [options]"
_COLUMNS: Final = (
    *("crf", "bitrate_kbps", "bytes", "vmaf_score", "harmonic_mean", "p5", "min", "encode_time_ms"),
)


def _text(document: dict[str, Any], _: argparse.Namespace) -> str:
    style = Style(sys.stdout)
    other = _other(document["target"])
    best = document if document["ok"] else document["nearest"]
    rows = [
        [
            "*" if point["crf"] == best["crf"] else "",
            str(point["crf"]),
            *([f"{point['figure']:.6g}"] if other else []),
            f"{point['vmaf_score']:.2f}",
            f"{point['p5']:.2f}",
            f"{point['min']:.2f}",
            f"{point['bitrate_kbps']:,.0f}",
            f"{point['bytes']:,}",
            "remembered" if point["cached"] else f"{point['encode_time_ms'] / 1000:.1f} s",
        ]
        for point in document["points"]
    ]
    figures = ["VMAF", "p5", "min", "kbit/s", "bytes", "CPU time"]
    titles = ["", document["knob"], *([other] if other else []), *figures]
    spare = ("bytes", "CPU time", "min", "p5")
    table = Table(titles, rows, [False, *[True] * (len(titles) - 2), False], spare)
    shown = document["target"]["shown"] if other else f"VMAF {best['vmaf_score']:.2f}"
    answer = (
        f"{document['codec']} {document['knob']} {best['crf']}: {shown} at {best['bitrate_kbps']:,.0f} kbit/s"
    )
    lines = [style("bold", answer), *table.text(width=style.columns if style.terminal else None)]
    if document["error"]:
        lines += style.paragraph("yellow", document["error"])
    if document["encode"] is not None:
        lines += style.paragraph(None, _file(document["encode"]))
    lines += style.paragraph(
        "dim",
        f"{document['model']}; {count(document['encodes'], 'encode')} made in "
        f"{document['wall_time_ms'] / 1000:.1f} s; {document['encoder_version']}",
    )
    return "\n".join(lines)


def _other(target: dict[str, Any]) -> str | None:
    """The title of the target's own figure, unless that is the mean VMAF or a limit of bits."""
    if target["kind"] != "quality" or (target["metric"], target["pool"]) == ("vmaf", "mean"):
        return None
    metric = target["metric"].upper()
    return metric if target["pool"] == "mean" else f"{target['pool']} {metric}"


def _file(made: dict[str, Any]) -> str:
    return (
        f"'{made['path']}' has {made['bytes']:,} bytes, VMAF {made['vmaf_score']:.2f} measured "
        f"({made['predicted_vmaf']:.2f} predicted) at {made['bitrate_kbps']:,.0f} kbit/s"
    )


configure, run = shared.command(
    SearchRequest, {"text": _text, "json": shared.as_json, "csv": shared.as_csv("points", _COLUMNS)}
)
