"""One picture: planes of samples and their format."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from acuity.arrays import np
from acuity.errors import InputError
from acuity.records import AsDataclass, NamedTuple, Record, field

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Horizontal and vertical log2 subsampling of the chroma planes; None: no chroma at all.
LAYOUTS: Final[dict[str, tuple[int, int] | None]] = {"400": None, "420": (1, 1), "422": (1, 0), "444": (0, 0)}

DEPTHS: Final = (8, 10, 12, 14, 16)

# Common spellings: libvmaf's "420", Y4M's "420p10", FFmpeg's "yuv420p10le", "gray10le".
_NAME: Final = r"(?:(?:yuvj?)?(?P<layout>400|420|422|444)|gray)(?:p?(?P<depth>8|9|1[0-6])(?:le)?|p)?"

Samples: TypeAlias = "NDArray[np.uint8] | NDArray[np.uint16]"
Signature: TypeAlias = "NDArray[np.float32]"  # means of the luma in a grid of cells, as rows and columns
AnySignature: TypeAlias = Any  # a Signature, or a memoryview of the same
Memory: TypeAlias = Any  # Samples, or a memoryview of the same: native code takes both


class PixelFormat(Record):
    """Chroma layout and bit depth of a planar YUV picture."""

    layout: str
    depth: int

    def __post_init__(self) -> None:
        if self.layout not in LAYOUTS:
            raise InputError(f"unknown pixel format '{self.layout}': use one of {', '.join(LAYOUTS)}")
        if not 8 <= self.depth <= 16:
            raise InputError(f"bit depth {self.depth} is not supported: use 8 to 16")

    @property
    def dtype(self) -> np.dtype[np.uint8] | np.dtype[np.uint16]:
        return np.dtype(np.uint8) if self.depth == 8 else np.dtype("<u2")

    @property
    def code(self) -> Literal["B", "H"]:
        """The letter of a sample in a memoryview."""
        return "B" if self.depth == 8 else "H"

    @property
    def bytes_per_sample(self) -> int:
        return 1 if self.depth == 8 else 2

    def plane_shapes(self, width: int, height: int, *, round_up: bool = True) -> list[tuple[int, int]]:
        """(rows, columns) of each plane; odd sizes round chroma up, as FFmpeg and Y4M do.

        `round_up=False` is the other convention found in raw files.
        """
        shapes = [(height, width)]
        shift = LAYOUTS[self.layout]
        if shift is not None:
            sx, sy = shift
            extra_x, extra_y = ((1 << sx) - 1, (1 << sy) - 1) if round_up else (0, 0)
            shapes += [((height + extra_y) >> sy, (width + extra_x) >> sx)] * 2
        return shapes

    def frame_bytes(self, width: int, height: int, *, round_up: bool = True) -> int:
        shapes = self.plane_shapes(width, height, round_up=round_up)
        return sum(r * c for r, c in shapes) * self.bytes_per_sample

    @classmethod
    def parse(cls, name: str, depth: int | None = None) -> PixelFormat:
        """'420' with a depth, or a name that carries it: '422p10', 'yuv420p10le', 'gray'."""
        layout, named = split_format(name)
        if named is not None and depth is not None and named != depth:
            raise InputError(f"pixel format '{name}' is {named} bit, but bit depth {depth} was given")
        return cls(layout, named or depth or 8)

    def __str__(self) -> str:
        return f"{self.layout}p{self.depth}"


class ColourTags(NamedTuple):
    """The colour tags of compared pictures, by FFmpeg's names; None: not said."""

    matrix: str | None = None
    full_range: bool | None = None
    transfer: str | None = None
    primaries: str | None = None


def split_format(name: str) -> tuple[str, int | None]:
    """The layout, and the depth if the name has it: 'yuv420p10le' has, '420' has not."""
    match = re.fullmatch(_NAME, name.strip().lower())
    if match is None:
        raise InputError(f"unknown pixel format '{name}': use one of {', '.join(LAYOUTS)}")
    return match["layout"] or "400", int(match["depth"]) if match["depth"] else None


class Kept(Record, frozen=False, eq=False):
    """Figures of a picture that several measurements read: those that depend on it and earlier ones alone.

    Any thread may read and write `figures`: whoever computes one finds the same value.
    """

    number: int  # of the picture in its video
    figures: dict[tuple[str, int], float] = field(default_factory=dict)  # by name and earlier picture


class Picture:
    """The planes of one frame. Rows may be padded (any row stride), columns are contiguous.

    The planes are borrowed: the code that makes a Picture keeps its samples unchanged until the
    measurement is done with it, and no code writes into a Picture that it received.
    """

    fields = dict.fromkeys(("planes", "format", "pts", "signature"), field())
    __dataclass_fields__ = AsDataclass()  # for dataclasses.replace()
    __slots__ = ("_arrays", "chroma", "finer", "format", "kept", "loan", "pts", "samples", "signed")

    def __init__(
        self,
        planes: tuple[Memory, ...],
        format: PixelFormat,
        pts: float | None = None,
        signature: AnySignature = None,
    ) -> None:
        self.samples = planes  # as native code takes them: arrays, or rows and columns of memory
        self.format = format
        self.pts = pts  # presentation time in seconds, if the container has one
        self.signed = signature  # the signature as native code gave it
        # Cb and Cr that the comparison doesn't need, where they cost nothing.
        self.chroma: tuple[Samples, ...] = ()
        # Of a picture that is shared; replaced() doesn't copy it to another picture.
        self.kept: Kept | None = None
        # An object that lives as long as the picture is needed; its end tells the owner of the samples so.
        self.loan: object = None
        # For an image or RGB: makes BT.709 4:4:4 of 16 bits in full range from its red, green and blue.
        self.finer: Callable[[], tuple[Samples, ...]] | None = None
        self._arrays: tuple[Samples, ...] | None = None

    @property
    def planes(self) -> tuple[Samples, ...]:
        """The planes as arrays, made when they are first asked for."""
        if self._arrays is None:
            self._arrays = tuple(np.asarray(plane) for plane in self.samples)
        return self._arrays

    @property
    def signature(self) -> Signature | None:
        """The signature as an array, where frames are aligned."""
        return None if self.signed is None else np.asarray(self.signed)

    @signature.setter
    def signature(self, signature: Signature | None) -> None:
        self.signed = signature

    def changed(
        self, planes: tuple[Samples, ...] | None = None, format: PixelFormat | None = None
    ) -> Picture:
        """Another picture with these planes, of the same moment."""
        return Picture(planes or self.samples, format or self.format, self.pts, self.signed)

    def __reduce__(self) -> tuple[object, ...]:
        return Picture, (self.planes, self.format, self.pts, self.signature)  # memory can't be copied so

    def __repr__(self) -> str:
        return f"Picture({self.width}x{self.height}, {self.format}, pts={self.pts})"

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """(rows, columns) of each plane."""
        return tuple(plane.shape for plane in self.samples)

    @property
    def luma(self) -> Samples:
        return self.planes[0]

    @property
    def width(self) -> int:
        return int(self.samples[0].shape[1])

    @property
    def height(self) -> int:
        return int(self.samples[0].shape[0])
