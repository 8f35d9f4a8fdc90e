"""The options of acuity.score() and acuity.compare(), named as those of the command, and their request."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, TypedDict, Unpack

from acuity.errors import ModelError
from acuity.models.choose import AUTO
from acuity.scoring.request import Request, frame_rate

if TYPE_CHECKING:
    from acuity.models.inputs import AnyModel
    from acuity.video.pairs.open_pair import Video


class ScoreOptions(TypedDict, total=False):
    """The options of score(), whose docstring explains them; unless given, they are a request's defaults."""

    model: str | AnyModel | Sequence[str | AnyModel]
    viewing: str | None
    metrics: str | Iterable[str]
    feature: str | Iterable[str]
    tiny_model: str | os.PathLike[str] | None
    tiny_device: str
    tiny_threads: int
    tiny_fp16: bool
    tiny_model_verify: bool
    tiny_codec: str | None
    tiny_preset: str | None
    tiny_crf: int | None
    tiny_resize: str
    no_reference: bool
    frames: int
    skip: int
    skip_ref: int | None
    skip_dis: int | None
    subsample: int
    allow_damaged: bool
    stream: int | None
    stream_ref: int | None
    stream_dis: int | None
    allow_network: bool
    resume: str | os.PathLike[str] | None
    display: str | None
    filter: str
    crop: str | None
    deinterlace: str
    scale: str
    convert: str
    colour: str
    rate: str
    vfr: str
    hdr: str
    align: str
    width: int | None
    height: int | None
    pixel_format: str | None
    bitdepth: int | None
    fps: Fraction | str | float | None
    guess: bool
    threads: int | None
    cpu: str | None
    backend: str
    device: int | None
    decoder: str


OPTIONS: Final = frozenset(ScoreOptions.__annotations__)
_LISTS: Final = {"model": "models", "metrics": "metrics", "feature": "features"}


def python_request(ref: Video | None, dis: Video, **options: Unpack[ScoreOptions]) -> Request:
    """The request that options make; TypeError for a name that is none of them."""
    given: dict[str, Any] = {"guess": True, **options}
    if unknown := [name for name in given if name not in OPTIONS]:
        raise TypeError(f"score() got an unexpected keyword argument '{unknown[0]}'")
    if given.get("model", AUTO) is None:
        raise ModelError(f"model=None is no model: pass a name, '{AUTO}', or [] for none")
    for name, field in _LISTS.items():
        if name in given:
            value = given.pop(name)
            one = isinstance(value, str) or not isinstance(value, Iterable)
            given[field] = [value] if one else list(value)
    for name in ("tiny_model", "resume"):
        if given.get(name) is not None:
            given[name] = os.fspath(given[name])
    skip = given.pop("skip", 0)
    for name, usual in (("skip_ref", 0 if given.get("no_reference") else skip), ("skip_dis", skip)):
        given[name] = usual if given.get(name) is None else given[name]
    if given.get("fps") is not None:
        given["fps"] = frame_rate(given["fps"])
    return Request(ref, dis, **given)
