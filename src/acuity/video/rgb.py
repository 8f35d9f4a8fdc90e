"""Red, green and blue of a picture, by the matrix and range of its video.

Chroma is interpolated bilinearly. Where it has fewer columns than luma, its samples lie on the columns of
even luma samples; where it has fewer rows, they lie between two rows. That is the siting of MPEG-2, H.264 and
HEVC, which FFmpeg calls left.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias, cast

from acuity.arrays import np
from acuity.errors import InputError
from acuity.video.picture import LAYOUTS, Picture

if TYPE_CHECKING:
    from numpy.typing import NDArray

Floats: TypeAlias = "NDArray[np.float32]"

# The weights of red and blue in luma (ITU-T H.273, table 4).
WEIGHTS: Final = {
    "bt709": (0.2126, 0.0722),
    "fcc": (0.30, 0.11),
    "bt470bg": (0.299, 0.114),
    "smpte170m": (0.299, 0.114),
    "smpte240m": (0.212, 0.087),
    "bt2020nc": (0.2627, 0.0593),
}
# Matrices as people write them: the same arithmetic under several names.
MATRIX_NAMES: Final = {
    "bt709": "BT.709",
    "fcc": "FCC",
    "bt470bg": "BT.601",
    "smpte170m": "BT.601",
    "smpte240m": "SMPTE 240M",
    "bt2020nc": "BT.2020",
}
# Primaries that players show alike: they differ by less than displays do.
NARROW_PRIMARIES: Final = frozenset(("bt709", "bt470bg", "smpte170m", "smpte240m", "ebu3213"))
SRGB: Final = "iec61966-2-1"  # the transfer of images that don't say theirs
_HD: Final = (1280, 576)  # at least so wide, or more than so high


def usual_matrix(width: int, height: int) -> str:
    """The matrix that players assume for a video that doesn't say its own: BT.709 for HD, BT.601 below."""
    return "bt709" if width >= _HD[0] or height > _HD[1] else "smpte170m"


def to_rgb(
    picture: Picture, matrix: str | None = None, full_range: bool = False, *, centred: bool = False
) -> Floats:
    """Red, green and blue of 0 to 1, as rows x columns x 3; None stands for the matrix that players assume.

    Values outside 0 to 1, which no display shows, are clipped. Chroma that is `centred` lies between two
    columns, as JPEG, MPEG-1 and Y4M's C420jpeg have it. Raises InputError for a matrix that isn't
    in WEIGHTS, and for a picture whose chroma was left out.
    """
    return np.ascontiguousarray(rgb_planes(picture, matrix, full_range, centred=centred).transpose(1, 2, 0))


def to_rgb8(
    picture: Picture, matrix: str | None = None, full_range: bool = False, *, centred: bool = False
) -> NDArray[np.uint8]:
    """Red, green and blue of 0 to 255, rounded, as rows x columns x 3; otherwise as to_rgb()."""
    planes = rgb_planes(picture, matrix, full_range, centred=centred)
    planes *= np.float32(255)
    return np.ascontiguousarray(np.rint(planes, out=planes).astype(np.uint8).transpose(1, 2, 0))


def rgb_planes(
    picture: Picture, matrix: str | None = None, full_range: bool = False, *, centred: bool = False
) -> Floats:
    """Red, green and blue of 0 to 1, as 3 x rows x columns; otherwise as to_rgb8()."""
    name = matrix or usual_matrix(picture.width, picture.height)
    if name not in WEIGHTS:
        raise InputError(
            f"the matrix {name!r} cannot be turned into red, green and blue here: convert the video to "
            f"one of {', '.join(WEIGHTS)}"
        )
    depth = picture.format.depth
    unit = 1 << (depth - 8)
    top = (1 << depth) - 1
    zero, luma_size, chroma_size = (0, top, top) if full_range else (16 * unit, 219 * unit, 224 * unit)
    rgb = np.empty((3, picture.height, picture.width), np.float32)
    luma = picture.luma.astype(np.float32)
    luma -= np.float32(zero)
    luma /= np.float32(luma_size)
    if picture.format.layout == "400":
        rgb[:] = luma
        return cast("Floats", np.clip(rgb, 0, 1, out=rgb))
    if len(picture.planes) != 3:
        raise InputError("the picture was read without its chroma, so it has no red, green and blue")
    red, blue = WEIGHTS[name]
    green = 1 - red - blue
    middle = np.float32(1 << (depth - 1))
    rgb[1] = luma
    # The differences of blue and red are added to their colours, and their share is taken from green.
    for colour, plane, weight in ((2, picture.planes[1], blue), (0, picture.planes[2], red)):
        difference = plane.astype(np.float32)
        difference -= middle
        difference *= np.float32(2 * (1 - weight) / chroma_size)
        difference = _enlarged(difference, picture, centred=centred)
        np.add(luma, difference, out=rgb[colour])
        difference *= np.float32(weight / green)
        rgb[1] -= difference
    return cast("Floats", np.clip(rgb, 0, 1, out=rgb))


def _enlarged(plane: Floats, picture: Picture, *, centred: bool) -> Floats:
    """A chroma plane with a sample for each one of luma."""
    across, down = LAYOUTS[picture.format.layout] or (0, 0)
    rows, columns = picture.height, picture.width
    if across and centred:
        plane = _doubled(plane.T, columns).T
    elif across:
        wide = np.empty((plane.shape[0], 2 * plane.shape[1]), np.float32)
        wide[:, ::2] = plane
        np.add(plane[:, :-1], plane[:, 1:], out=wide[:, 1:-1:2])
        wide[:, 1:-1:2] *= np.float32(0.5)
        wide[:, -1] = plane[:, -1]  # the edge is repeated
        plane = wide[:, :columns]
        plane = plane if plane.shape[1] == columns else np.pad(plane, ((0, 0), (0, 1)), "edge")
    return _doubled(plane, rows) if down else plane


def _doubled(plane: Floats, rows: int) -> Floats:
    """Twice as many rows; each old row lies midway between two new ones."""
    high = np.empty((2 * plane.shape[0], plane.shape[1]), np.float32)
    near, far = plane * np.float32(0.75), plane * np.float32(0.25)
    np.add(near[1:], far[:-1], out=high[2::2])
    np.add(near[:-1], far[1:], out=high[1:-1:2])
    high[0], high[-1] = plane[0], plane[-1]
    plane = high[:rows]
    return plane if plane.shape[0] == rows else np.pad(plane, ((0, 1), (0, 0)), "edge")
