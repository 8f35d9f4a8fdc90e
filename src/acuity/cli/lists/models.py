"""List the models that --model takes by name, and which of them can be used here.

Models come from the folders in the environment variable ACUITY_MODEL_PATH, and from the installed
package ffmpeg-quality-metrics. A model file anywhere else is named with path=FILE. The tiny models
below them are for --tiny-model."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from acuity.cli.terminal.style import columns

if TYPE_CHECKING:
    from acuity.models.describe import ModelInfo

SCHEMA = "acuity.models/1"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def run(arguments: argparse.Namespace) -> int:
    from acuity.models.describe import list_models

    models, tiny = list_models(), tiny_models()
    if arguments.json:
        listed = {"models": [as_dict(model) for model in models], "tiny_models": tiny}
        print(json.dumps({"schema": SCHEMA, **listed}, indent=2))
        return 0
    if not models and not tiny:
        print("There are no models: install ffmpeg-quality-metrics, or name a folder in ACUITY_MODEL_PATH.")
        return 0
    usable = [m for m in models if m.usable]
    print("\n".join(columns([(m.name, m.source, describe(m)) for m in usable])))
    others = [m for m in models if not m.usable]
    if others:
        print("\nnot usable in this version:")
        print("\n".join(columns([(m.name, describe(m)) for m in others])))
    if tiny:
        print("\ntiny models (ONNX), for --tiny-model:")
        print("\n".join(columns([(str(m["name"]), str(m["problem"] or m["use"])) for m in tiny])))
    return 0


def tiny_models() -> list[dict[str, object]]:
    from acuity.models.files import list_model_files
    from acuity.tiny.describe import describe_tiny
    from acuity.tiny.files import OWN_FOLDER

    found: list[dict[str, object]] = []
    for file in list_model_files([OWN_FOLDER]).files:
        if file.format == "onnx":
            about = describe_tiny(file.path)
            facts = {name: about.facts.get(name) for name in ("kind", "sha256", "license")}
            facts |= {"use": about.use, "usable": about.problem is None, "problem": about.problem}
            found.append({"name": file.name, "path": str(file.path), **facts})
    return found


def describe(model: ModelInfo) -> str:
    from acuity.models.describe import intended_use

    if model.problem is not None:
        return model.problem
    if model.unknown:
        return f"needs {', '.join(model.unknown)}"
    use = intended_use(model.name)
    if model.members:
        return f"{use or 'an interval'}: {model.members} bootstrap models"
    return use or f"one model, {len(model.features)} features"


def as_dict(model: ModelInfo) -> dict[str, object]:
    from acuity.models.describe import intended_use

    return {
        "name": model.name,
        "path": str(model.path),
        "source": model.source,
        "kind": model.kind,
        "bootstrap_models": model.members,
        "features": list(model.features),
        "missing_features": list(model.unknown),
        "intended_use": intended_use(model.name),
        "usable": model.usable,
        "problem": model.problem,
    }
