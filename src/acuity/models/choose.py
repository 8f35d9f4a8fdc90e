"""Chooses the model if none is named: by the size of the pictures, or by the viewing condition.

The authors of VMAF v1 made its models for these viewing distances: 3 display heights for 1080p, 5 for
phones, 1.5 for 4K (3 for consumers). Each has a variant for high frame rates, about twice the usual 24 to 30.

model_digests() has the digests of the files that a request means: a name may stand for a user's own file.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from acuity.errors import ModelError, PathError, to_set
from acuity.models.sources import find_model
from acuity.models.spec import parse_spec
from acuity.text import shortened
from acuity.video.display import nearest_display
from acuity.video.file_digest import file_digest

if TYPE_CHECKING:
    from fractions import Fraction

AUTO: Final = "auto"

# A 4K display is watched from nearer than a 1080p one.
# These models read luma only: readers may leave chroma out before the choice is made.
_MODEL_BY_DISPLAY: Final = {"2160p": "vmaf_4k_v0.6.1", "1080p": "vmaf_v0.6.1"}

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


class Choice(NamedTuple):
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
) -> Choice:
    """The model for pictures of this size, frame rate and viewing condition."""
    if viewing is None:
        name = model_for_size(width, height)
        of = f", the size of a {display} display" if display != "native" else ""
        return Choice(name, "resolution", f"the default for pictures of {width}x{height}{of}")
    usual, fast = models_for_viewing(viewing)
    if rate is None:
        shown = "at an unknown frame rate, taken for a usual one"
    else:
        shown = f"at {float(rate):.6g} frames a second, a {'high' if rate >= _HIGH_RATE else 'usual'} rate"
    at = f", at the {width}x{height} of a {display} display" if display != "native" else ""
    reason = f"VMAF v1 for {find_viewing(viewing).seen}{at}, {shown}"
    return Choice(fast if rate is not None and rate >= _HIGH_RATE else usual, "viewing", reason)


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
