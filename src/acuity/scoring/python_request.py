"""Makes requests of the options of acuity.score() and acuity.compare(), named as those of the command."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from acuity.errors import ModelError
from acuity.models.choose import AUTO
from acuity.scoring.request import SETTINGS, Request, frame_rate

if TYPE_CHECKING:
    from acuity.scoring.report import AnyModel
    from acuity.video.pairs.open_pair import Video

# The options that all calls share, by their names in Python.
OPTIONS: Final = frozenset(
    {
        *("model", "feature", "skip", "guess"),
        *(entry.name for entry in fields(Request) if entry.name in SETTINGS),
    }
    - {"models", "features", "predict"}
)


def python_request(
    ref: Video | None,
    dis: Video,
    *,
    model: str | AnyModel | Sequence[str | AnyModel] = AUTO,
    metrics: str | Iterable[str] = (),
    feature: str | Iterable[str] = (),
    tiny_model: str | os.PathLike[str] | None = None,
    resume: str | os.PathLike[str] | None = None,
    no_reference: bool = False,
    skip: int = 0,
    skip_ref: int | None = None,
    skip_dis: int | None = None,
    fps: Fraction | str | float | None = None,
    guess: bool = True,
    **others: Any,
) -> Request:
    """The request that options make; `others` are fields of the same name."""
    if model is None:
        raise ModelError(f"model=None is no model: pass a name, '{AUTO}', or [] for none")
    several = [model] if isinstance(model, str) or not isinstance(model, Sequence) else list(model)
    return Request(
        ref,
        dis,
        models=several,
        metrics=[metrics] if isinstance(metrics, str) else list(metrics),
        features=[feature] if isinstance(feature, str) else list(feature),
        tiny_model=None if tiny_model is None else os.fspath(tiny_model),
        resume=None if resume is None else os.fspath(resume),
        no_reference=no_reference,
        skip_ref=(0 if no_reference else skip) if skip_ref is None else skip_ref,
        skip_dis=skip if skip_dis is None else skip_dis,
        fps=None if fps is None else frame_rate(fps),
        guess=guess,
        **others,
    )
