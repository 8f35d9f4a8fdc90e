"""Writes libvmaf's CSV report, in which a comma follows every field, also the last.

A missing figure is an empty field. libvmaf leaves the field out, which moves the rest of the row under the
wrong headings.
"""

from collections.abc import Iterator, Mapping

from acuity.report.precision import Precision
from acuity.report.rows import RowStyle, format_rows
from acuity.report.source import ReportSource

_STYLE = RowStyle(cell="{value},", absent="")


def write_csv(
    source: ReportSource, precision: Precision, version: str, extra: Mapping[str, object]
) -> Iterator[str]:
    """The report in pieces; the format has no place for version and extra."""
    yield "".join(f"{name}," for name in ("Frame", *source.columns)) + "\n"
    for number, figures in format_rows(source, precision, _STYLE):
        yield f"{number},{figures}\n"
