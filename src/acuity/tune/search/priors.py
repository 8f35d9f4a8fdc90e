"""Prior beliefs of what an encoder's steps give: typical curves, and how contents differ from them.

The curves were measured on fifteen clips (TRAINING in bench/tune_contents.py): VMAF at every step of four
encoders. What a step typically gives is its `level`, in units that are alike for all encoders: VMAF on a
scale where curves are nearly straight. A content differs from the typical one by a smooth function of the
level, and that function is nearly the same for all encoders. So a point of one encoder tells what others will
give, and their searches begin where it says.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acuity.tune.encoders import Encoder
from acuity.tune.search.target import Target

Array = NDArray[np.float64]

# The level over an encoder's range, from best to worst quality: coefficients of Legendre polynomials.
_CURVES: Final[Mapping[str, tuple[float, ...]]] = {
    "libx264": (-2.5973, -2.0212, -0.2247, 0.3728, 0.1139),
    "libx265": (-2.5546, -1.8567, -0.2940, 0.2988, 0.1026),
    "libsvtav1": (-2.1594, -1.1208, -0.2005, -0.0130, 0.0453),
    "libvpx-vp9": (-2.2171, -1.2595, -0.2083, -0.0146, 0.1333),
}
# The measured encoder that another one of a codec is taken to be like.
_LIKE: Final = {"hevc": "libx265", "vvc": "libx265", "av1": "libsvtav1", "vp9": "libvpx-vp9"}

_TYPICAL: Final = -2.0  # the level around which families of figures are described: about VMAF 94.6

# How far curves stray from the typical one, as parts of a family's spread, and over what distance.
_SHARED, _SHARED_LENGTH = 0.975, 1.0  # by content, in levels
_OWN, _OWN_LENGTH = 0.22, 0.29  # by content and encoder, in parts of its range
_OWN_UNMEASURED: Final = 0.6  # of an encoder that is only taken to be like another
_FINE, _FINE_LENGTH = 0.07, 0.09
_NOISE: Final = 0.045  # from one step to the next


class Scale(NamedTuple):
    """Figures on a scale where better ones are larger and curves are nearly straight."""

    forward: Callable[[float], float]
    top: float = math.inf  # on the scale: figures from there on can't be told from perfect ones

    def __call__(self, figure: float) -> float:
        return self.forward(figure)

    def saturated(self, figure: float) -> bool:
        return self(figure) >= self.top


@dataclass(frozen=True, slots=True)
class Prior:
    """The belief before a search: mean, covariance and noise on the scale, at every step."""

    mean: Array
    covariance: Array
    noise: float
    scale: Scale


class Related(NamedTuple):
    """A figure that another encoder gave for the same clip."""

    encoder: Encoder
    step: int
    figure: float


class _Family(NamedTuple):
    """How a kind of figure depends on the level: its value at the typical one, its slope, its spread."""

    scale: Scale
    typical: float
    slope: float
    spread: float


def _linear(typical: float, slope: float, spread: float) -> _Family:
    return _Family(Scale(lambda figure: figure), typical, slope, spread)


def _ratio(typical: float, slope: float, spread: float) -> _Family:
    """A figure with 1 as its best: the logarithm of its distance from 1."""
    scale = Scale(lambda figure: -math.log(max(1.002 - figure, 1e-4)), top=-math.log(0.00201))
    return _Family(scale, typical, slope, spread)


def _fault(typical: float, slope: float, spread: float) -> _Family:
    """A figure with 0 as its best: its logarithm, flattened near 0."""
    scale = Scale(lambda figure: -math.log(max(figure, 0.0) + 0.1), top=-math.log(0.101))
    return _Family(scale, -math.log(typical + 0.1), slope, spread)


_VMAF: Final = _Family(
    Scale(lambda figure: -math.log(max(102 - figure, 1.0)), top=-math.log(2.01)),
    typical=_TYPICAL + 0.2,  # films are easier than the average of clips that were made to be unlike
    slope=1.0,
    spread=0.69,
)

_FAMILIES: Final[Mapping[str, _Family]] = {
    "psnr_y": _linear(42, 9, 6.5),
    "xpsnr_w": _linear(42, 9, 6.5),
    "psnr_hvs": _linear(42, 9, 7),
    "float_ansnr": _linear(35, 8, 7),
    "ciede2000": _linear(42, 6, 6),
    "float_ssim": _ratio(3.85, 1.3, 1.15),
    "float_ms_ssim": _ratio(4.3, 1.2, 1.0),
    "integer_vif": _ratio(2.0, 0.7, 0.6),
    "integer_adm2": _ratio(3.5, 0.9, 0.8),
    "ssimulacra2": _linear(75, 18, 14),
    "cambi": _fault(1.0, 1.0, 1.3),
    "speed_chroma_uv": _fault(1.0, 0.8, 1.0),
    "speed_temporal": _fault(1.0, 0.8, 1.0),
}
_BITS_PER_PIXEL, _BITS_SLOPE, _BITS_SPREAD = -2.0, 1.7, 1.15  # logarithms


def prior_for(
    encoder: Encoder, target: Target, *, pixels: float | None = None, related: Iterable[Related] = ()
) -> Prior:
    """The belief for a search; `pixels` are those of a second for a bitrate, those of the clip for a size.

    Figures of other encoders for the same clip, if there are any, move the belief and narrow it.
    """
    family = _family(target, pixels)
    level = _levels(encoder)
    place = _places(encoder)
    mean = family.typical + family.slope * (level - _TYPICAL)
    covariance = _shared(level, level) + _own(place, place, encoder)
    known = [each for each in related if each.encoder != encoder and not family.scale.saturated(each.figure)]
    if known:
        moved, covariance = _given(known, family, level, covariance)
        mean = mean + moved
    return Prior(mean, covariance * family.spread**2, (_NOISE * family.spread) ** 2, family.scale)


def _given(known: list[Related], family: _Family, level: Array, covariance: Array) -> tuple[Array, Array]:
    """How far what is known moves the belief, on the family's scale, and the covariance that is left."""
    levels = np.array([_levels(each.encoder)[each.step] for each in known])
    typical = family.typical + family.slope * (levels - _TYPICAL)
    values = np.array([family.scale(each.figure) for each in known])
    between = _shared(levels, levels) + _NOISE**2 * np.eye(len(known))
    for encoder in {each.encoder for each in known}:
        mine = np.array([index for index, each in enumerate(known) if each.encoder == encoder])
        places = _places(encoder)[[known[index].step for index in mine]]
        between[np.ix_(mine, mine)] += _own(places, places, encoder)
    across = _shared(level, levels)
    gain = np.linalg.solve(between, across.T).T
    return gain @ (values - typical), covariance - gain @ across.T


def _family(target: Target, pixels: float | None) -> _Family:
    if target.kind == "quality":
        return _FAMILIES.get(target.column, _VMAF)  # other columns are models, which score like VMAF
    # Bits per pixel, on a scale of logarithms where fewer are better. Without a number of pixels the target
    # itself is taken to be typical.
    bits = 1000.0 if target.kind == "bitrate" else 8.0
    unit = pixels / bits if pixels else target.value / math.exp(_BITS_PER_PIXEL)
    scale = Scale(lambda figure: -math.log(max(figure, 1e-9) / unit))
    return _Family(scale, -_BITS_PER_PIXEL, -_BITS_SLOPE, _BITS_SPREAD)


def _levels(encoder: Encoder) -> Array:
    curve = _CURVES[encoder.name if encoder.name in _CURVES else _LIKE.get(encoder.codec, "libx264")]
    over = np.linspace(-1, 1, encoder.last_step + 1)
    return np.asarray(np.polynomial.legendre.legval(over, np.array(curve)))


def _places(encoder: Encoder) -> Array:
    """Where each step lies in the encoder's range, from 0 to 1: half by number, half by level."""
    level = _levels(encoder)
    return np.asarray(0.5 * np.linspace(0, 1, len(level)) + 0.5 * (level - level[0]) / (level[-1] - level[0]))


def _shared(one: Array, other: Array) -> Array:
    return _SHARED**2 * _likeness(one, other, _SHARED_LENGTH)


def _own(one: Array, other: Array, encoder: Encoder) -> Array:
    size = _OWN if encoder.name in _CURVES else _OWN_UNMEASURED
    return size**2 * _likeness(one, other, _OWN_LENGTH) + _FINE**2 * _likeness(one, other, _FINE_LENGTH)


def _likeness(one: Array, other: Array, length: float) -> Array:
    """Matérn's correlation 5/2: that of functions that bend as smoothly as these curves do."""
    distance = np.sqrt(5) * np.abs(one[:, None] - other[None, :]) / length
    return np.asarray((1 + distance + distance**2 / 3) * np.exp(-distance))
