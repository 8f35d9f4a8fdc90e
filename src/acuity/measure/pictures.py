"""Converts the pictures that a program passes in to Picture objects, and checks them."""

from __future__ import annotations

from typing import Final

import numpy as np

from acuity.errors import InputError
from acuity.features.extractor import Geometry
from acuity.video.picture import LAYOUTS, Picture, PixelFormat, Samples

PictureLike = Picture | Samples | tuple[Samples, ...]

_BYTES: Final = np.dtype(np.uint8)
_WORDS: Final = np.dtype(np.uint16)


def as_picture(given: PictureLike, bitdepth: int | None) -> Picture:
    """A Picture unchanged; arrays as a copy, because their owner may reuse them for the next frame."""
    if isinstance(given, Picture):
        _check_planes(given)
        return given
    planes = given if isinstance(given, tuple) else (given,)
    if not planes or not all(isinstance(plane, np.ndarray) for plane in planes):
        wrong = next((plane for plane in planes if not isinstance(plane, np.ndarray)), given)
        raise InputError(
            f"a picture is an array of luma samples, a tuple of such planes or a Picture, not {_kind(wrong)}"
        )
    copies: tuple[Samples, ...] = tuple(plane.copy(order="C") for plane in planes)
    return Picture(copies, PixelFormat(_layout(copies), _depth(copies, bitdepth)))


def geometry_of(picture: Picture) -> Geometry:
    chroma = picture.planes[1].shape[::-1] if len(picture.planes) == 3 else None
    return Geometry(picture.width, picture.height, picture.format.depth, chroma)


def _check_planes(picture: Picture) -> None:
    """Refuse planes that the kernels can't read."""
    wanted = picture.format.dtype
    if not picture.planes:
        raise InputError("a Picture has no planes: give it one of luma samples at least")
    for plane in picture.planes:
        if not isinstance(plane, np.ndarray) or plane.ndim != 2:
            raise InputError(
                f"the planes of a Picture are arrays of rows and columns, and one is {_kind(plane)}"
            )
        if plane.dtype != wanted:
            raise InputError(
                f"samples of {picture.format.depth} bits are {wanted.name}, and a plane of the Picture is "
                f"{plane.dtype.str}: convert it with astype()"
            )
        if plane.shape[1] > 1 and plane.strides[1] != plane.itemsize:
            raise InputError(
                "the samples of a row of a Picture have to lie one after the other, and these don't: "
                "pass numpy.ascontiguousarray() of it"
            )


def _kind(given: object) -> str:
    if isinstance(given, tuple):
        return "an empty tuple"
    if isinstance(given, np.ndarray):
        return f"an array of shape {given.shape}"
    return f"something of type {type(given).__name__}"


def _depth(planes: tuple[Samples, ...], bitdepth: int | None) -> int:
    dtype = planes[0].dtype
    if any(plane.dtype != dtype for plane in planes) or dtype not in (_BYTES, _WORDS):
        raise InputError(f"samples must be uint8 or uint16 arrays, and these are {dtype}")
    if dtype == _BYTES:
        if bitdepth not in (None, 8):
            raise InputError(f"uint8 samples cannot be {bitdepth} bits deep: pass a uint16 array")
        return 8
    if not isinstance(bitdepth, int) or not 8 < bitdepth <= 16:
        raise InputError("uint16 samples don't say how deep they are: pass bitdepth=10, 12 or 16")
    return bitdepth


def _layout(planes: tuple[Samples, ...]) -> str:
    shapes = [plane.shape for plane in planes]
    if any(len(shape) != 2 for shape in shapes):
        raise InputError(f"a plane must be an array of rows and columns, and these are {shapes}")
    for layout in LAYOUTS:
        if PixelFormat(layout, 8).plane_shapes(shapes[0][1], shapes[0][0]) == shapes:
            return layout
    raise InputError(f"planes of shapes {shapes} are no 400, 420, 422 or 444 picture")
