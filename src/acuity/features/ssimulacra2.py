"""SSIMULACRA 2: errors of structure and of edges, at six scales, in a space of perceived colour.

It is made for RGB pictures, so options say what the samples of a video mean. The defaults are limited range,
BT.709 from 1280 columns or 577 rows on and BT.601 below, and a display of gamma 2.4 (BT.1886). The matrix
bt2020 implies the primaries of that name, all others BT.709's. Chroma is upsampled bilinearly, sited on the
left column and between two rows; colours that no display can show are clipped. Pictures without chroma are
grey. 100 is no difference; there is no lower end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from acuity.features.extractor import CpuContext, Extractor, Feature, Frame, Geometry
from acuity.features.options import Option

_LUMA_WEIGHTS: Final = {  # of red and of blue
    "bt601": (0.299, 0.114),
    "bt709": (0.2126, 0.0722),
    "bt2020": (0.2627, 0.0593),
}
_BT2020_IN_BT709: Final = np.array(
    [
        [1.6604910021, -0.5876411388, -0.0728498633],
        [-0.1245504745, 1.1328998971, -0.0083494226],
        [-0.0181507634, -0.1005788980, 1.1187296614],
    ]
)
# How light of the BT.709 primaries excites three kinds of cones.
_CONES: Final = np.array(
    [
        [0.3, 0.622, 0.078],
        [0.23, 0.692, 0.078],
        [0.24342268924547819, 0.20476744424496821, 0.5518098665095536],
    ],
    np.float32,
)
_SDR_WHITE: Final = 255.0  # candela per square metre, as the reference takes it
_PQ_WHITE: Final = 10000.0

Curve = Callable[[NDArray[np.float64]], NDArray[np.float64]]


def _srgb(v: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(v > 0.04045, ((v + 0.055) / 1.055) ** 2.4, v / 12.92)


def _pq(v: NDArray[np.float64]) -> NDArray[np.float64]:
    """SMPTE ST 2084."""
    root = v ** (32 / 2523)
    lifted = np.maximum(root - 107 / 128, 0.0) / (2413 / 128 - 2392 / 128 * root)
    return np.asarray(lifted ** (8192 / 1305))


_CURVES: Final[dict[str, Curve]] = {
    "bt1886": lambda v: v**2.4,
    "srgb": _srgb,
    "gamma22": lambda v: v**2.2,
    "linear": lambda v: v,
    "pq": _pq,
}


class Ssimulacra2(Extractor):
    name = "ssimulacra2"
    summary = "structure and edges in perceived colour, at six scales"
    options = (
        Option(
            "matrix",
            "",
            "text",
            "auto",
            named=False,
            choices=("auto", *_LUMA_WEIGHTS),
            help="how colour was coded; auto: bt709 for HD and larger, bt601 below",
        ),
        Option(
            "range",
            "",
            "text",
            "limited",
            named=False,
            choices=("limited", "full"),
            help="whether luma of 8 bits goes from 16 to 235, or uses all values",
        ),
        Option(
            "transfer",
            "",
            "text",
            "bt1886",
            named=False,
            choices=tuple(_CURVES),
            help="how values become light; srgb: as the reference program takes images",
        ),
    )
    features = (Feature("ssimulacra2", "ssimulacra2"),)
    min_size = 8
    min_size_reason = "its blur would cover smaller ones whole"

    @property
    def uses_chroma(self) -> bool:
        return True

    @classmethod
    def runner(cls, members: Sequence[Self], geometry: Geometry, cpu: CpuContext) -> Ssimulacra2Runner:
        (member,) = members  # exactly one, because no option is part of a name
        return Ssimulacra2Runner(member.colour(geometry), geometry, cpu)

    def colour(self, geometry: Geometry) -> Colour:
        """The meaning of the samples of these pictures."""
        matrix = self.text("matrix")
        if matrix == "auto":
            matrix = "bt709" if geometry.width >= 1280 or geometry.height > 576 else "bt601"
        black, luma, chroma = _levels(geometry.depth, self.text("range") == "limited")
        red, blue = _LUMA_WEIGHTS[matrix]
        by_v, by_u = 2 * (1 - red) / chroma, 2 * (1 - blue) / chroma
        green = 1 - red - blue
        return Colour(
            black,
            [1 / luma, by_v, -by_u * blue / green, -by_v * red / green, by_u],
            _curve(self.text("transfer")),
            _mix(matrix == "bt2020", self.text("transfer") == "pq"),
        )


class Colour(NamedTuple):
    """The meaning of samples, in the form for the kernel."""

    black: int  # luma of black
    steps: list[float]  # what one step adds: luma; to red by v, to green by u and by v, to blue by u
    curve: NDArray[np.float32]  # light of evenly spaced values from 0 to 1
    mix: NDArray[np.float32]  # three rows: how red, green and blue light excite a kind of cones


def _levels(depth: int, limited: bool) -> tuple[int, int, int]:
    """Luma of black, and the ranges of luma and chroma."""
    scale = 1 << (depth - 8)
    peak = (1 << depth) - 1
    return (16 * scale, 219 * scale, 224 * scale) if limited else (0, peak, peak)


def _curve(transfer: str) -> NDArray[np.float32]:
    from acuity import _native

    values = np.linspace(0.0, 1.0, _native.SSIMULACRA2_CURVE + 1)
    return _CURVES[transfer](values).astype(np.float32)


def _mix(wide: bool, absolute: bool) -> NDArray[np.float32]:
    """For light of BT.709's primaries or BT.2020's, relative to SDR white or absolute as PQ has it."""
    mix = _CONES.copy()
    if absolute:
        mix *= np.float32(_PQ_WHITE) / np.float32(_SDR_WHITE)
    if wide:
        mix = (mix.astype(np.float64) @ _BT2020_IN_BT709).astype(np.float32)
    return mix


class Ssimulacra2Runner:
    def __init__(self, colour: Colour, geometry: Geometry, cpu: CpuContext) -> None:
        from acuity import _native

        self.native = _native.Ssimulacra2(
            cpu.workspace,
            geometry.width,
            geometry.height,
            geometry.depth,
            chroma=geometry.chroma or (0, 0),
            black=colour.black,
            steps=colour.steps,
            curve=colour.curve,
            mix=colour.mix.ravel(),
            instruction_set=cpu.instruction_set,
        )

    def run(self, frame: Frame) -> dict[str, float]:
        return {"ssimulacra2": self.native.run(list(frame.ref.planes), list(frame.dis.planes))}
