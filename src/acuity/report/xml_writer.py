"""libvmaf's XML report."""

from collections.abc import Iterator, Mapping

from acuity.report.precision import Precision
from acuity.report.rows import RowStyle, format_rows
from acuity.report.source import ReportSource

# Not xml.sax.saxutils, which imports urllib.
_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"})
_STYLE = RowStyle(cell='{name}="{value}" ')


def write_xml(
    source: ReportSource, precision: Precision, version: str, extra: Mapping[str, object]
) -> Iterator[str]:
    """The report in pieces; the format has no place for extra."""
    yield f'<VMAF version="{_escape(version)}">\n'
    yield f'  <params qualityWidth="{source.width}" qualityHeight="{source.height}" />\n'
    yield f'  <fyi fps="{source.fps:.2f}" />\n'
    yield "  <frames>\n"
    for number, figures in format_rows(source, precision, _STYLE):
        yield f'    <frame frameNum="{number}" {figures}/>\n'
    yield "  </frames>\n  <pooled_metrics>\n"
    for name, methods in source.pooled().items():
        yield f'    <metric name="{_escape(name)}" {_attributes(methods, precision)}/>\n'
    yield "  </pooled_metrics>\n"
    yield f"  <aggregate_metrics {_attributes(source.aggregate, precision)}/>\n</VMAF>\n"


def _attributes(values: Mapping[str, float], precision: Precision) -> str:
    return "".join(f'{name}="{precision.format(value)}" ' for name, value in values.items())


def _escape(text: str) -> str:
    return text.translate(_ENTITIES)
