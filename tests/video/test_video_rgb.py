"""Red, green and blue: against the formulas sample by sample, and against FFmpeg's own conversion."""

from __future__ import annotations

import av
import numpy as np
import pytest
from numpy.typing import NDArray

from acuity.errors import InputError
from acuity.video.picture import LAYOUTS, Picture, PixelFormat
from acuity.video.rgb import WEIGHTS, to_rgb, to_rgb8, usual_matrix
from video_clips import random_planes


def noise(layout: str, depth: int) -> Picture:
    format = PixelFormat(layout, depth)
    return Picture(tuple(random_planes(format, 17, 9)), format)


def flat(y: int, cb: int, cr: int, depth: int = 8) -> Picture:
    format = PixelFormat("420", depth)
    values = zip((y, cb, cr), format.plane_shapes(6, 4), strict=True)
    return Picture(tuple(np.full(shape, value, format.dtype) for value, shape in values), format)


def at(plane: NDArray[np.float64], row: float, column: float) -> float:
    """The plane between its samples, with its edge repeated."""
    rows, columns = plane.shape
    top, left = int(np.floor(row)), int(np.floor(column))
    down, right = row - top, column - left
    found = 0.0
    for y, share in ((top, 1 - down), (top + 1, down)):
        for x, part in ((left, 1 - right), (left + 1, right)):
            found += share * part * float(plane[min(max(y, 0), rows - 1), min(max(x, 0), columns - 1)])
    return found


def by_formula(picture: Picture, matrix: str, full_range: bool, row: int, column: int) -> list[float]:
    depth = picture.format.depth
    unit, top = 2.0 ** (depth - 8), 2.0**depth - 1
    across, down = LAYOUTS[picture.format.layout] or (0, 0)
    luma = float(picture.luma[row, column])
    places = (row + 0.5) / 2 - 0.5 if down else row, column / 2 if across else column
    cb, cr = (at(plane.astype(np.float64), *places) - 2.0 ** (depth - 1) for plane in picture.planes[1:])
    y, cb, cr = (
        (luma / top, cb / top, cr / top)
        if full_range
        else ((luma - 16 * unit) / (219 * unit), cb / (224 * unit), cr / (224 * unit))
    )
    kr, kb = WEIGHTS[matrix]
    red, blue = y + 2 * (1 - kr) * cr, y + 2 * (1 - kb) * cb
    green = (y - kr * red - kb * blue) / (1 - kr - kb)
    return [min(max(value, 0.0), 1.0) for value in (red, green, blue)]


@pytest.mark.parametrize("layout", ["420", "422", "444"])
@pytest.mark.parametrize("depth", [8, 9, 10, 12, 16])
@pytest.mark.parametrize("full_range", [False, True])
def test_every_sample_follows_the_formula(layout: str, depth: int, full_range: bool) -> None:
    picture = noise(layout, depth)
    for matrix in ("smpte170m", "bt709", "bt2020nc"):
        found = to_rgb(picture, matrix, full_range)
        assert found.dtype == np.float32
        expected = [
            [by_formula(picture, matrix, full_range, y, x) for x in range(picture.width)]
            for y in range(picture.height)
        ]
        np.testing.assert_allclose(found, expected, atol=2e-6)


def test_known_colours() -> None:
    black, white, red = flat(16, 128, 128), flat(235, 128, 128), flat(63, 102, 240)
    assert to_rgb8(black, "bt709")[0, 0].tolist() == [0, 0, 0]
    assert to_rgb8(white, "bt709")[0, 0].tolist() == [255, 255, 255]
    assert to_rgb8(red, "bt709")[0, 0].tolist() == [255, 1, 0]  # BT.709's red, rounded to samples
    assert to_rgb8(flat(255, 128, 128), "bt709", True)[0, 0].tolist() == [255, 255, 255]
    assert to_rgb8(flat(64 * 4, 128 * 4, 128 * 4, 10), "bt709")[0, 0].tolist() == [56, 56, 56]


def test_the_matrix_of_players() -> None:
    sizes = {(720, 576): "smpte170m", (1280, 534): "bt709", (960, 720): "bt709"}
    assert {size: usual_matrix(*size) for size in sizes} == sizes
    picture = noise("420", 8)
    assert (to_rgb(picture) == to_rgb(picture, "smpte170m")).all()


def test_refusals() -> None:
    with pytest.raises(InputError, match=r"the matrix 'ycgco' cannot .* bt709"):
        to_rgb(noise("420", 8), "ycgco")
    picture = noise("420", 8)
    with pytest.raises(InputError, match="read without its chroma"):
        to_rgb(Picture(picture.planes[:1], picture.format))


def test_as_ffmpeg_converts() -> None:
    """Smooth pictures, because the two interpolate chroma with other filters."""
    rows, columns = np.mgrid[0:64, 0:96]
    luma = (60 + rows + columns).astype(np.uint8)
    chroma = [(110 + (rows + sign * columns)[::2, ::2] / 4).astype(np.uint8) for sign in (1, -1)]
    frame = av.VideoFrame(96, 64, "yuv420p")
    for plane, values in zip(frame.planes, (luma, *chroma), strict=True):
        buffer = np.frombuffer(plane, np.uint8).reshape(values.shape[0], plane.line_size)
        buffer[:, : values.shape[1]] = values
    spaces = {"src_colorspace": "ITU709", "dst_colorspace": "ITU709"}
    theirs = frame.reformat(format="rgb24", interpolation="BILINEAR", **spaces).to_ndarray()
    ours = to_rgb8(Picture((luma, *chroma), PixelFormat("420", 8)), "bt709")
    assert np.abs(ours[2:-2, 2:-2].astype(int) - theirs[2:-2, 2:-2]).max() <= 3
