"""SSIMULACRA 2: errors of structure and of edges, at six scales, in a space of perceived colour.

It is made for RGB pictures, so the samples of a video have to be read. Options say how; by default the tags
of the videos do. Where those say nothing, the range is limited, the matrix BT.709 from 1280 columns or 577
rows on and BT.601 below, and the light that of a display of gamma 2.4 (BT.1886). Chroma is upsampled
bilinearly, sited on the left column and between two rows; colours that no display can show are clipped.
Pictures without chroma are grey. 100 is no difference; there is no lower end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple, Self, TypeAlias

from acuity import _native
from acuity.arrays import np
from acuity.errors import UnfitPictureError
from acuity.features.extractor import CpuContext, Extractor, Feature, Frame, Geometry, Run
from acuity.features.options import word
from acuity.video.rgb import MATRIX_NAMES, NARROW_PRIMARIES, SRGB, WEIGHTS, usual_matrix

if TYPE_CHECKING:
    from numpy.typing import NDArray

AUTO: Final = "auto"
_MATRICES: Final = {"bt601": "smpte170m", "bt709": "bt709", "bt2020": "bt2020nc"}  # that options name
_WIDE: Final = {"bt2020": "BT.2020", "smpte432": "P3"}  # primaries that are told from BT.709's
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
_PEAKS: Final = {"pq": 10000.0, "hlg": 1000.0}  # of light that isn't relative to SDR's white

Curve: TypeAlias = "Callable[[NDArray[np.float64]], NDArray[np.float64]]"


def _srgb(v: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(v > 0.04045, ((v + 0.055) / 1.055) ** 2.4, v / 12.92)


def _pq(v: NDArray[np.float64]) -> NDArray[np.float64]:
    """SMPTE ST 2084."""
    root = v ** (32 / 2523)
    lifted = np.maximum(root - 107 / 128, 0.0) / (2413 / 128 - 2392 / 128 * root)
    return np.asarray(lifted ** (8192 / 1305))


def _hlg(v: NDArray[np.float64]) -> NDArray[np.float64]:
    """BT.2100's light of a scene, with the gamma 1.2 of a display applied to each colour by itself."""
    bright = (np.exp((v - 0.55991073) / 0.17883277) + 0.28466892) / 12
    return np.asarray(np.where(v > 0.5, bright, v * v / 3) ** 1.2)


_CURVES: Final[dict[str, Curve]] = {
    "bt1886": lambda v: v**2.4,
    "srgb": _srgb,
    "gamma22": lambda v: v**2.2,
    "gamma28": lambda v: v**2.8,
    "linear": lambda v: v,
    "pq": _pq,
    "hlg": _hlg,
}
# The curve of a display for each tag. Cameras' curves, as BT.709's, are shown with BT.1886.
_TRANSFERS: Final = {
    **dict.fromkeys(("bt709", "smpte170m", "smpte240m", "iec61966-2-4", "bt1361e"), "bt1886"),
    **dict.fromkeys(("bt2020-10", "bt2020-12"), "bt1886"),
    SRGB: "srgb",
    "bt470m": "gamma22",
    "bt470bg": "gamma28",
    "linear": "linear",
    "smpte2084": "pq",
    "arib-std-b67": "hlg",
}


class LightReading(NamedTuple):
    """How samples are read as light."""

    matrix: str  # a key of WEIGHTS
    full_range: bool
    transfer: str  # a key of _CURVES
    primaries: str | None = None  # of _WIDE; None: BT.709's
    assumed: tuple[str, ...] = ()  # what neither an option nor a video says

    def __str__(self) -> str:
        said = [
            f"the matrix {MATRIX_NAMES[self.matrix]}",
            f"{'full' if self.full_range else 'limited'} range",
            f"the transfer {self.transfer}",
        ]
        if self.primaries is not None:
            said.append(f"the primaries {_WIDE[self.primaries]}")
        assumed = f" ({', '.join(self.assumed)} assumed)" if self.assumed else ""
        return f"{', '.join(said[:-1])} and {said[-1]}{assumed}"


class Ssimulacra2(Extractor):
    name = "ssimulacra2"
    summary = "structure and edges in perceived colour, at six scales"
    options = (
        word("matrix", "", AUTO,
            "how colour was coded; auto: as the videos say, or bt709 for HD and larger and bt601 below",
            (AUTO, *_MATRICES), named=False),
        word("range", "", AUTO,
            "whether luma of 8 bits goes from 16 to 235, or uses all values; auto: as the videos say, "
            "or limited", (AUTO, "limited", "full"), named=False),
        word("transfer", "", AUTO,
            "how values become light; auto: as the videos say, srgb for images, or bt1886", (AUTO, *_CURVES),
            named=False),
    )  # fmt: skip
    features = (Feature("ssimulacra2", "ssimulacra2"),)
    min_size = 8
    min_size_reason = "its blur would cover smaller ones whole"
    uses_chroma = True

    @classmethod
    def runner(cls, members: Sequence[Self], geometry: Geometry, cpu: CpuContext) -> Run:
        (member,) = members  # exactly one, because no option is part of a name
        if cls.reads_finer(geometry):
            geometry = replace(geometry, depth=16, chroma=(geometry.width, geometry.height))
        native, finer = native_ssimulacra2(member.colour(geometry), geometry, cpu), geometry.finer

        def run(frame: Frame) -> dict[str, float]:
            ref, dis = frame.ref, frame.dis
            if finer and ref.finer is not None and dis.finer is not None:
                return {"ssimulacra2": native.run(list(ref.finer()), list(dis.finer()))}
            return {"ssimulacra2": native.run(list(ref.samples), list(dis.samples))}

        return run

    @classmethod
    def reads_finer(cls, geometry: Geometry) -> bool:
        return geometry.finer

    def check_size(self, geometry: Geometry) -> None:
        super().check_size(geometry)
        self._read(geometry)

    def reading(self, geometry: Geometry) -> str:
        found = self._read(geometry)
        if geometry.finer:
            wide = f" and the primaries {_WIDE[found.primaries]}" if found.primaries else ""
            usual = ", as images have that say no other" if found.transfer == "srgb" else ""
            return f"ssimulacra2 reads red, green and blue with the transfer {found.transfer}{usual}{wide}"
        return f"ssimulacra2 reads the samples with {found}"

    def _read(self, geometry: Geometry) -> LightReading:
        """The meaning of the samples; raises UnfitPictureError for tags that it can't read."""
        tags, assumed = geometry.colour, []
        if geometry.finer:
            tags = tags._replace(full_range=True, transfer=tags.transfer or SRGB)
        matrix, primaries = _MATRICES.get(self.text("matrix")), None
        if matrix is None:
            matrix, primaries = tags.matrix, tags.primaries
            any_will_do = geometry.chroma is None or geometry.finer
            if matrix is None or (any_will_do and matrix not in WEIGHTS):
                matrix = usual_matrix(geometry.width, geometry.height)
                assumed += [] if any_will_do else ["matrix"]
        if matrix == "bt2020nc" and primaries is None:
            primaries = "bt2020"
        full_range = self.text("range") == "full"
        if self.text("range") == AUTO:
            full_range = bool(tags.full_range)
            assumed += ["range"] if tags.full_range is None else []
        transfer = self.text("transfer")
        if transfer == AUTO:
            transfer = _TRANSFERS.get(tags.transfer or "bt709", "")
            assumed += [] if tags.transfer else ["transfer"]
        if matrix not in WEIGHTS:
            raise _unread("matrix", matrix, "matrix=bt709")
        if primaries is not None and primaries not in NARROW_PRIMARIES | _WIDE.keys():
            raise _unread("primaries", primaries, "matrix=bt709")
        if not transfer:
            raise _unread("transfer", str(tags.transfer), "transfer=bt1886")
        wide = primaries if primaries in _WIDE else None
        if geometry.finer:  # RGB has neither, and this is what it comes as
            matrix, full_range = "bt709", True
        return LightReading(matrix, full_range, transfer, wide, tuple(assumed))

    def colour(self, geometry: Geometry) -> Colour:
        """The meaning of the samples of these pictures."""
        reading = self._read(geometry)
        black, luma, chroma = _levels(geometry.depth, not reading.full_range)
        red, blue = WEIGHTS[reading.matrix]
        by_v, by_u = 2 * (1 - red) / chroma, 2 * (1 - blue) / chroma
        green = 1 - red - blue
        values = np.linspace(0.0, 1.0, _native.SSIMULACRA2_CURVE + 1)
        return Colour(
            black,
            [1 / luma, by_v, -by_u * blue / green, -by_v * red / green, by_u],
            _CURVES[reading.transfer](values).astype(np.float32),
            _mix(reading.primaries, _PEAKS.get(reading.transfer)),
        )


def _unread(what: str, tag: str, option: str) -> UnfitPictureError:
    return UnfitPictureError(
        f"ssimulacra2 can't read video with the {what} {tag}: convert it, or say how its samples are to be "
        f"read, as in ssimulacra2={option}"
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


def _mix(primaries: str | None, peak: float | None) -> NDArray[np.float32]:
    """For light of BT.709's primaries or others, relative to SDR white or to a peak of its own."""
    mix = _CONES.copy()
    if peak is not None:
        mix *= np.float32(peak) / np.float32(_SDR_WHITE)
    if primaries is not None:
        from acuity.video.pairs.recolour import gamut_matrix

        mix = (mix.astype(np.float64) @ gamut_matrix(primaries, "bt709")).astype(np.float32)
    return mix


def native_ssimulacra2(colour: Colour, geometry: Geometry, cpu: CpuContext) -> _native.Ssimulacra2:
    read = {"black": colour.black, "steps": colour.steps, "curve": colour.curve, "mix": colour.mix.ravel()}
    return cpu.kernel(_native.Ssimulacra2, geometry, chroma=geometry.chroma or (0, 0), **read)
