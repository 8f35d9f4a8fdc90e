"""Writes reports in libvmaf's four formats: JSON, XML, CSV and SUB.

A complete row of ordinary figures is formatted by one % operation, other rows figure by figure. Formatting is
most of the time for reports of a hundred thousand frames.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from acuity import __version__
from acuity.measure.results import figures_of
from acuity.records import NamedTuple
from acuity.report.document import Extra, ReportSource, plain
from acuity.report.precision import Precision, parse_precision


class RowStyle(NamedTuple):
    """The layout of one frame's figures in a format."""

    cell: str  # with {name} and {value}
    separator: str = ""
    absent: str | None = None  # printed for a missing figure; None leaves it out
    not_finite: str | None = None  # printed for a figure that isn't finite; None: as C prints it


def format_rows(source: ReportSource, precision: Precision, style: RowStyle) -> Iterator[tuple[int, str]]:
    """The number and the formatted figures of every frame that has any, in order."""
    names = list(source.columns)
    if not names:
        return
    figures = figures_of(source.columns)
    parted = (style.cell.replace("{name}", name).partition("{value}") for name in names)
    pieces = [(before, after) for before, _, after in parted]  # of the value of each column
    undefined: Mapping[str, Sequence[bool]] = getattr(source, "undefined", {})
    literal = ((before.replace("%", "%%"), after.replace("%", "%%")) for before, after in pieces)
    template = style.separator.join(before + precision.usual + after for before, after in literal)
    # Texts of figures that aren't finite, or whose fraction may be too small for the usual format.
    odd = ("nan", "inf") if precision.uniform else ("nan", "inf", ".00000")
    for row, values in enumerate(zip(*(figures[name] for name in names), strict=True)):
        number, text = int(source.frames[row]), template % values
        if not any(part in text for part in odd):
            yield number, text
            continue
        here = [name in undefined and bool(undefined[name][row]) for name in names]
        if any(here) or any(value == value for value in values):
            yield number, _format_odd_row(values, here, pieces, precision, style)


def _format_odd_row(
    values: Sequence[float],
    undefined: list[bool],
    pieces: list[tuple[str, str]],
    precision: Precision,
    style: RowStyle,
) -> str:
    cells = []
    for value, computed, (before, after) in zip(values, undefined, pieces, strict=True):
        if value != value and not computed:
            if style.absent is not None:
                cells.append(before + style.absent + after)
            continue
        finite = math.isfinite(value)
        text = precision.format(value) if finite or style.not_finite is None else style.not_finite
        cells.append(before + text + after)
    return style.separator.join(cells)


_CSV = RowStyle(cell="{value},", absent="")


def write_csv(source: ReportSource, precision: Precision, version: str, extra: Extra) -> Iterator[str]:
    """The report in pieces; the format has no place for version and extra.

    A comma follows every field, also the last. A missing figure is an empty field; libvmaf leaves the field
    out, which moves the rest of the row under the wrong headings.
    """
    yield "".join(f"{name}," for name in ("Frame", *source.columns)) + "\n"
    for number, figures in format_rows(source, precision, _CSV):
        yield f"{number},{figures}\n"


_SUB = RowStyle(cell="{name}: {value}|")


def write_sub(source: ReportSource, precision: Precision, version: str, extra: Extra) -> Iterator[str]:
    """MicroDVD subtitles that show each frame's figures over the video; version and extra have no place."""
    for number, figures in format_rows(source, precision, _SUB):
        yield f"{{{number}}}{{{number + 1}}}frame: {number}|{figures}\n"


_JSON = RowStyle(cell='        "{name}": {value}', separator=",\n", not_finite="null")


def write_json(source: ReportSource, precision: Precision, version: str, extra: Extra) -> Iterator[str]:
    """The report in libvmaf's layout, but valid also where libvmaf's is not; extra follows libvmaf's keys."""
    yield f'{{\n  "version": {_quote(version)},\n'
    yield f'  "fps": {f"{source.fps:.2f}" if math.isfinite(source.fps) else "null"},\n'
    yield '  "frames": ['
    separator = "\n"
    for number, figures in format_rows(source, precision, _JSON):
        yield f'{separator}    {{\n      "frameNum": {number},\n'
        yield f'      "metrics": {{\n{figures}\n      }}\n    }}'
        separator = ",\n"
    yield "\n  ],\n"
    pooled = (
        f"\n    {_quote(name)}: {{{_entries(methods, precision, 6)}\n    }}"
        for name, methods in source.pooled().items()
    )
    yield f'  "pooled_metrics": {{{",".join(pooled)}\n  }},\n'
    yield f'  "aggregate_metrics": {{{_entries(source.aggregate, precision, 4)}\n  }}'
    for key, value in extra.items():
        text = json.dumps(plain(value), indent=2, ensure_ascii=False, default=str).replace("\n", "\n  ")
        yield f",\n  {_quote(key)}: {text}"
    yield "\n}\n"


def as_document(
    source: ReportSource, precision: str | int = "legacy", *, extra: Extra | None = None
) -> dict[str, Any]:
    """The JSON report as a document, for code that passes it on inside a program."""
    pieces = write_json(source, parse_precision(precision), __version__, extra or {})
    document: dict[str, Any] = json.loads("".join(pieces))
    return document


def report_rows(source: ReportSource, precision: Precision) -> Iterator[dict[str, Any]]:
    """Every frame of the JSON report that has figures, as in its document."""
    for number, figures in format_rows(source, precision, _JSON):
        yield {"frameNum": number, "metrics": json.loads(f"{{{figures}}}")}


def _entries(figures: Mapping[str, float], precision: Precision, indent: int) -> str:
    """Figures by name as lines of an object; null for those that aren't finite."""
    texts = {name: precision.format(v) if math.isfinite(v) else "null" for name, v in figures.items()}
    return ",".join(f"\n{' ' * indent}{_quote(name)}: {text}" for name, text in texts.items())


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"})
_XML = RowStyle(cell='{name}="{value}" ')


def write_xml(source: ReportSource, precision: Precision, version: str, extra: Extra) -> Iterator[str]:
    """The report in pieces; the entry `acuity` of extra is the last element, which libvmaf doesn't have."""
    yield f'<VMAF version="{_escape(version)}">\n'
    yield f'  <params qualityWidth="{source.width}" qualityHeight="{source.height}" />\n'
    yield f'  <fyi fps="{source.fps:.2f}" />\n'
    yield "  <frames>\n"
    for number, figures in format_rows(source, precision, _XML):
        yield f'    <frame frameNum="{number}" {figures}/>\n'
    yield "  </frames>\n  <pooled_metrics>\n"
    for name, methods in source.pooled().items():
        yield f'    <metric name="{_escape(name)}" {_attributes(methods, precision)}/>\n'
    yield "  </pooled_metrics>\n"
    yield f"  <aggregate_metrics {_attributes(source.aggregate, precision)}/>\n"
    about = extra.get("acuity")
    if isinstance(about, Mapping):
        yield from _about(about, extra)
    yield "</VMAF>\n"


def _about(about: Mapping[str, object], extra: Mapping[str, object]) -> Iterator[str]:
    """The element `acuity`: the version, notes, the tiny model, and whether it is partial or was steered."""
    opening = f'  <acuity version="{_escape(str(about.get("version", "")))}"'
    opening += ' no_reference="true"' if extra.get("no_reference") else ""
    elements = list(_elements(about, extra))
    yield f"{opening}>\n" if elements else f"{opening} />\n"
    yield from elements
    yield "  </acuity>\n" if elements else ""


def _elements(about: Mapping[str, object], extra: Mapping[str, object]) -> Iterator[str]:
    notes, steering = about.get("notes"), about.get("steering")
    for note in notes if isinstance(notes, Sequence) else ():
        marks = {name: value for name, value in note.items() if name != "text"}
        yield f"    <note{_plain_attributes(marks)}>{_escape(note['text'])}</note>\n"
    for tag, described in (("tiny_model", extra.get("tiny_model")), ("partial", about.get("partial"))):
        if isinstance(described, Mapping):
            yield f"    <{tag}{_plain_attributes(described)} />\n"
    if isinstance(steering, Mapping):
        yield f"    <steering{_plain_attributes(steering)}>\n"
        for tag, parts in (("segment", steering["segments"]), ("subsample", steering["subsample"])):
            yield from (f"      <{tag}{_plain_attributes(part)} />\n" for part in parts)
        yield "    </steering>\n"


def _plain_attributes(values: Mapping[str, object]) -> str:
    """Texts and numbers as attributes; None and nested values are left out."""
    plain = ((name, value) for name, value in values.items() if isinstance(value, str | int | float))
    # Booleans as XML Schema writes them: in lower case.
    texts = ((name, str(value).lower() if isinstance(value, bool) else str(value)) for name, value in plain)
    return "".join(f' {name}="{_escape(text)}"' for name, text in texts)


def _attributes(values: Mapping[str, float], precision: Precision) -> str:
    return "".join(f'{name}="{precision.format(value)}" ' for name, value in values.items())


def _escape(text: str) -> str:
    return text.translate(_ENTITIES)
