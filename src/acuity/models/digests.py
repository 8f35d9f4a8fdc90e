"""Digests of the model files that a request means: a name may stand for a user's own file."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from acuity.errors import PathError
from acuity.models.choose import AUTO, model_for_size, models_for_viewing
from acuity.models.sources import find_model
from acuity.models.spec import parse_spec
from acuity.video.file_digest import file_digest

_SIZES: Final = ((1920, 1080), (3840, 2160))  # of the displays that 'auto' has a model for


def model_digests(specs: Iterable[str], viewing: str | None) -> dict[str, str]:
    """The digests of the models' files by name, of all that 'auto' may stand for."""
    names = [name for spec in specs for name in (_of_auto(viewing) if spec == AUTO else [spec])]
    return {name: _model_digest(name) for name in dict.fromkeys(names)}


def _of_auto(viewing: str | None) -> list[str]:
    """The models that 'auto' may stand for: which one follows from the clip."""
    if viewing is not None:
        return list(models_for_viewing(viewing))
    return [model_for_size(*size) for size in _SIZES]


def _model_digest(name: str) -> str:
    spec = parse_spec(name)
    path = spec.path if spec.path is not None else str(find_model(str(spec.version)))
    try:
        return file_digest(path)
    except (OSError, PathError):  # the measurement has the sentence for it
        return ""
