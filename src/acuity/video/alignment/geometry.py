"""Geometry: the shift, zoom, turn or flip of a picture that explains how another one differs from it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from acuity.arrays import np
from acuity.records import NamedTuple

if TYPE_CHECKING:
    from numpy.typing import NDArray

Plane: TypeAlias = "NDArray[np.float32]"
# From a point of the distorted picture to that of the reference: how far across and down at the centre, how
# much more from one sample to the next across and down, and a turn in radians.
Motion: TypeAlias = "NDArray[np.floating[Any]]"

LEAST_GAIN: Final = 4.0  # times less squared error: undoing what encoders do gives 1.5 at most
_FINER: Final = 1.5  # times more for moves of less than a sample: scalers may shift by half of it
_LEAST_MOVE: Final = 0.15  # samples that a corner of the picture moves by, at least
_FINEST: Final = 1 << 20  # samples: larger pictures are halved first
_COARSEST: Final = 48  # samples along the longer side, where the search begins
_SMALLEST: Final = 16  # samples along the shorter side
_POINTS: Final = 8_000  # points of a picture that are compared
_FLOOR: Final = 2e-5  # of a picture's variance: error that rounding leaves
_LEAST_SEEN: Final = 0.5  # share of the points that must lie in both pictures
_MOST_STRETCH: Final = 0.2
_FLIPPED_FITS: Final = 2.0  # times better than the picture as it is: pictures may be nearly symmetric
_UNLIKE: Final = 0.05  # of a picture's variance: with less error it isn't flipped
_ROUNDS: Final = 6
_SETTLED: Final = 0.02  # samples that a corner moves by in the last round
_NEXT_TO_NOTHING: Final = 0.06  # share of a motion's largest part: smaller parts are chance
_ALIKE: Final = 0.1  # share by which a zoom may differ across and down


_FLIPS: Final[dict[str, Callable[[NDArray[Any]], NDArray[Any]]]] = {
    "mirrored left-right": np.fliplr,
    "mirrored top-bottom": np.flipud,
    "upside down": lambda plane: np.rot90(plane, 2),
    "turned by 90 degrees clockwise": lambda plane: np.rot90(plane, -1),
    "turned by 90 degrees counter-clockwise": np.rot90,
}


class Transformation(NamedTuple):
    """The change of a picture: flipped, then zoomed and turned about its centre, then shifted."""

    flip: str  # in words; empty: not flipped
    dx: float  # samples to the right
    dy: float  # samples down
    zoom_x: float  # more than 1: enlarged
    zoom_y: float
    degrees: float  # clockwise
    gain: float  # how many times smaller the squared error is once it is undone

    def __str__(self) -> str:
        """In words: 'mirrored left-right', 'zoomed by 2 %, shifted by 2 pixels to the right'."""
        zoomed, shifted = _zoomed(self.zoom_x, self.zoom_y), _shifted(self.dx, self.dy)
        return ", ".join(filter(None, (self.flip, zoomed, _turned(self.degrees), shifted)))


def transformation(ref: NDArray[Any], dis: NDArray[Any], least: float = LEAST_GAIN) -> Transformation | None:
    """The change of the reference's luma besides coding; None if no change explains the difference.

    Both are of one size, in samples of any depth. Brightness and contrast may differ too. The difference is
    explained if a `least`-th of its square or less is left once the transformation is undone.
    """
    if min(ref.shape) < _SMALLEST:
        return None
    refs, others = _octaves(ref), _octaves(dis)
    best, flip = _Fit(refs[-1], others[-1]).searched(), ""
    for name, turned in _FLIPS.items():
        coarse = turned(refs[-1])
        if coarse.shape == others[-1].shape and best.error > _UNLIKE * float(others[-1].var()):
            found = _Fit(coarse, others[-1]).searched()
            if found.error * _FLIPPED_FITS < best.error:
                best, flip = found, name
    flipped = _octaves(_FLIPS[flip](ref)) if flip else refs
    motion = best.motion
    for one, other in zip(flipped[-2::-1], others[-2::-1], strict=True):
        motion = _Fit(one, other).refined(motion * (2, 2, 1, 1, 1)).motion
    fit, unmoved = _Fit(flipped[0], others[0]), _Fit(refs[0], others[0])
    _, seen = fit.warped(motion)
    gain = unmoved.error(_unmoved(), seen) / fit.error(motion, seen)
    scale = dis.shape[1] // others[0].shape[1]  # of pictures that were halved
    move = fit.corner(motion) * scale
    least *= 1 if flip or move >= 1 else _FINER
    # Where nothing fits, the gain isn't a number.
    found_one = gain >= least and (bool(flip) or move >= _LEAST_MOVE)
    return _named(motion, fit.half, scale, flip, gain) if found_one else None


def squared_error(ref: NDArray[Any], dis: NDArray[Any]) -> float:
    """The mean square of what differs besides brightness and contrast, as `transformation` measures it."""
    return _Fit(_smooth(_finest(ref)), _smooth(_finest(dis))).error(_unmoved())


def _unmoved() -> Motion:
    return np.zeros(5)


class _Found(NamedTuple):
    motion: Motion
    error: float


class _Fit:
    """Fits the motion from points of a distorted picture to those of a reference."""

    def __init__(self, ref: Plane, dis: Plane) -> None:
        self._ref, self._dis = np.ascontiguousarray(ref), dis
        height, width = dis.shape
        self.half: tuple[float, float] = (width - 1) / 2, (height - 1) / 2
        step = max(1, round((height * width / _POINTS) ** 0.5))
        xs, ys = np.arange(1, width - 1, step), np.arange(1, height - 1, step)
        across, down = (xs - self.half[0]).astype(np.float32), (ys - self.half[1]).astype(np.float32)
        self._x, self._y = (part.ravel() for part in np.meshgrid(across, down))
        self._values = dis[1:-1:step, 1:-1:step].ravel()
        slope_x = (dis[1:-1:step, 2::step] - dis[1:-1:step, :-2:step]).ravel() / 2
        slope_y = (dis[2::step, 1:-1:step] - dis[:-2:step, 1:-1:step]).ravel() / 2
        turn = slope_y * self._x - slope_x * self._y
        ones = np.ones_like(turn)  # twice: contrast, known when the reference is warped, and brightness
        self._known = np.stack((slope_x, slope_y, slope_x * self._x, slope_y * self._y, turn, ones, ones))

    def searched(self) -> _Found:
        """The best motion found, starting at none or at the shift where the pictures correlate best."""
        found, start = self.refined(_unmoved()), self._correlated()
        return min(found, self.refined(start), key=lambda one: one.error) if start.any() else found

    def refined(self, motion: Motion) -> _Found:
        """The motion after some rounds of least squares, which also fit brightness and contrast."""
        for _ in range(_ROUNDS):
            warped, seen = self.warped(motion)
            if np.count_nonzero(seen) < _LEAST_SEEN * seen.size:
                break
            self._known[5] = warped
            known = self._known * seen
            # Not with @, which may start a thread for every core.
            squares = np.einsum("in,jn->ij", known, self._known)
            change = np.linalg.lstsq(squares, np.einsum("in,n->i", known, self._values), rcond=1e-7)[0][:5]
            motion = motion + change
            if np.abs(motion[2:]).max() > _MOST_STRETCH or self.corner(change) < _SETTLED:
                break
        return _Found(motion, self.error(motion))

    def corner(self, motion: Motion) -> float:
        """How far a motion takes a corner at most, in samples."""
        dx, dy, stretch_x, stretch_y, turn = (abs(float(value)) for value in motion)
        x, y = self.half
        return max(dx + stretch_x * x + turn * y, dy + stretch_y * y + turn * x)

    def error(self, motion: Motion, seen: NDArray[np.bool_] | None = None) -> float:
        """The mean square that is left of the points seen, with the best brightness and contrast."""
        warped, inside = self.warped(motion)
        seen = inside if seen is None else seen
        if seen.mean() < _LEAST_SEEN or np.abs(motion[2:]).max() > _MOST_STRETCH:
            return float("inf")
        one, other = (plane[seen].astype(np.float64) for plane in (warped, self._values))
        one -= one.mean()
        other -= other.mean()
        power, common = _product(other, other), max(_product(one, other), 0.0)
        left = power - common * common / max(_product(one, one), 1e-9)
        return (max(left, 0.0) + _FLOOR * power) / int(seen.size) + 1e-9

    def warped(self, motion: Motion) -> tuple[Plane, NDArray[np.bool_]]:
        """The reference at the points that the motion leads to, and which of them are in it."""
        dx, dy, stretch_x, stretch_y, turn = (np.float32(value) for value in motion)
        x = self._x * (1 + stretch_x) - self._y * turn + (dx + np.float32(self.half[0]))
        y = self._y * (1 + stretch_y) + self._x * turn + (dy + np.float32(self.half[1]))
        height, width = self._ref.shape
        seen = (x >= 1) & (x <= width - 2) & (y >= 1) & (y <= height - 2)
        left = np.clip(x, 0, width - 2).astype(np.intp)
        top = np.clip(y, 0, height - 2).astype(np.intp)
        x -= left
        y -= top
        samples, at = self._ref.ravel(), top * width + left
        upper = samples[at] * (1 - x) + samples[at + 1] * x
        at += width
        lower = samples[at] * (1 - x) + samples[at + 1] * x
        return upper * (1 - y) + lower * y, seen

    def _correlated(self) -> Motion:
        """The shift, in whole samples, at which the phases of the two pictures agree best."""
        height, width = self._dis.shape
        window = np.outer(np.hanning(height), np.hanning(width))
        spectra = [np.fft.rfft2((plane - plane.mean()) * window) for plane in (self._ref, self._dis)]
        cross = spectra[0] * np.conj(spectra[1])
        peaks = np.fft.irfft2(cross / np.maximum(np.abs(cross), 1e-9), s=(height, width))
        row, column = divmod(int(peaks.argmax()), width)
        dx, dy = column - width * (column > width // 2), row - height * (row > height // 2)
        return np.array([dx, dy, 0.0, 0.0, 0.0])


def _product(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """The sum of products; without @, as above."""
    return float(np.einsum("n,n->", one, other))


def _octaves(plane: NDArray[Any]) -> list[Plane]:
    """A picture and its halves, the finest first, smoothed a little, because points lie between samples."""
    octaves = [_finest(plane)]
    while max(octaves[-1].shape) > _COARSEST and min(octaves[-1].shape) >= _SMALLEST:
        octaves.append(halved(octaves[-1]))
    return [_smooth(octave) for octave in octaves]


def _finest(plane: NDArray[Any]) -> Plane:
    found = plane.astype(np.float32)
    while found.size > _FINEST:
        found = halved(found)
    return found


def halved(plane: Plane) -> Plane:
    """Means of two by two; an odd last row or column is left out."""
    height, width = plane.shape[0] & ~1, plane.shape[1] & ~1
    rows = plane[0:height:2] + plane[1:height:2]
    return (rows[:, 0:width:2] + rows[:, 1:width:2]) * np.float32(0.25)


def _smooth(plane: Plane) -> Plane:
    """The three by three binomial mean, with samples beyond the border like those at it."""
    rows = np.pad(plane, ((1, 1), (0, 0)), mode="edge")
    rows = rows[:-2] + 2 * plane + rows[2:]
    columns = np.pad(rows, ((0, 0), (1, 1)), mode="edge")
    return (columns[:, :-2] + 2 * rows + columns[:, 2:]) * np.float32(1 / 16)


def _named(motion: Motion, half: tuple[float, float], scale: int, flip: str, gain: float) -> Transformation:
    """The transformation that a motion undoes, without parts that are next to nothing beside the rest."""
    dx, dy, stretch_x, stretch_y, turn = (float(value) for value in motion)
    moved = {"dx": dx, "dy": dy, "x": stretch_x * half[0], "y": stretch_y * half[1], "turn": turn * max(half)}
    least = max(_LEAST_MOVE / scale, _NEXT_TO_NOTHING * max(map(abs, moved.values())))
    kept = {name: float(abs(value) >= least) for name, value in moved.items()}
    zoom_x, zoom_y = 1 / (1 + stretch_x * kept["x"]), 1 / (1 + stretch_y * kept["y"])
    return Transformation(
        flip,
        -dx * zoom_x * scale * kept["dx"],
        -dy * zoom_y * scale * kept["dy"],
        zoom_x,
        zoom_y,
        -math.degrees(turn) * kept["turn"],
        gain,
    )


def _zoomed(x: float, y: float) -> str:
    if x == y == 1:
        return ""
    if abs(x - y) <= _ALIKE * max(abs(x - 1), abs(y - 1)):
        both = (x + y) / 2
        return f"{'zoomed' if both > 1 else 'shrunk'} by {_figure(100 * abs(both - 1))} %"
    verb, ways = ("zoomed" if x + y > 2 else "shrunk"), ((x, "across"), (y, "down"))
    if (x - 1) * (y - 1) < 0:
        return f"zoomed to {_figure(100 * x)} % of its width and {_figure(100 * y)} % of its height"
    parts = [f"{_figure(100 * abs(zoom - 1))} % {way}" for zoom, way in ways if zoom != 1]
    return f"{verb} by {' and '.join(parts)}"


def _turned(degrees: float) -> str:
    way = "clockwise" if degrees > 0 else "counter-clockwise"
    return f"turned by {_figure(abs(degrees))} degrees {way}" if degrees else ""


def _shifted(dx: float, dy: float) -> str:
    parts = [
        f"{said} {'pixel' if said == '1' else 'pixels'} {ways[value > 0]}"
        for value, ways in ((dx, ("to the left", "to the right")), (dy, ("up", "down")))
        if (said := _figure(abs(value))) != "0"
    ]
    return f"shifted by {' and '.join(parts)}" if parts else ""


def _figure(value: float) -> str:
    """One decimal, and none for a whole number."""
    return f"{value:.1f}".removesuffix(".0")
