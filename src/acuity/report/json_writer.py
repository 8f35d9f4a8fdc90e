"""Writes libvmaf's JSON report in libvmaf's layout, but valid also where libvmaf's is not."""

import json
import math
from collections.abc import Iterator, Mapping

from acuity.report.plain import plain
from acuity.report.precision import Precision
from acuity.report.rows import RowStyle, format_rows
from acuity.report.source import ReportSource

_STYLE = RowStyle(cell='        "{name}": {value}', separator=",\n", not_finite="null")


def write_json(
    source: ReportSource, precision: Precision, version: str, extra: Mapping[str, object]
) -> Iterator[str]:
    """The report in pieces; the entries of extra follow libvmaf's keys."""
    yield f'{{\n  "version": {_quote(version)},\n'
    yield f'  "fps": {f"{source.fps:.2f}" if math.isfinite(source.fps) else "null"},\n'
    yield '  "frames": ['
    separator = "\n"
    for number, figures in format_rows(source, precision, _STYLE):
        yield f'{separator}    {{\n      "frameNum": {number},\n'
        yield f'      "metrics": {{\n{figures}\n      }}\n    }}'
        separator = ",\n"
    yield "\n  ],\n"
    yield from _pooled(source, precision)
    yield '  "aggregate_metrics": {'
    yield ",".join(
        f"\n    {_quote(name)}: {_number(value, precision)}" for name, value in source.aggregate.items()
    )
    yield "\n  }"
    for key, value in extra.items():
        yield f",\n  {_quote(key)}: {_extra(value)}"
    yield "\n}\n"


def _pooled(source: ReportSource, precision: Precision) -> Iterator[str]:
    yield '  "pooled_metrics": {'
    separator = "\n"
    for name, methods in source.pooled().items():
        lines = (f'\n      "{method}": {_number(value, precision)}' for method, value in methods.items())
        yield f"{separator}    {_quote(name)}: {{{','.join(lines)}\n    }}"
        separator = ",\n"
    yield "\n  },\n"


def _number(value: float, precision: Precision) -> str:
    return precision.format(value) if math.isfinite(value) else "null"


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _extra(value: object) -> str:
    return json.dumps(plain(value), indent=2, ensure_ascii=False, default=str).replace("\n", "\n  ")
