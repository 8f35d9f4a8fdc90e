"""The files of tiny models: those that come with Acuity, those of registries in model folders, and any path.

A registry is a file registry.json in a folder:

    {"schema_version": 1, "models": [{"id": …, "kind": …, "onnx": FILE, "sha256": …, "opset": …}]}

Acuity's own is tiny/models/registry.json; the others are those of the folders in ACUITY_MODEL_PATH, whose
names take precedence.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Final, NamedTuple

from acuity.errors import TO_LIST_MODELS, AcuityError, ModelError, PathError
from acuity.models.document import Section, read_document
from acuity.models.sources import FOLDERS_VARIABLE, TINY_FOLDER
from acuity.models.sources import TINY_REGISTRY as REGISTRY
from acuity.text import quoted, shortened
from acuity.tiny.external_data import MAX_ABOUT, MAX_BYTES, too_large
from acuity.video.local_file import regular_opener

OWN_FOLDER: Final = TINY_FOLDER
_SCHEMA_VERSION: Final = 1
_MOST: Final = 1000


class TinyFile(NamedTuple):
    """A tiny model of a registry."""

    name: str
    path: Path
    kind: str
    size: int  # bytes; 0 if the file isn't there
    sha256: str
    opset: int | None
    license: str | None
    notes: str | None
    source: str  # the registry


def shipped_models() -> list[TinyFile]:
    """The models of all registries by name, those of the user's folders first; raises ModelError."""
    found: dict[str, TinyFile] = {}
    for folder in _folders():
        for file in read_registry(folder):
            found.setdefault(file.name, file)
    return list(found.values())


def find_tiny_model(name: str | PathLike[str]) -> Path:
    """The file of a registered name, or of a path that ends in .onnx; raises ModelError."""
    text = os.fspath(name)
    if not isinstance(name, str) or text.endswith(".onnx") or os.sep in text:
        return Path(text)
    known: dict[str, Path] = {}
    broken: list[AcuityError] = []
    for folder in _folders():
        try:
            known = {file.name: file.path for file in read_registry(folder)} | known
        except (ModelError, PathError) as error:  # names of other registries can still be used
            broken.append(error)
    if text in known:
        return known[text]
    if broken:
        raise broken[0]
    import difflib  # only for this message

    close = difflib.get_close_matches(shortened(text), known, n=3, cutoff=0.5)
    remark = f" (did you mean {' or '.join(close)}?)" if close else ""
    raise ModelError(
        f"there is no tiny model named {quoted(text)}{remark}: there are {', '.join(known) or 'none'}; ",
        TO_LIST_MODELS,
        f", give the path of an .onnx file, or put it with a {REGISTRY} into a folder that "
        f"{FOLDERS_VARIABLE} names",
    )


def read_model(path: Path) -> bytes:
    """The bytes of a model file, which are at most MAX_BYTES; raises ModelError or PathError."""
    try:
        with open(path, "rb", opener=regular_opener) as stream:
            data = stream.read(MAX_BYTES + 1)
    except PathError:
        raise
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = getattr(error, "strerror", None) or str(error)
        raise ModelError(f"the tiny model {str(path)!r} could not be read: {reason}") from None
    if len(data) > MAX_BYTES:
        raise too_large(path)
    return data


def digest(data: bytes) -> str:
    """The SHA-256 in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def registered_digest(path: Path) -> tuple[str, str | None]:
    """The registry beside a model file, and the SHA-256 it has for it; None if it doesn't list it."""
    registry = path.parent / REGISTRY
    if not registry.exists():
        return str(registry), None
    listed = (file.sha256 for file in read_registry(path.parent) if file.path.name == path.name)
    return str(registry), next(listed, None)


def check_registered_kind(path: Path, kind: str) -> None:
    """Refuse a model of which the registry beside it says another kind; raises ModelError."""
    for file in read_registry(path.parent):
        if file.path.name == path.name and file.kind != kind:
            raise ModelError(
                f"the registry {file.source!r} says kind {quoted(file.kind)} of '{path.name}', and by what "
                f"it reads it is {kind!r}: correct the registry"
            )


def read_registry(folder: Path) -> list[TinyFile]:
    """The models of a folder's registry, none if it has no registry; raises ModelError."""
    path = folder / REGISTRY
    if not path.exists():
        return []
    document = read_document(path, MAX_ABOUT, regular=True)
    version = document.number("schema_version")
    if version != _SCHEMA_VERSION:
        raise document.fail("schema_version", f"{version:g} is not known here, only {_SCHEMA_VERSION}")
    entries = document.sections("models")
    if len(entries) > _MOST:
        raise document.fail("models", f"it holds {len(entries)} models, and {_MOST} are the most")
    found = [_entry(folder, path, entry) for entry in entries]
    names = [file.name for file in found]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise document.fail("models", f"it holds the id {quoted(twice)} twice")
    return found


def _entry(folder: Path, registry: Path, entry: Section) -> TinyFile:
    file = entry.text("onnx")
    if not file.endswith(".onnx") or Path(file).name != file:
        raise entry.fail("onnx", f"{quoted(file)} is no name of an .onnx file beside the registry")
    sha256 = entry.text("sha256").lower()
    if len(sha256) != 64 or not set(sha256) <= set("0123456789abcdef"):
        raise entry.fail("sha256", f"{quoted(sha256)} is no SHA-256, which has 64 hexadecimal digits")
    path = folder / file
    try:
        size = path.stat().st_size
    except OSError:
        size = 0
    return TinyFile(
        name=entry.text("id"),
        path=path,
        kind=entry.text("kind"),
        size=size,
        sha256=sha256,
        opset=int(entry.number("opset")) if entry.has("opset") else None,
        license=entry.text("license") if entry.has("license") else None,
        notes=entry.text("notes") if entry.has("notes") else None,
        source=str(registry),
    )


def _folders() -> Iterator[Path]:
    for entry in os.environ.get(FOLDERS_VARIABLE, "").split(os.pathsep):
        if entry:
            yield Path(entry)
    yield OWN_FOLDER
