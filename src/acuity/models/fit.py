"""Checks whether a model fits the size of the pictures.

A 4K model saturates at 100 on small pictures; a 1080p model is too strict with 2160p at the same distance.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePath
from typing import Final

from acuity.errors import to_set
from acuity.models.spec import ModelSpec, parse_spec
from acuity.video.display import is_4k, part_filled
from acuity.video.notes import Note, info

_SAME_SIZE: Final = 0.1  # pictures of so nearly the size of a display fill it
_HD: Final = (1280, 720)  # pixels of the longer and the shorter side, of which one is enough
_DISPLAY: Final = {"4k": "2160p", "hd": "1080p"}

# The display that a name implies; the first match counts, and other names are not checked.
_DISPLAYS: Final = (
    (re.compile(r"vmaf_(?:float_)?4k"), "4k"),
    (re.compile(r"vmaf_v1\.\d.*_2160"), "4k"),
    (re.compile(r"vmaf_v1\.\d.*_[35]d0h"), "hd"),
    (re.compile(r"vmaf_(?:float_)?(?:rb_|b_)?v0\.6\.[123]"), "hd"),
)

# The fitting models of the same generation: the first entry whose pattern matches the name.
_BETTER: Final = (
    (re.compile(r"vmaf_v1\.\d"), {"4k": "vmaf_v1.0.16_1d5h_2160", "hd": "vmaf_v1.0.16_3d0h"}),
    (re.compile(""), {"4k": "vmaf_4k_v0.6.1", "hd": "vmaf_v0.6.1"}),
)


def size_class(width: int, height: int) -> str:
    """'4k', 'hd' or 'sd', whichever side is up."""
    if is_4k(width, height):
        return "4k"
    long, short = _HD
    return "hd" if max(width, height) >= long or min(width, height) >= short else "sd"


def model_class(spec: ModelSpec) -> str | None:
    """The class of pictures that a model was made for; None if its name doesn't tell."""
    return next((found for pattern, found in _DISPLAYS if pattern.search(_name(spec))), None)


def model_display(label: str) -> str | None:
    """The display that a model of this version or path was made for; None where its name doesn't say."""
    return _DISPLAY.get(model_class(ModelSpec(path=label)) or "")


def display_note(labels: Iterable[str], width: int, height: int, aspect: float = 1.0) -> Note | None:
    """What a score of pictures means that don't fill the display of the first model that has one."""
    for label in labels:
        if (display := model_display(label)) is not None:
            if (sentence := unfilled_display(label, width, height, aspect)) is None:
                return None
            remedy = to_set("display", display)
            return info("display", f"{sentence}: pass ", remedy, " to score both videos as they fill it")
    return None


def unfilled_display(label: str, width: int, height: int, aspect: float = 1.0) -> str | None:
    """A sentence on a display that the pictures don't fill; None if they do, or the model has none."""
    if (display := model_display(label)) is None:
        return None
    part = part_filled(display, width, height, aspect)
    if abs(part - 1) <= _SAME_SIZE:
        return None
    return (
        f"{label} is made for a {display} display, and {width}x{height} is scored as if it took"
        f" {100 * part:.0f} % of its height, pixel for pixel"
    )


def mismatch(spec: ModelSpec, width: int, height: int) -> str | None:
    """A sentence if the model doesn't fit the pictures; None if it does, or if that is unknown."""
    made_for, given = model_class(spec), size_class(width, height)
    if made_for is None or made_for == given:
        return None
    return (
        f"the model '{spec.label}' is made for {made_for} and the pictures are {width}x{height} ({given}):"
        f" scores may saturate or be biased; {_remedy(spec, made_for, given)}"
    )


def first_mismatch(models: Iterable[str], width: int, height: int) -> str | None:
    """The sentence about the first model that doesn't fit; models are in the notation of `vmaf --model`."""
    sentences = (mismatch(parse_spec(model), width, height) for model in models)
    return next((sentence for sentence in sentences if sentence is not None), None)


def _name(spec: ModelSpec) -> str:
    return (spec.version if spec.version is not None else PurePath(str(spec.path)).name).lower()


def _remedy(spec: ModelSpec, made_for: str, given: str) -> str:
    better = next(models for pattern, models in _BETTER if pattern.search(_name(spec)))
    if given in better:
        return f"pick a model for {given}, such as version={better[given]}"
    display = _DISPLAY[made_for]
    return f"pass display={display} to scale both videos, or compare only scores of pictures of this size"
