"""Writes libvmaf's XML report."""

from collections.abc import Iterator, Mapping, Sequence

from acuity.report.precision import Precision
from acuity.report.rows import RowStyle, format_rows
from acuity.report.source import ReportSource

# Not xml.sax.saxutils, which imports urllib.
_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"})
_STYLE = RowStyle(cell='{name}="{value}" ')


def write_xml(
    source: ReportSource, precision: Precision, version: str, extra: Mapping[str, object]
) -> Iterator[str]:
    """The report in pieces; the entry `acuity` of extra is the last element, which libvmaf doesn't have."""
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
    yield f"  <aggregate_metrics {_attributes(source.aggregate, precision)}/>\n"
    about = extra.get("acuity")
    if isinstance(about, Mapping):
        yield from _about(about, extra)
    yield "</VMAF>\n"


def _about(about: Mapping[str, object], extra: Mapping[str, object]) -> Iterator[str]:
    """The element `acuity`: the version, notes, the tiny model, and whether it is partial or was steered."""
    opening = f'  <acuity version="{_escape(str(about.get("version", "")))}"'
    if extra.get("no_reference"):
        opening += ' no_reference="true"'
    elements = [
        *_notes(about.get("notes")),
        *_tiny_model(extra.get("tiny_model")),
        *_partial(about.get("partial")),
        *_steering(about.get("steering")),
    ]
    if not elements:
        yield f"{opening} />\n"
        return
    yield f"{opening}>\n"
    yield from elements
    yield "  </acuity>\n"


def _notes(notes: object) -> Iterator[str]:
    for note in notes if isinstance(notes, Sequence) else ():
        marks = {name: value for name, value in note.items() if name != "text"}
        yield f"    <note{_plain_attributes(marks)}>{_escape(note['text'])}</note>\n"


def _tiny_model(described: object) -> Iterator[str]:
    if isinstance(described, Mapping):
        yield f"    <tiny_model{_plain_attributes(described)} />\n"


def _partial(partial: object) -> Iterator[str]:
    if isinstance(partial, Mapping):
        yield f"    <partial{_plain_attributes(partial)} />\n"


def _steering(steering: object) -> Iterator[str]:
    if not isinstance(steering, Mapping):
        return
    yield f"    <steering{_plain_attributes(steering)}>\n"
    for tag, parts in (("segment", steering["segments"]), ("subsample", steering["subsample"])):
        for part in parts:
            yield f"      <{tag}{_plain_attributes(part)} />\n"
    yield "    </steering>\n"


def _plain_attributes(values: Mapping[str, object]) -> str:
    """Texts and numbers as attributes; None and nested values are left out."""
    plain = ((name, value) for name, value in values.items() if isinstance(value, str | int | float))
    return "".join(f' {name}="{_escape(_plain(value))}"' for name, value in plain)


def _plain(value: str | float) -> str:
    """The value as XML Schema writes it: booleans in lower case."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _attributes(values: Mapping[str, float], precision: Precision) -> str:
    return "".join(f'{name}="{precision.format(value)}" ' for name, value in values.items())


def _escape(text: str) -> str:
    return text.translate(_ENTITIES)
