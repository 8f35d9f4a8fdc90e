"""SSIMULACRA 2 of sRGB images in numpy and double precision, written from its description.

It differs from the reference program by what that rounds: a few hundredths. The last step, from sums of
errors to a score, is the kernel's, which figures of the program itself hold.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from acuity import _native
from acuity.features.extractor import CpuContext, Geometry
from acuity.features.ssimulacra2 import Ssimulacra2, native_ssimulacra2

Floats = NDArray[np.float64]

_RADIUS = 5
_BIAS = 0.0037930732552754493
_CONES = np.array([[0.3, 0.622, 0.078], [0.23, 0.692, 0.078], [0.24342268924547819, 0.20476744424496821, 0]])
_CONES[2, 2] = 1 - _CONES[2, 0] - _CONES[2, 1]


def score(ref: NDArray[Any], dis: NDArray[Any]) -> float:
    """Of two images of rows x columns x red, green and blue, each 0 to 255."""
    light = [_light(image / 255.0) for image in (ref, dis)]
    sums = []
    for _ in range(6):
        sums.append(_compare(*map(_colour, light)))
        if min(light[0].shape[:2]) < 8:
            break
        light = [_half(image) for image in light]
    height, width = ref.shape[:2]
    geometry = Geometry(width, height, 8)
    colour = Ssimulacra2().colour(geometry)
    kernel = native_ssimulacra2(colour, geometry, CpuContext(_native.Workspace(), ""))
    return kernel.outputs(np.concatenate(sums))


def _light(values: Floats) -> Floats:
    return np.where(values > 0.04045, ((values + 0.055) / 1.055) ** 2.4, values / 12.92)


def _half(image: Floats) -> Floats:
    odd = [(0, size % 2) for size in image.shape[:2]]
    even = np.pad(image, [*odd, (0, 0)], "edge")
    return (even[::2, ::2] + even[1::2, ::2] + even[::2, 1::2] + even[1::2, 1::2]) / 4


def _colour(light: Floats) -> Floats:
    """Opposed colours and brightness, moved to be positive."""
    long, middle, short = np.moveaxis(np.cbrt(light @ _CONES.T + _BIAS) - np.cbrt(_BIAS), -1, 0)
    bright = (long + middle) / 2
    return np.stack([(long - middle) / 2 * 14 + 0.42, bright + 0.01, short - bright + 0.55])


def _weights() -> Floats:
    """Three cosines, cut off where they are zero: a Gaussian's own shares of them, changed as little as gives
    its sum and its second moment.
    """
    at = np.arange(-_RADIUS, _RADIUS + 1)
    turns = np.pi / (2 * _RADIUS) * np.array([1, 3, 5])
    cosines = np.cos(np.outer(turns, at))
    shares = np.exp(-(1.5**2) / 2 * turns**2) / _RADIUS
    moments = np.stack([cosines.sum(1), cosines @ at**2])
    missing = np.array([1, 1.5**2]) - moments @ shares
    return (shares + np.linalg.lstsq(moments, missing, rcond=None)[0]) @ cosines


def _blur(plane: Floats) -> Floats:
    """Nothing lies around the picture."""
    for axis in (0, 1):
        around = np.pad(plane, [(_RADIUS, _RADIUS) if axis == side else (0, 0) for side in (0, 1)])
        plane = sliding_window_view(around, 2 * _RADIUS + 1, axis) @ _weights()
    return plane


def _compare(ref: Floats, dis: Floats) -> Floats:
    sums = np.zeros((3, 6, 16))
    for channel, (one, other) in enumerate(zip(ref, dis, strict=True)):
        mean, its_mean = _blur(one), _blur(other)
        square, its_square, product = _blur(one * one), _blur(other * other), _blur(one * other)
        shared = 2 * (product - mean * its_mean) + 0.0009
        apart = (square - mean**2) + (its_square - its_mean**2) + 0.0009
        structure = np.maximum(1 - (1 - (mean - its_mean) ** 2) * shared / apart, 0)
        edge = (1 + abs(other - its_mean)) / (1 + abs(one - mean)) - 1
        for number, errors in enumerate((structure, np.maximum(edge, 0), np.maximum(-edge, 0))):
            sums[channel, 2 * number : 2 * number + 2, 0] = errors.sum(), (errors**4).sum()
    return sums.ravel()
