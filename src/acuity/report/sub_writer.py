"""Writes libvmaf's SUB report: MicroDVD subtitles that show each frame's figures over the video."""

from collections.abc import Iterator, Mapping

from acuity.report.precision import Precision
from acuity.report.rows import RowStyle, format_rows
from acuity.report.source import ReportSource

_STYLE = RowStyle(cell="{name}: {value}|")


def write_sub(
    source: ReportSource, precision: Precision, version: str, extra: Mapping[str, object]
) -> Iterator[str]:
    """The report in pieces; the format has no place for version and extra."""
    for number, figures in format_rows(source, precision, _STYLE):
        yield f"{{{number}}}{{{number + 1}}}frame: {number}|{figures}\n"
