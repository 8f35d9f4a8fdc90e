"""Chooses the model if none is named: by the size of the pictures, or by the viewing condition.

The authors of VMAF v1 made its models for these viewing distances: 3 display heights for 1080p, 5 for
phones, 1.5 for 4K (3 for consumers). Each has a variant for high frame rates, about twice the usual 24 to 30.

It also says whether a model fits the size of the pictures: a 4K model saturates at 100 on small pictures, and
a 1080p model is too strict with 2160p at the same distance.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, Literal

from acuity.errors import ModelError, PathError, to_set
from acuity.models.sources import model_path
from acuity.models.spec import ModelSpec, parse_spec
from acuity.records import NamedTuple
from acuity.text import shortened
from acuity.video.display import is_4k, nearest_display, part_filled
from acuity.video.local_file import file_digest
from acuity.video.notes import Note, info

if TYPE_CHECKING:
    from fractions import Fraction

AUTO: Final = "auto"

# A 4K display is watched from nearer than a 1080p one.
# These models read luma only: readers may leave chroma out before the choice is made.
_MODEL_BY_DISPLAY: Final = {"1080p": "vmaf_v0.6.1", "2160p": "vmaf_4k_v0.6.1"}

_VERSION_1: Final = "vmaf_v1.0.16"
# Frames a second: halfway between 30 and 50, the nearest rates that the two variants are made for.
_HIGH_RATE: Final = 40


class Viewing(NamedTuple):
    """A viewing condition that VMAF v1 has a model for."""

    model: str  # the end of its models' names
    display: str  # that its models are made for
    seen: str


VIEWINGS: Final = {
    "tv": Viewing("3d0h", "1080p", "a 1080p television seen from 3 times its height"),
    "phone": Viewing("5d0h", "1080p", "a phone seen from 5 times the height of its display"),
    "4k-tv": Viewing("1d5h_2160", "2160p", "a 4K television seen from 1.5 times its height"),
}


class ModelChoice(NamedTuple):
    """The model that 'auto' stands for, and the reason."""

    model: str
    by: Literal["resolution", "viewing"]
    reason: str


def model_for_size(width: int, height: int) -> str:
    """The default model for pictures of that size."""
    return _MODEL_BY_DISPLAY[nearest_display(width, height)]


def find_viewing(word: str) -> Viewing:
    """The viewing condition of that name; raises ModelError with the known names."""
    if word not in VIEWINGS:
        raise ModelError(to_set("viewing", shortened(word)), f" is unknown: use one of {', '.join(VIEWINGS)}")
    return VIEWINGS[word]


def models_for_viewing(word: str) -> tuple[str, str]:
    """The models of a viewing condition: for usual frame rates and for high ones."""
    end = find_viewing(word).model
    return f"{_VERSION_1}_{end}", f"{_VERSION_1}_hfr_{end}"


def choose(
    width: int, height: int, rate: Fraction | None, viewing: str | None = None, display: str = "native"
) -> ModelChoice:
    """The model for pictures of this size, frame rate and viewing condition."""
    if viewing is None:
        name = model_for_size(width, height)
        of = f", the size of a {display} display" if display != "native" else ""
        return ModelChoice(name, "resolution", f"the default for pictures of {width}x{height}{of}")
    usual, fast = models_for_viewing(viewing)
    if rate is None:
        shown = "at an unknown frame rate, taken for a usual one"
    else:
        shown = f"at {float(rate):.6g} frames a second, a {'high' if rate >= _HIGH_RATE else 'usual'} rate"
    at = f", at the {width}x{height} of a {display} display" if display != "native" else ""
    reason = f"VMAF v1 for {find_viewing(viewing).seen}{at}, {shown}"
    return ModelChoice(fast if rate is not None and rate >= _HIGH_RATE else usual, "viewing", reason)


def model_digests(specs: Iterable[str], viewing: str | None) -> dict[str, str]:
    """The digests of the models' files by name, all that 'auto' may stand for; a name may be a user's own."""
    of_auto = _MODEL_BY_DISPLAY.values() if viewing is None else models_for_viewing(viewing)
    names = [name for spec in specs for name in (of_auto if spec == AUTO else [spec])]
    return {name: _model_digest(name) for name in dict.fromkeys(names)}


def _model_digest(name: str) -> str:
    spec = parse_spec(name)
    path = spec.path if spec.path is not None else model_path(str(spec.version))
    try:
        return file_digest(path)
    except (OSError, PathError):  # the measurement has the sentence for it
        return ""


_SAME_SIZE: Final = 0.1  # pictures of so nearly the size of a display fill it
_HD: Final = (1280, 720)  # pixels of the longer and the shorter side, of which one is enough
_DISPLAY: Final = {"4k": "2160p", "hd": "1080p"}

# The display that a name implies; the first match counts, and other names are not checked.
_DISPLAYS: Final = (
    (r"vmaf_(?:float_)?4k", "4k"),
    (r"vmaf_v1\.\d.*_2160", "4k"),
    (r"vmaf_v1\.\d.*_[35]d0h", "hd"),
    (r"vmaf_(?:float_)?(?:rb_|b_)?v0\.6\.[123]", "hd"),
)

# The fitting models of the same generation: the first entry whose pattern matches the name.
_BETTER: Final = (
    (r"vmaf_v1\.\d", {"4k": "vmaf_v1.0.16_1d5h_2160", "hd": "vmaf_v1.0.16_3d0h"}),
    ("", {"4k": "vmaf_4k_v0.6.1", "hd": "vmaf_v0.6.1"}),
)


def size_class(width: int, height: int) -> str:
    """'4k', 'hd' or 'sd', whichever side is up."""
    if is_4k(width, height):
        return "4k"
    long, short = _HD
    return "hd" if max(width, height) >= long or min(width, height) >= short else "sd"


def model_class(spec: ModelSpec) -> str | None:
    """The class of pictures that a model was made for; None if its name doesn't tell."""
    return next((found for pattern, found in _DISPLAYS if re.search(pattern, _name(spec))), None)


def model_display(label: str) -> str | None:
    """The display that a model of this version or path was made for; None where its name doesn't say."""
    return _DISPLAY.get(model_class(ModelSpec(path=label)) or "")


def display_note(labels: Iterable[str], width: int, height: int, aspect: float = 1.0) -> Note | None:
    """A note on what scores mean where pictures don't fill the display of the first model that has one."""
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
    return (spec.version if spec.version is not None else os.path.basename(str(spec.path))).lower()


def _remedy(spec: ModelSpec, made_for: str, given: str) -> str:
    better = next(models for pattern, models in _BETTER if re.search(pattern, _name(spec)))
    if given in better:
        return f"pick a model for {given}, such as version={better[given]}"
    display = _DISPLAY[made_for]
    return f"pass display={display} to scale both videos, or compare only scores of pictures of this size"
