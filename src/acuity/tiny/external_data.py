"""Weights of a model in files of their own, which must lie in the model's folder."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from acuity.errors import ModelError, PathError
from acuity.text import quoted
from acuity.video.local_file import regular_opener

if TYPE_CHECKING:
    from onnx import TensorProto

MAX_BYTES: Final = 50_000_000  # of a model with its weights
MAX_ABOUT: Final = 1 << 20  # bytes of a sidecar or a registry
_DIGITS: Final = 12  # of an offset or a length


class _Place(NamedTuple):
    """Where a tensor's bytes are in a file."""

    file: str
    offset: int
    length: int | None  # None: to the end


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
        place = _place(path, tensor)
        if place.file not in files:
            files[place.file] = _read(path, place.file, MAX_BYTES - total)
        data = files[place.file]
        end = len(data) if place.length is None else place.offset + place.length
        if not place.offset <= end <= len(data):
            raise ModelError(
                f"the tiny model {str(path)!r} has weights in {quoted(place.file)} up to byte {end}, and "
                f"that file has {len(data)}: it is truncated or of another model"
            )
        total += end - place.offset
        if total > MAX_BYTES:
            raise too_large(path)
        tensor.raw_data = data[place.offset : end]
        tensor.ClearField("external_data")
        tensor.ClearField("data_location")
    return {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}


def _place(path: Path, tensor: TensorProto) -> _Place:
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
    return _Place(file, numbers[0] or 0, numbers[1])


def _is_inside(folder: Path, file: str) -> bool:
    """Whether a file lies in the folder itself, links followed."""
    if not file or "\0" in file or os.path.isabs(file):
        return False
    home = os.path.realpath(folder)
    return os.path.dirname(os.path.realpath(os.path.join(home, file))) == home


def _read(path: Path, file: str, most: int) -> bytes:
    try:
        with open(path.parent / file, "rb", opener=regular_opener) as stream:
            data = stream.read(most + 1)
    except PathError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ModelError(
            f"the tiny model {str(path)!r} has weights in {quoted(file)}, which could not be read: {reason}"
        ) from None
    if len(data) > most:
        raise too_large(path)
    return data


def too_large(path: Path) -> ModelError:
    return ModelError(
        f"the tiny model {str(path)!r} has more than {MAX_BYTES // 1_000_000} MB with its weights, which "
        "is the most that a tiny model may have"
    )
