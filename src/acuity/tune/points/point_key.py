"""The key of a point in the cache: a digest of all that decides its bytes and its scores."""

from __future__ import annotations

import hashlib
import json
import os
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from acuity import __version__
from acuity.models.choose import AUTO, model_for_size, models_for_viewing
from acuity.models.sources import find_model
from acuity.models.spec import parse_spec
from acuity.scoring.metrics import find_metrics
from acuity.tune.encoders.versions import encoder_version

if TYPE_CHECKING:
    from acuity.tune.clip import Clip
    from acuity.tune.encoders.settings import Settings
    from acuity.tune.points.point import Scoring

_SIZES: Final = ((1920, 1080), (3840, 2160))  # of the displays that 'auto' has a model for


def point_key(clip: Clip, settings: Settings, quality: int, scoring: Scoring) -> str:
    """The key of one encode of a clip and its scores, whatever the file's name and the number of threads."""
    return _digest({**_common(clip, settings, scoring), "quality": quality})


def point_keys(clip: Clip, settings: Settings, qualities: list[int], scoring: Scoring) -> list[str]:
    """The keys of several qualities: what they have in common is looked up once."""
    common = _common(clip, settings, scoring)
    return [_digest({**common, "quality": quality}) for quality in qualities]


def source_key(clip: Clip, scoring: Scoring) -> str:
    """The key of what is encoded and how it is scored, whatever encodes it."""
    return _digest(_source(clip, scoring))


def _common(clip: Clip, settings: Settings, scoring: Scoring) -> dict[str, Any]:
    return {
        **_source(clip, scoring),
        "encoder": encoder_version(settings.encoder),
        "settings": settings.document(),
    }


def _source(clip: Clip, scoring: Scoring) -> dict[str, Any]:
    return {
        "engine": __version__,
        "clip": clip.digest(),
        "scoring": scoring.document(),
        "models": _models(scoring),
    }


def _digest(document: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()


def _models(scoring: Scoring) -> dict[str, str]:
    """The digests of the models' files: a name may stand for a user's own file."""
    specs = [scoring.model, *(metric.model for metric in find_metrics(scoring.metrics))]
    names = [name for spec in specs if spec for name in (_of_auto(scoring) if spec == AUTO else [spec])]
    return {name: _model_digest(name) for name in dict.fromkeys(names)}


def _of_auto(scoring: Scoring) -> list[str]:
    """The models that 'auto' may stand for: which one follows from the clip."""
    if scoring.viewing is not None:
        return list(models_for_viewing(scoring.viewing))
    return [model_for_size(*size) for size in _SIZES]


def _model_digest(name: str) -> str:
    spec = parse_spec(name)
    path = spec.path if spec.path is not None else str(find_model(str(spec.version)))
    try:
        status = os.stat(path)
        return _file_digest(path, status.st_size, status.st_mtime_ns)
    except OSError:  # the measurement has the sentence for it
        return ""


@lru_cache(maxsize=64)
def _file_digest(path: str, size: int, changed: int) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
