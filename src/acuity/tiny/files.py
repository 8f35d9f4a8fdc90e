"""The files of tiny models: those that come with Acuity, those of registries in model folders, and any path.

A registry is a file registry.json in a folder:

    {"schema_version": 1, "models": [{"id": …, "kind": …, "onnx": FILE, "sha256": …, "opset": …}]}

Acuity's own is tiny/models/registry.json; the others are those of the folders in ACUITY_MODEL_PATH, whose
names take precedence.

Weights of a model may be in files of their own, which must lie in the model's folder.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from acuity.errors import TO_LIST_MODELS, AcuityError, ModelError, PathError
from acuity.models.document import Section, read_document
from acuity.models.sources import FOLDERS_VARIABLE, TINY_FOLDER
from acuity.models.sources import TINY_REGISTRY as REGISTRY
from acuity.text import quoted, shortened
from acuity.video.local_file import regular_opener

if TYPE_CHECKING:
    from onnx import TensorProto

MAX_BYTES: Final = 50_000_000  # of a model with its weights
MAX_ABOUT: Final = 1 << 20  # bytes of a sidecar or a registry
_DIGITS: Final = 12  # of an offset or a length


def take_in(path: Path, size: int, tensors: Sequence[TensorProto]) -> dict[str, str]:
    """Move weights from files in the model's folder into the tensors; returns the files with their SHA-256.

    `size` is the bytes of the model's own file. Raises ModelError for files elsewhere, files that are too
    short, and more than MAX_BYTES in all, counted as often as they are used.
    """
    from onnx import TensorProto

    files: dict[str, bytes] = {}
    total = size
    for tensor in tensors:
        if tensor.data_location != TensorProto.EXTERNAL:
            continue
        file, offset, length = _place(path, tensor)
        where = f"the tiny model {str(path)!r} has weights in {quoted(file)}"
        if file not in files:
            what = f"{where}, which could not be read"
            files[file] = read_bounded(path.parent / file, MAX_BYTES - total, what, too_large(path))
        data = files[file]
        end = len(data) if length is None else offset + length
        if not offset <= end <= len(data):
            raise ModelError(
                f"{where} up to byte {end}, and that file has {len(data)}: it is truncated or of another "
                "model"
            )
        total += end - offset
        if total > MAX_BYTES:
            raise too_large(path)
        tensor.raw_data = data[offset:end]
        tensor.ClearField("external_data")
        tensor.ClearField("data_location")
    return {name: digest(data) for name, data in files.items()}


def _place(path: Path, tensor: TensorProto) -> tuple[str, int, int | None]:
    """A tensor's file, and where its bytes begin there and how many they are; None: to the end."""
    entries = {entry.key: entry.value for entry in tensor.external_data}
    file = entries.get("location", "")
    if not _is_inside(path.parent, file):
        raise ModelError(
            f"the tiny model {str(path)!r} has weights in {quoted(file)}, and they may only lie in its own "
            "folder: put them there, or export the model as one file"
        )
    numbers: list[int | None] = []
    for key in ("offset", "length"):
        text = entries.get(key, "")
        if text and not (text.isascii() and text.isdigit() and len(text) <= _DIGITS):
            raise ModelError(f"the tiny model {str(path)!r} has weights with the {key} {quoted(text)}")
        numbers.append(int(text) if text else None)
    return file, numbers[0] or 0, numbers[1]


def _is_inside(folder: Path, file: str) -> bool:
    """Whether a file lies in the folder itself, links followed."""
    if not file or "\0" in file or os.path.isabs(file):
        return False
    home = os.path.realpath(folder)
    return os.path.dirname(os.path.realpath(os.path.join(home, file))) == home


def read_bounded(path: Path, most: int, what: str, large: ModelError) -> bytes:
    """The bytes of a regular file; raises PathError, ModelError after the words `what`, or `large`."""
    try:
        with open(path, "rb", opener=regular_opener) as stream:
            data = stream.read(most + 1)
    except PathError:
        raise
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = getattr(error, "strerror", None) or str(error)
        raise ModelError(f"{what}: {reason}") from None
    if len(data) > most:
        raise large
    return data


def too_large(path: Path) -> ModelError:
    return ModelError(
        f"the tiny model {str(path)!r} has more than {MAX_BYTES // 1_000_000} MB with its weights, which "
        "is the most that a tiny model may have"
    )


OWN_FOLDER: Final = Path(TINY_FOLDER)
_SCHEMA_VERSION: Final = 1
_SHA256: Final = re.compile(r"[0-9a-f]{64}")
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
    bundle: str | None = None  # the name of the Sigstore bundle


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
    return read_bounded(path, MAX_BYTES, f"the tiny model {str(path)!r} could not be read", too_large(path))


def digest(data: bytes) -> str:
    """The SHA-256 in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def said_digest(document: Section) -> str:
    """The SHA-256 that a file says of another."""
    said = document.text("sha256").lower()
    if not _SHA256.fullmatch(said):
        raise document.fail("sha256", f"{quoted(said)} is no SHA-256, which has 64 hexadecimal digits")
    return said


def registered(path: Path) -> TinyFile | None:
    """The entry of a model file in the registry beside it; None if it isn't listed there."""
    return next((file for file in read_registry(path.parent) if file.path.name == path.name), None)


def check_registered_kind(path: Path, kind: str) -> None:
    """Refuse a model of which the registry beside it says another kind; raises ModelError."""
    file = registered(path)
    if file is not None and file.kind != kind:
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
    file = _beside(entry, "onnx")
    if not file.endswith(".onnx"):
        raise entry.fail("onnx", f"{quoted(file)} is no name of an .onnx file")
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
        sha256=said_digest(entry),
        opset=int(entry.number("opset")) if entry.has("opset") else None,
        license=entry.text("license") if entry.has("license") else None,
        notes=entry.text("notes") if entry.has("notes") else None,
        source=str(registry),
        bundle=_beside(entry, "sigstore_bundle") if entry.has("sigstore_bundle") else None,
    )


def _beside(entry: Section, key: str) -> str:
    """The name of a file in the registry's folder."""
    name = entry.text(key)
    if Path(name).name != name or name in ("", ".", ".."):
        raise entry.fail(key, f"{quoted(name)} is no name of a file beside the registry")
    return name


def _folders() -> Iterator[Path]:
    for entry in os.environ.get(FOLDERS_VARIABLE, "").split(os.pathsep):
        if entry:
            yield Path(entry)
    yield OWN_FOLDER
