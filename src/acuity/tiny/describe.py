"""Describes the file of a tiny model for programs and people, without running or parsing its graph.

What a model reads and how good it is comes from its sidecar. A server does this for files of its clients, so
ONNX is left to the workers.
"""

from __future__ import annotations

import importlib.util
import json
import os
from pathlib import Path
from typing import Any, Final, NamedTuple

from acuity.errors import ModelError, PathError
from acuity.models.document import read_document
from acuity.text import bounded
from acuity.tiny.files import MAX_ABOUT, MAX_BYTES, digest, read_model, registered
from acuity.tiny.options import NEEDS_EXTRA
from acuity.tiny.sidecar import check_kind, check_without_sidecar, parse_sidecar, sidecar_path
from acuity.video.local_file import regular_opener

_NEEDED: Final = ("onnx", "onnxruntime")
# Further facts that a sidecar may have, passed on if they aren't too long.
_REPEATED: Final = ("input_shape", "not_for", "held_out", "training")
_MOST_REPEATED: Final = 2500  # characters of JSON of all facts; what would be too much is left out
# Facts that come first, because they decide how a model is used.
_FIRST: Final = ("name", "kind", "inputs", "input_shape", "outputs", "limits", "not_for", "features")
_SINGLE: Final = "by_content"  # figures of single contents, of which there may be many
_READS: Final = {"fr": "reads both videos", "nr": "reads the distorted video alone"}
_FIRST_FIELD: Final = b"\x08"  # of every ONNX file: its version


class TinyDescription(NamedTuple):
    """The facts about a file, and the reason if it can't be used."""

    facts: dict[str, Any]
    problem: str | None

    @property
    def use(self) -> str:
        """A few words for people."""
        reads = _READS.get(str(self.facts.get("kind")), "a tiny model")
        notes = self.facts.get("notes")
        return f"{reads}; {notes}" if notes else reads


def describe_tiny(path: Path, *, model: Path | None = None, sidecar: Path | None = None) -> TinyDescription:
    """The description of a model's file.

    `model` and `sidecar` are where they are read, if not at `path` and beside it: descriptors that were
    checked, say.
    """
    facts: dict[str, Any] = {}
    try:
        data = read_model(model or path)
        facts["sha256"] = digest(data)
        facts = {**_from_sidecar(path, sidecar or sidecar_path(path)), **facts}
        problem = _problem(path, data, facts)
    except (ModelError, PathError) as error:
        problem = str(error)
    if model is not None and problem is not None:
        problem = problem.replace(str(model), str(path)).replace(str(sidecar), str(sidecar_path(path)))
    return TinyDescription(facts, problem or extra_problem())


def tiny_use(path: Path) -> str | None:
    """A few words about what the sidecar of a model says it is for; None if there is none."""
    try:
        facts = _from_sidecar(path, sidecar_path(path))
    except (ModelError, PathError):
        return None
    return TinyDescription(facts, None).use if facts else None


def seems_usable(path: Path) -> bool:
    """Whether a file looks like a model that can be run here, at a glance."""
    try:
        with open(path, "rb", opener=regular_opener) as file:
            first, size = file.read(1), file.seek(0, os.SEEK_END)
    except (OSError, ValueError, PathError):
        return False
    return first == _FIRST_FIELD and size <= MAX_BYTES and extra_problem() is None


def extra_problem() -> str | None:
    """The sentence about a missing ONNX Runtime; None if it is installed."""
    if all(importlib.util.find_spec(name) is not None for name in _NEEDED):
        return None
    return NEEDS_EXTRA


def _problem(path: Path, data: bytes, facts: dict[str, Any]) -> str | None:
    if not data.startswith(_FIRST_FIELD):
        return f"'{path}' is no ONNX model, or it is truncated"
    if facts.get("kind") is not None:
        check_kind(path.stem, facts["kind"])
    file = registered(path)
    said = [("its sidecar", facts.pop("said_sha256", None))]
    said += [(file.source, file.sha256)] if file is not None else []
    for source, wanted in said:
        if wanted not in (None, facts["sha256"]):
            return f"'{path}' is not the file that {source} names: its SHA-256 is another"
    return None


def _from_sidecar(path: Path, sidecar: Path) -> dict[str, Any]:
    """The sidecar's facts as plain values; empty if there is none."""
    if not sidecar.exists():
        check_without_sidecar(path)
        return {}
    document = read_document(sidecar, MAX_ABOUT, regular=True)
    found = parse_sidecar(document)
    facts: dict[str, Any] = {
        "name": found.name or path.stem,
        "kind": found.kind,
        "opset": found.opset,
        "inputs": list(found.inputs) or None,
        "outputs": list(found.outputs) or None,
        "features": list(found.features) or None,
        "codec_aware": found.codec_aware,
        "limits": found.limits,
        **found.facts,
    }
    facts |= {key: _overall(document.values[key]) for key in _REPEATED if key in document.values}
    known = {name: bounded(value) for name, value in facts.items() if value is not None}
    short: dict[str, Any] = {}
    for name in dict.fromkeys([*_FIRST, *known]):
        if name in known and len(json.dumps({**short, name: known[name]})) <= _MOST_REPEATED:
            short[name] = known[name]
    return short if found.sha256 is None else {**short, "said_sha256": found.sha256}


def _overall(value: Any) -> Any:
    """The value without the figures of single contents."""
    if not isinstance(value, dict):
        return value
    return {name: _overall(item) for name, item in value.items() if name != _SINGLE}
