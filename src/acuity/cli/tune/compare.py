"""Rank encoders by the bits that they need for a score.

Each encoder is searched for the quality setting that reaches the target, in about three encodes:

    vmaf-tune compare film.mkv --target-vmaf 93
    vmaf-tune compare film.mkv --target-vmafs 90,93,95 --encoders libx264,libsvtav1 --preset slow
    vmaf-tune compare film.mkv --target-vmafs 90,93,95 --format html -o compare.html
    vmaf-tune compare film.mkv --no-bisect --crf-sweep 22,27,32,37
    vmaf-tune compare film.mkv --sample 60

Rows are ranked by bitrate; one that fails says why, and the others go on. With enough encodes the BD-rate
says how many bits an encoder saves against the first one on average. The HTML draws all curves."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from typing import Any, Final

from acuity.cli.terminal.style import Style, count
from acuity.cli.tune import shared
from acuity.report.page.page_document import FigureTile, Page, PageNote, RatePoint, Rates
from acuity.report.tables import Table
from acuity.scoring.metrics import METRICS
from acuity.tune.request import CompareRequest

USAGE: Final = "SRC [options]"
_COLUMNS: Final = (
    *("codec", "adapter", "runtime_variant", "ffmpeg_bin", "encoder_version", "target_vmaf", "best_crf"),
    *("bitrate_kbps", "vmaf_score", "encode_time_ms", "ok", "error"),
)


def _table(document: dict[str, Any]) -> Table:
    least: dict[Any, float] = {}
    for row in document["rows"]:
        if row["ok"]:
            least.setdefault(row["target_vmaf"], row["bitrate_kbps"])
    score = _score_name(document)
    titles = ["encoder", "target", "crf", score, "kbit/s", "more", "encodes", "CPU s", ""]
    rows = [
        [
            row["codec"],
            _number(row["target_vmaf"], "g"),
            _number(row["best_crf"], "g"),
            _number(row["vmaf_score"], f".{METRICS[document['metric']].decimals}f"),
            _number(row["bitrate_kbps"], ",.0f"),
            _more(row, least.get(row["target_vmaf"])),
            _number(row.get("encodes"), "d"),
            "" if row["encode_time_ms"] is None else f"{row['encode_time_ms'] / 1000:.1f}",
            row["error"] or "",
        ]
        for row in document["rows"]
    ]
    table = Table(titles, rows, [False, *[True] * 7, False], ("CPU s", "encodes", "more"))
    if document.get("mode") == "crf_sweep":
        table = table.without("encodes").without("more")
        return table.without("target") if document["target_vmaf"] is None else table
    return table


def _savings(document: dict[str, Any]) -> list[str]:
    said = []
    for entry in document["bd_rate"]:
        if entry["percent"] is None:
            said.append(f"no BD-rate: {entry['reason']}")
            continue
        word = "fewer" if entry["percent"] <= 0 else "more"
        said.append(
            f"{entry['codec']} needs {abs(entry['percent']):.1f} % {word} bits than {entry['against']} "
            "for the same score (BD-rate)"
        )
    return list(dict.fromkeys(said))


def _text(document: dict[str, Any], _: argparse.Namespace) -> str:
    style = Style(sys.stdout)
    lines = _table(document).text(width=style.columns if style.terminal else None)
    for line in _savings(document):
        lines += style.paragraph(None, line)
    return "\n".join([*lines, *style.paragraph("dim", _summary(document))])


def _markdown(document: dict[str, Any], _: argparse.Namespace) -> str:
    lines = [f"# {_title(document)}", "", *_table(document).markdown()]
    if document["bd_rate"]:
        lines += ["", *(f"- {line}" for line in _savings(document))]
    return "\n".join([*lines, "", _summary(document)])


def _html(document: dict[str, Any], arguments: argparse.Namespace) -> str:
    searched = document.get("mode") != "crf_sweep"  # a sweep chooses none
    chosen = {(row["codec"], row["best_crf"]) for row in document["rows"] if row["ok"] and searched}

    def drawn(codec: str, point: dict[str, Any]) -> RatePoint:
        crf = point["crf"]
        return RatePoint(point["bitrate_kbps"], point["vmaf_score"], f"crf {crf}", (codec, crf) in chosen)

    rates = [
        Rates(codec, [drawn(codec, point) for point in curve["points"]])
        for curve in document["curves"]
        for codec in [curve["codec"]]
    ]
    targets = document.get("target_vmafs") or [document.get("target_vmaf")]
    found = _table(document)
    failed = any(row["error"] for row in document["rows"])
    shown = found._replace(titles=[*found.titles[:-1], "error"]) if failed else found.without("")
    page = Page(
        *("tune", _title(document), _summary(document)),
        cards=list(_cards(document)),
        rates=rates,
        rate_score=_score_name(document),
        targets=[target for target in targets if target is not None],
        tables=[("Encoders", shown)],
        notes=[PageNote("info", text) for text in _savings(document)],
    )
    return shared.tune_page(page, document, arguments)


def _cards(document: dict[str, Any]) -> Iterator[FigureTile]:
    seen = set()
    for row in document["rows"]:
        if row["ok"] and row["target_vmaf"] is not None and row["target_vmaf"] not in seen:
            seen.add(row["target_vmaf"])
            score = f"{_score_name(document)} {row['vmaf_score']:.{METRICS[document['metric']].decimals}f}"
            yield FigureTile(
                f"{row['codec']}, for {row['target_vmaf']:g}",
                f"{row['bitrate_kbps']:,.0f} kbit/s",
                f"the fewest bits: {score} at crf {row['best_crf']}",
            )


def _both(document: dict[str, Any], arguments: argparse.Namespace) -> str:
    return f"{_markdown(document, arguments)}\n\n```json\n{shared.as_json(document)}\n```"


def _title(document: dict[str, Any]) -> str:
    return f"Encoders compared on {os.path.basename(document['src'])}"


def _summary(document: dict[str, Any]) -> str:
    versions = {row["encoder_version"]: None for row in document["rows"] if row["encoder_version"]}
    seconds = document["wall_time_ms"] / 1000
    return (
        f"{count(document['encodes'], 'encode')} made in {seconds:.1f} s by {document['tool_version']}; "
        f"{'; '.join(versions) or 'no encoder'}"
    )


def _score_name(document: dict[str, Any]) -> str:
    name = document["metric"].upper()
    return name if document["pool"] == "mean" else f"{document['pool']} {name}"


def _number(value: Any, form: str) -> str:
    return "" if value is None else format(value, form)


def _more(row: dict[str, Any], least: float | None) -> str:
    if not row["ok"] or not least:
        return ""
    return f"{100 * (row['bitrate_kbps'] / least - 1):+.0f} %" if row["bitrate_kbps"] > least else "least"


_PAGES: Final[shared.Renderers] = {"csv": shared.as_csv("rows", _COLUMNS), "html": _html, "both": _both}
configure, run = shared.command(
    CompareRequest, {"text": _text, "markdown": _markdown, "json": shared.as_json, **_PAGES}
)
