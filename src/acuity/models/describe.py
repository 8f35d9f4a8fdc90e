"""Describes a model file for programs: inputs, score range, intended use, and whether it can be used."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from acuity.errors import ModelError, PathError
from acuity.models.document import read_document
from acuity.models.inputs import extractor_name
from acuity.models.load import load_model
from acuity.models.model import ModelCollection
from acuity.models.sources import Overrides, model_files
from acuity.models.spec import ModelSpec

# The intended use according to the models' authors; the first pattern that matches the name counts.
_USES: Final = (
    (r"vmaf_4k_v0\.6\.1neg", "4K television seen from 1.5 times its height, without credit for sharpening"),
    (r"vmaf_4k_v0\.6\.1", "4K television seen from 1.5 times its height"),
    (
        r"vmaf_v0\.6\.1neg",
        "1080p television seen from 3 times its height, without credit for sharpening or contrast: "
        "for comparing encoders",
    ),
    (r"vmaf_v0\.6\.1", "1080p television seen from 3 times its height: the usual choice"),
    (r"vmaf_(float_)?r?b_v0\.6\.\d", "1080p television seen from 3 times its height, with an interval"),
)
# The names of version 1 contain the viewing distance in display heights and the display size.
_VERSION_1: Final = re.compile(r"vmaf_v1\.[\d.]+(?P<fast>_hfr)?_(?P<far>\d)d(?P<tenths>\d)h(?P<large>_2160)?")
_NO_OPTIONS: Final[Overrides] = {}
_FACTS: Final = (
    *("model_type", "feature_names", "features", "norm_type"),
    *("score_range", "score_transform", "bootstrap_models"),
)


def describe_model(path: str | Path, options: Overrides = _NO_OPTIONS) -> dict[str, object]:
    """Facts about a JSON model; a file that can't be loaded has a problem and the facts that can be read.

    `options` make a variant of the file's model: see sources.VARIANTS.
    """
    try:
        model = load_model(ModelSpec(path=str(path), overrides=options))
    except ModelError as error:
        return {**undescribed(str(error)), **_readable(path)}
    base = model.base if isinstance(model, ModelCollection) else model
    missing = model.unknown_features()
    problem = f"this version cannot measure {', '.join(missing)}" if missing else None
    return {
        "model_type": model.kind,
        "feature_names": [feature.name for feature in model.features],
        "features": [
            {
                "name": feature.name,
                "extractor": extractor_name(feature.name),
                "options": dict(feature.options),
            }
            for feature in model.features
        ],
        "norm_type": base.scaling.norm_type,
        "score_range": None if base.clip is None else [base.clip.low, base.clip.high],
        "score_transform": base.transform is not None,
        "bootstrap_models": len(model.members) if isinstance(model, ModelCollection) else 0,
        "usable": not missing,
        "problem": problem,
    }


def undescribed(problem: str) -> dict[str, object]:
    """The description of a file that was not read or can't be read."""
    return {**dict.fromkeys(_FACTS), "usable": False, "problem": problem}


def intended_use(name: str) -> str | None:
    """The intended use of a well-known model."""
    use = next((use for pattern, use in _USES if re.fullmatch(pattern, name)), None)
    found = _VERSION_1.fullmatch(name)
    if use is not None or found is None:
        return use
    far = int(found["far"]) + int(found["tenths"]) / 10
    display = "4K display" if found["large"] else "phone or 1080p display" if far >= 5 else "1080p display"
    rate = ", high frame rate" if found["fast"] else ""
    return f"VMAF v1: {display} seen from {far:.1f} times its height{rate}"


def _readable(path: str | Path) -> dict[str, object]:
    """Type and features of a file that is no usable model, if it has them."""
    found: dict[str, object] = {}
    try:
        section = read_document(path).section("model_dict")
        found["model_type"] = section.text("model_type")
        found["feature_names"] = section.texts("feature_names")
    except ModelError:
        pass  # the problem is known already
    return found


@dataclass(frozen=True)
class ModelInfo:
    """One entry of a listing; a file that doesn't load has a problem instead of features."""

    name: str
    path: Path
    source: str  # the package's name, or the user's folder
    kind: str = ""  # the file's model_type
    members: int = 0  # bootstrap models beside the base model
    features: tuple[str, ...] = ()  # long names
    unknown: tuple[str, ...] = ()  # features that this version can't measure
    problem: str | None = None

    @property
    def usable(self) -> bool:
        return self.problem is None and not self.unknown


def list_models() -> list[ModelInfo]:
    """All models by name, loaded and described."""
    return [_info(name, path, source) for name, (path, source) in sorted(model_files().items())]


def _info(name: str, path: Path, source: str) -> ModelInfo:
    try:
        model = load_model(ModelSpec(version=name))
    except (ModelError, PathError) as error:
        return ModelInfo(name, path, source, problem=str(error))
    return ModelInfo(
        name,
        path,
        source,
        kind=model.kind,
        members=len(model.members) if isinstance(model, ModelCollection) else 0,
        features=tuple(feature.name for feature in model.features),
        unknown=tuple(model.unknown_features()),
    )
