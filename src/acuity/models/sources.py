"""Finds models by name: in the user's folders first, then in the ffmpeg-quality-metrics package.

A name stands for NAME.json. Folders are searched in order, and the first that has the name counts. A model
without a file that differs from another only in options is made from that one.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from acuity.errors import TO_LIST_MODELS, ModelError, to_give
from acuity.text import quoted, shortened

if TYPE_CHECKING:
    from pathlib import Path

FOLDERS_VARIABLE = "ACUITY_MODEL_PATH"
_PACKAGE, _PACKAGE_FOLDER = "ffmpeg_quality_metrics", "vmaf_models"
PACKAGE_SOURCE = "ffmpeg-quality-metrics"
TINY_FOLDER: Final = os.path.join(
    os.path.dirname(os.path.dirname(__file__)), "tiny", "models"
)  # Acuity's own tiny models
TINY_REGISTRY: Final = "registry.json"  # the list of a folder's tiny models

Overrides = Mapping[str, Mapping[str, str]]  # extractor -> option -> value

# A model, the one whose file it shares to the last digit, and the options in which it differs.
VARIANTS: Final[Mapping[str, tuple[str, Overrides]]] = {
    "vmaf_4k_v0.6.1neg": (
        "vmaf_4k_v0.6.1",
        {"adm": {"adm_enhn_gain_limit": "1.0"}, "vif": {"vif_enhn_gain_limit": "1.0"}},
    ),
}

# Models that are built into libvmaf, and in no package.
_ELSEWHERE: Final = frozenset(
    {
        *("vmaf_b_v0.6.3", "vmaf_float_b_v0.6.3", "vmaf_float_4k_v0.6.1"),
        *("vmaf_float_v0.6.1", "vmaf_float_v0.6.1neg"),
    }
)
_ELSEWHERE_FOLDER: Final = "https://github.com/Netflix/vmaf/tree/master/model"


def find_model(name: str) -> Path:
    """The file of a model by name; raises ModelError with similar names if there is none."""
    from pathlib import Path

    return Path(model_path(name))


def model_path(name: str) -> str:
    """The same as text."""
    known = [name, VARIANTS[name][0]] if name in VARIANTS else [name]
    for wanted in known:
        for folder, _ in model_folders():
            path = os.path.join(folder, f"{wanted}.json")
            if os.path.basename(wanted) == wanted and os.path.isfile(path) and not is_beside_onnx(path):
                return path
    raise _unknown_model(name, list(model_files()))


def variant_options(name: str, path: str) -> Overrides:
    """The options that make the named model from that file; empty if it is the model's own file."""
    base, options = VARIANTS.get(name, (name, {}))
    return options if os.path.basename(path) == f"{base}.json" else {}


def model_files() -> dict[str, tuple[Path, str]]:
    """Name to file and source."""
    from pathlib import Path

    files: dict[str, tuple[Path, str]] = {}
    for folder, source in model_folders():
        for path in sorted(Path(folder).glob("*.json")):
            if path.is_file() and not is_beside_onnx(path):
                files.setdefault(path.stem, (path, source))
    variants = {name: files[base] for name, (base, _) in VARIANTS.items() if base in files}
    return {**variants, **files}


def is_beside_onnx(path: str | Path) -> bool:
    """Whether a JSON file describes tiny models in ONNX files beside it, so that it is no model itself."""
    name = os.fspath(path)
    return os.path.exists(f"{os.path.splitext(name)[0]}.onnx") or os.path.basename(name) == TINY_REGISTRY


def is_tiny(name: str) -> bool:
    """Whether a model folder, or Acuity's own, has a tiny model of this name."""
    folders = [TINY_FOLDER, *(folder for folder, _ in model_folders())]
    return os.path.basename(name) == name and any(
        os.path.isfile(os.path.join(folder, f"{name}.onnx")) for folder in folders
    )


def model_folders() -> Iterator[tuple[str, str]]:
    """The folders with models, in the order of the search, and a name of each for people."""
    for entry in os.environ.get(FOLDERS_VARIABLE, "").split(os.pathsep):
        if entry:
            yield entry, entry
    # find_spec locates the package without running it.
    spec = importlib.util.find_spec(_PACKAGE)
    for location in (spec.submodule_search_locations or []) if spec is not None else []:
        yield os.path.join(location, _PACKAGE_FOLDER), PACKAGE_SOURCE


def _unknown_model(name: str, known: list[str]) -> ModelError:
    import difflib  # only needed for this message

    if is_tiny(name):
        return ModelError(
            f"{quoted(name)} is a tiny model (ONNX), not a VMAF model: ",
            to_give("tiny_model", verb="name it with"),
        )
    if name in _ELSEWHERE:
        return ModelError(
            f"the model {name!r} is built into libvmaf, and no package carries it: take {name}.json from "
            f"{_ELSEWHERE_FOLDER}, then give path=FILE, or put it into a folder that {FOLDERS_VARIABLE} names"
        )
    close = difflib.get_close_matches(shortened(name.removesuffix(".json")), known, n=3, cutoff=0.5)
    notes = [f"did you mean {' or '.join(close)}?"] if close else []
    if not any(source == PACKAGE_SOURCE for _, source in model_folders()):
        notes.append(f"the package {PACKAGE_SOURCE}, which carries the usual models, is not installed")
    notes += [
        f"{FOLDERS_VARIABLE} names {source!r}, which is not a folder"
        for folder, source in model_folders()
        if source != PACKAGE_SOURCE and not os.path.isdir(folder)
    ]
    remark = f" ({'; '.join(notes)})" if notes else ""
    return ModelError(
        f"there is no model named {quoted(name)}{remark}; ",
        TO_LIST_MODELS,
        f" for a list, give path=FILE, or add its folder to {FOLDERS_VARIABLE}",
    )
