"""List the models that --model takes by name, and which of them can be used here.

Models come from the folders in the environment variable ACUITY_MODEL_PATH, and from the installed
package ffmpeg-quality-metrics. A model file anywhere else is named with path=FILE."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from acuity.cli.style import columns

if TYPE_CHECKING:
    from acuity.models.describe import ModelInfo

SCHEMA = "acuity.models/1"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def run(arguments: argparse.Namespace) -> int:
    from acuity.models.describe import list_models

    models = list_models()
    if arguments.json:
        print(json.dumps({"schema": SCHEMA, "models": [as_dict(model) for model in models]}, indent=2))
        return 0
    if not models:
        print("There are no models: install ffmpeg-quality-metrics, or name a folder in ACUITY_MODEL_PATH.")
        return 0
    usable = [m for m in models if m.usable]
    print("\n".join(columns([(m.name, m.source, describe(m)) for m in usable])))
    others = [m for m in models if not m.usable]
    if others:
        print("\nnot usable in this version:")
        print("\n".join(columns([(m.name, describe(m)) for m in others])))
    return 0


def describe(model: ModelInfo) -> str:
    """A short description of a model, for people."""
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
