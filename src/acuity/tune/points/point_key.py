"""The key of a point in the cache: a digest of all that decides its bytes and its scores."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, Final

from acuity.cache_file import engine_build
from acuity.models.digests import model_digests
from acuity.scoring.metrics import find_metrics
from acuity.tune.encoders.versions import encoder_version

if TYPE_CHECKING:
    from acuity.tune.clip import Clip
    from acuity.tune.encoders.settings import Settings
    from acuity.tune.points.point import Scoring

_NOTES: Final = 2  # which notes points are kept with: a point without those of today is measured anew


def point_key(clip: Clip, settings: Settings, quality: float, scoring: Scoring) -> str:
    """The key of one encode of a clip and its scores, whatever the file's name and the number of threads."""
    return _digest({**_common(clip, settings, scoring), "quality": quality})


def point_keys(clip: Clip, settings: Settings, qualities: list[float], scoring: Scoring) -> list[str]:
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
        "engine": engine_build(),
        "notes": _NOTES,
        "clip": clip.digest(),
        "scoring": scoring.document(),
        "models": _models(scoring),
    }


def _digest(document: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()


def _models(scoring: Scoring) -> dict[str, str]:
    """The digests of the models' files."""
    specs = [scoring.model, *(metric.model for metric in find_metrics(scoring.metrics))]
    return model_digests(filter(None, specs), scoring.viewing)
