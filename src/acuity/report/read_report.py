"""Reads reports back: Acuity's and libvmaf's JSON, libvmaf's XML and CSV, and documents of `--json`.

What a file holds is told from its content, not from its name. A file that is no report, is cut off or has
figures that are no numbers is refused with one sentence.
"""

from __future__ import annotations

import csv
import json
import os
import re
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any, BinaryIO, Final, NamedTuple

from acuity.errors import InputError
from acuity.foreign_json import NestedTooDeeply, parse_json
from acuity.report.stored_report import StoredReport, figures, frame_numbers, number_or_nan, pooled_figures
from acuity.text import quoted, shortened

SCORE: Final = "acuity.score/1"
COMPARE: Final = "acuity.compare/1"
_READABLE: Final = "pass a JSON, XML or CSV report of acuity score or vmaf"
_LARGEST: Final = 1 << 30  # bytes of a report
_PIECE: Final = 1 << 20
_TOO_LARGE: Final = "it has more than 1 GiB; write it as CSV, which is smaller, or score with --subsample"
_STDIN: Final = ("-", "/dev/stdin")
# libvmaf prints what isn't finite as C does, which is no JSON.
_C_NUMBERS: Final = re.compile(r"(?<=[:\[,\s])(-?)(nan|inf)(?:\([\w]*\))?(?=\s*[,}\]])", re.IGNORECASE)
_SUBTITLES: Final = re.compile(rb"\{\d+\}\{\d+\}")  # MicroDVD, which begins like JSON
_HTML: Final = (b"<!doctype html", b"<html")


class ReadReport(NamedTuple):
    """A report, and what stands beside its frames: `acuity`, `tiny_model` and so on.

    A comparison has no source: its document is `extra`.
    """

    source: StoredReport | None
    extra: dict[str, Any]


def read_report(path: str | os.PathLike[str]) -> ReadReport:
    """The report in a file, or from standard input for '-'; raises InputError."""
    name = os.fspath(path)
    try:
        if name in _STDIN:
            data = b"".join(_pieces(sys.stdin.buffer))
        else:
            if why := _unreadable(os.stat(name)):
                raise InputError(f"the report {quoted(name)} cannot be read: {why}")
            with open(name, "rb") as file:
                data = b"".join(_pieces(file))
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the name
        why = getattr(error, "strerror", None) or str(error)
        raise InputError(f"the report {quoted(name)} cannot be read: {why}") from None
    if len(data) > _LARGEST:
        raise InputError(f"the report {quoted(name)} cannot be read: {_TOO_LARGE}")
    return parse_report(data, name)


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    """The bytes of a file, up to one byte beyond the largest report."""
    left = _LARGEST + 1
    while left and (piece := file.read(min(left, _PIECE))):
        left -= len(piece)
        yield piece


def _unreadable(found: os.stat_result) -> str | None:
    """Why a file can't be a report, before it is opened: a pipe might never end, or never begin."""
    if stat.S_ISDIR(found.st_mode):
        return f"it is a folder; {_READABLE}"
    if not stat.S_ISREG(found.st_mode):
        return "it is no regular file; pass one, or '-' and pipe the report in"
    return _TOO_LARGE if found.st_size > _LARGEST else None


def parse_report(data: bytes, name: str) -> ReadReport:
    """The report in these bytes; `name` is for messages."""
    begin = data[:1000].removeprefix(b"\xef\xbb\xbf").lstrip()
    if not begin:
        raise InputError(f"the report {quoted(name)} is empty: {_READABLE}")
    if begin.lower().startswith(_HTML):
        raise InputError(f"{quoted(name)} is a page: open it in a browser, or {_READABLE}")
    if _SUBTITLES.match(begin):
        raise InputError(f"{quoted(name)} has subtitles (vmaf --sub), not a report: {_READABLE}")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{quoted(name)} is no report: {_READABLE}") from None
    try:
        reader = {b"{": _json, b"[": _json, b"<": _xml}.get(begin[:1], _csv)
        return reader(text)
    except InputError as error:
        raise InputError(f"{quoted(name)} is no report that can be read: {error}; {_READABLE}") from None


def read_document(document: Any) -> ReadReport:
    """The report in a JSON document; raises InputError."""
    if not isinstance(document, Mapping):
        raise InputError("it is JSON, but no object")
    schema = document.get("schema")
    if schema is not None:
        if schema not in _SCHEMAS:
            raise InputError(f"it says that it is {quoted(schema)}, and this version knows {_KNOWN}")
        return _SCHEMAS[schema](document)
    if "frames" not in document:
        raise InputError("it has no 'frames'")
    extra = {key: value for key, value in document.items() if key not in _LIBVMAF}
    if isinstance(document.get("version"), str) and "acuity" not in extra:
        extra["libvmaf"] = document["version"]  # whose report it is
    parameters = document.get("params")
    if isinstance(parameters, Mapping) and isinstance(parameters.get("model"), str):
        extra["labels"] = {"vmaf": parameters["model"]}  # libvmaf 1.x has one model
    return ReadReport(StoredReport.from_document(document), extra)


_LIBVMAF: Final = ("version", "params", "fps", "frames", "pooled_metrics", "aggregate_metrics")
_SIZES: Final = ("qualityWidth", "qualityHeight", "scaledWidth", "scaledHeight")


def _scored(document: Mapping[str, Any]) -> ReadReport:
    """The document of `acuity score --json --per-frame`."""
    rows = document.get("per_frame")
    if not isinstance(rows, Mapping) or not isinstance(rows.get("frame"), list):
        raise InputError("it has no figures of frames: print it with --per-frame, or write one with -o")
    numbers = frame_numbers(rows["frame"])
    for name, values in rows.items():
        if not isinstance(values, list) or len(values) != len(numbers):
            raise InputError(
                f"its column {quoted(name)} has not one figure for each of {len(numbers)} frames"
            )
    models = [one for one in document.get("models") or () if isinstance(one, Mapping) and "name" in one]
    source = StoredReport(
        numbers,
        {name: figures(name, values, numbers) for name, values in rows.items() if name != "frame"},
        fps=number_or_nan(document.get("fps")),
        said=pooled_figures(document.get("features")),
        models=[str(one["name"]) for one in models],
        model_labels={str(one["name"]): str(one.get("label") or one["name"]) for one in models},
    )
    beside = {key: document[key] for key in ("tiny_model", "no_reference") if key in document}
    left = ("schema", "score", "models", "metrics", "worst", "features", "per_frame", *beside)
    about = {key: value for key, value in document.items() if key not in left}
    return ReadReport(source, {"acuity": about, **beside})


_SCHEMAS: Final[dict[Any, Callable[[Mapping[str, Any]], ReadReport]]] = {
    SCORE: _scored,
    COMPARE: lambda document: ReadReport(None, dict(document)),
}
_KNOWN: Final = " and ".join(_SCHEMAS)


def _json(text: str) -> ReadReport:
    try:
        document = parse_json(text)
    except ValueError as error:
        try:
            document = parse_json(_C_NUMBERS.sub(_as_json, text))
        except ValueError:
            raise InputError(_damage(error)) from None
    return read_document(document)


def _as_json(found: re.Match[str]) -> str:
    """C's way to write a number that isn't finite, as JSON can hold it: infinity is too large a number."""
    return f"{found[1]}1e999" if found[2].lower() == "inf" else "null"


def _damage(error: ValueError) -> str:
    """The fault of JSON that can't be read, in words."""
    if isinstance(error, NestedTooDeeply):
        return "its JSON has lists or objects inside each other, too many to be a report's"
    if isinstance(error, json.JSONDecodeError):
        return f"its JSON is cut off or damaged in line {error.lineno}"
    return f"its JSON has a number of more than {sys.get_int_max_str_digits()} digits"


def _xml(text: str) -> ReadReport:
    """libvmaf's XML. Declarations of types and entities are refused, so that nothing can be expanded."""
    from xml.parsers import expat

    rows: list[dict[str, Any]] = []
    document: dict[str, Any] = {"frames": rows, "pooled_metrics": {}, "aggregate_metrics": {}}
    about: dict[str, Any] = {}
    notes: list[dict[str, str]] = []
    inside: list[str] = []

    def start(tag: str, attributes: dict[str, str]) -> None:
        if not inside and tag != "VMAF":
            raise InputError(f"its first element is <{shortened(tag)}>, not <VMAF>")
        inside.append(tag)
        match tag:
            case "frame":
                number = attributes.pop("frameNum", "")
                metrics = {name: _number(value, name) for name, value in attributes.items()}
                rows.append({"frameNum": _whole(number, "frameNum"), "metrics": metrics})
            case "VMAF":
                document["version"] = attributes.get("version", "")
            case "fyi":
                speed = attributes.get("fps", attributes.get("execFps"))  # 1.x has the latter
                document["fps"] = None if speed is None else _number(speed, "fps")
            case "metric":
                name = attributes.pop("name", "")
                document["pooled_metrics"][name] = {key: _number(v, name) for key, v in attributes.items()}
            case "aggregate_metrics":
                document["aggregate_metrics"] = {key: _number(v, key) for key, v in attributes.items()}
            case "params":
                sizes = {name: _whole(text, name) for name, text in attributes.items() if name in _SIZES}
                document["params"] = {**attributes, **sizes}
            case "acuity":
                about["version"] = attributes.get("version", "")
                if attributes.get("no_reference") == "true":
                    document["no_reference"] = True
            case "note":
                notes.append({"level": "info", "code": "", **attributes, "text": ""})
            case "tiny_model":
                document["tiny_model"] = dict(attributes)
            case "partial":
                about["partial"] = {
                    key: _whole(v, key) if v.isdigit() else v for key, v in attributes.items()
                }
            case "steering":
                stopped = attributes.get("stopped_after")
                after = _whole(stopped, "stopped_after") if stopped else None
                about["steering"] = {"segments": [], "subsample": [], "stopped_after": after}
            case "segment" | "subsample" if "steering" in about:
                kind = "segments" if tag == "segment" else tag
                part = {key: _whole(v, key) if v.isdigit() else v for key, v in attributes.items()}
                about["steering"][kind].append(part)

    def said(text: str) -> None:
        if inside and inside[-1] == "note":
            notes[-1]["text"] += text

    def refuse(*_: Any) -> None:
        raise InputError("it declares a document type, which no report has")

    parser = expat.ParserCreate()
    parser.StartElementHandler = start
    parser.EndElementHandler = lambda _: inside.pop()
    parser.CharacterDataHandler = said
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(text.encode(), True)
    except expat.ExpatError as error:
        raise InputError(f"its XML is cut off or damaged in line {error.lineno}") from None
    if notes:
        about["notes"] = notes
    return read_document({**document, **({"acuity": about} if about else {})})


def _csv(text: str) -> ReadReport:
    """libvmaf's CSV, in which a comma follows every field."""
    csv.field_size_limit(1 << 20)
    lines = csv.reader(text.splitlines())
    try:
        titles = [title.strip() for title in next(lines)]
        if not titles or titles[0] != "Frame":
            raise InputError("it is neither JSON nor XML, nor CSV with a first column 'Frame'")
        names = titles[1:-1] if titles[-1] == "" else titles[1:]
        if len(set(names)) < len(names):
            raise InputError("two of its columns have the same name")
        rows = []
        for number, line in enumerate(lines, 2):
            if not line:
                continue
            if len(line) not in (len(names) + 1, len(names) + 2):
                raise InputError(f"line {number} has {len(line)} fields where the first has {len(titles)}")
            fields = dict(zip(names, line[1:], strict=False))
            metrics = {name: _number(value, name) for name, value in fields.items() if value}
            rows.append({"frameNum": _whole(line[0], "Frame"), "metrics": metrics})
    except csv.Error as error:
        raise InputError(f"its CSV is damaged: {error}") from None
    return read_document({"frames": rows})


def _number(text: str, name: str) -> float:
    try:
        if "_" in text:
            raise ValueError
        return float(text)  # nan and inf too
    except ValueError:
        raise InputError(f"{quoted(name)} is {quoted(text)}, which is no number") from None


def _whole(text: str, name: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise InputError(f"{quoted(name)} is {quoted(text)}, which is no whole number")
    return int(text)
