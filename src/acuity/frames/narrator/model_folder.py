"""Checks of a model folder that need neither ONNX Runtime GenAI nor much time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from acuity.errors import NarratorError
from acuity.foreign_json import parse_json
from acuity.text import quoted

CONFIG: Final = "genai_config.json"
_MOST_CONFIG: Final = 1 << 20  # bytes
_PARTS: Final = ("vision", "embedding", "decoder", "speech")
# Files that GenAI reads besides those that the configuration names.
_OTHERS: Final = ("tokenizer_config.json",)
# Settings that make the runtime load a library, which would be code of the folder.
_CODE: Final = frozenset({"custom_ops_library", "backend_path", "library_path", "ep_library_path"})


def check_model_folder(folder: Path) -> None:
    """Refuse a folder that can't be a model that looks at pictures; raises NarratorError."""
    if not folder.is_dir():
        raise NarratorError(f"'{folder}' is no folder: name the folder of a model, which has {CONFIG}")
    model = _configuration(folder).get("model")
    if not isinstance(model, dict) or not isinstance(model.get("type"), str):
        raise NarratorError(f"'{folder / CONFIG}' names no model type: it is no model of ONNX Runtime GenAI")
    if not isinstance(model.get("vision"), dict):
        raise NarratorError(
            f"'{folder}' has a model of type {quoted(model['type'])}, which doesn't look at pictures: name a"
            " vision-language model"
        )
    for name in _files(model):
        path = Path(name)
        if path.is_absolute() or ".." in path.parts:
            raise NarratorError(f"'{folder / CONFIG}' names {quoted(name)}, which is outside its folder")
        if not (folder / path).is_file():
            raise NarratorError(f"'{folder}' is incomplete: it has no file {quoted(name)}; copy all of it")


def _configuration(folder: Path) -> dict[str, Any]:
    path = folder / CONFIG
    try:
        with path.open("rb") as file:
            text = file.read(_MOST_CONFIG + 1)
    except FileNotFoundError:
        raise NarratorError(f"'{folder}' is no model of ONNX Runtime GenAI: it has no {CONFIG}") from None
    except OSError as error:
        raise NarratorError(f"'{path}' can't be read: {error.strerror}") from error
    try:
        found = parse_json(text) if len(text) <= _MOST_CONFIG else None
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise NarratorError(f"'{path}' is no JSON object: get the model's folder again")
    for key in _keys(found):
        if key in _CODE:
            raise NarratorError(f"'{path}' has {quoted(key)}, which would run code of the folder: remove it")
    return found


def _keys(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield key
            yield from _keys(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _keys(inner)


def _files(model: Mapping[str, Any]) -> Iterator[str]:
    for part in _PARTS:
        about = model.get(part)
        if isinstance(about, Mapping):
            for key in ("filename", "config_filename", "adapter_filename"):
                if isinstance(about.get(key), str) and about[key]:
                    yield about[key]
    yield from _OTHERS
