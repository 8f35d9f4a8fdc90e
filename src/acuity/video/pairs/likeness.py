"""Likeness: whether the pictures of a pair show the same part, the same way up, in the same light."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from acuity.arrays import np
from acuity.video.pairs.glimpse import LOOKS, Glimpse
from acuity.video.picture import AnySignature, Samples, Signature

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from acuity.video.alignment.geometry import Transformation

Plane: TypeAlias = "NDArray[Any]"

_KEPT: Final = 12  # pairs whose samples are kept, to tell whether geometry explains a lag
_VISIBLE: Final = 10.0  # squared 8-bit steps of error that may come from more than coding
_SURE: Final = 6.0  # times less squared error once it is undone, of one picture
LIKELY: Final = 2.0  # likewise, of several to which the same was done
_FRAMES: Final = 5  # frames that tell whether geometry explains a lag
_BETTER: Final = 0.5  # share of the error at the lag that geometry may leave
_NEAR: Final = 3  # frames by which the lag may be wrong: geometry must be better than these lags, too
_AS_WELL: Final = 10.0  # the same for zooms, which may leave more: thumbnails are scaled roughly
_ZOOM: Final = 0.01
_ALIKE: Final = 1.0  # cells, or hundredths of a zoom, by which what was done to frames may differ
_EVERY: Final = 8  # pairs, of which one tells the brightness
_LEVELS: Final = 8  # of luma, of which each has its own difference
_FEWEST: Final = 200  # cells of a level that tell something
_LIGHTER: Final = 4.0  # 8-bit steps of brightness that encoders keep


def zoomed(ref: Sequence[Plane], dis: Sequence[Plane], lag: int) -> Transformation | None:
    """The zoom that explains the pictures about as well as a lag, as where the camera moves forward."""
    found = moved(ref, dis, lag, better=_AS_WELL, least=LIKELY)
    return found if found and max(abs(found.zoom_x - 1), abs(found.zoom_y - 1)) > _ZOOM else None


def moved(
    ref: Sequence[Plane],
    dis: Sequence[Plane],
    lag: int,
    better: float = _BETTER,
    least: float | None = None,
) -> Transformation | None:
    """The change of the pictures that explains them much better than a lag; None if none does.

    `ref` and `dis` are signatures, or samples, of the same places in both videos. `better` is the part of the
    lag's error that may be left, `least` the gain that each picture needs.
    """
    from acuity.video.alignment.geometry import LEAST_GAIN, squared_error, transformation

    places = [n for n in range(len(dis)) if n < len(ref) and 0 <= n + lag < len(ref)]
    found = []
    for n in places[:: max(1, len(places) // _FRAMES)][:_FRAMES]:
        what = transformation(ref[n], dis[n], LEAST_GAIN if least is None else least)
        if what is None:
            return None
        left = squared_error(ref[n], dis[n]) / what.gain
        lags = range(max(n + lag - _NEAR, 0), min(n + lag + _NEAR + 1, len(ref)))
        if left > better * min(squared_error(ref[other], dis[n]) for other in lags):
            return None
        found.append(what)
    if not found or len(found) < min(3, len(places)):
        return None
    return found[len(found) // 2] if _alike(found) else None


def _visible(ref: Glimpse, dis: Glimpse) -> bool:
    """Whether the samples differ by more than coding mostly makes of them."""
    from acuity import _native

    assert ref.part is not None
    assert dis.part is not None
    unit, samples = 1 << (ref.depth - 8), ref.part.nbytes // ref.part.itemsize
    return bool(_native.squared_error(ref.part, dis.part, ref.depth) >= _VISIBLE * unit * unit * samples)


def _alike(found: Sequence[Transformation]) -> bool:
    """Whether the same was done to all: where the videos go different ways, each picture moves otherwise."""
    figures = np.array([(one.dx, one.dy, 100 * one.zoom_x, 100 * one.zoom_y) for one in found])
    return len({one.flip for one in found}) == 1 and float(np.ptp(figures, axis=0).max()) <= _ALIKE


def relit(ref: Sequence[Signature], dis: Sequence[Signature], lag: int) -> str | None:
    """In words the change of light that explains the pictures much better than a lag; None if none does.

    In a fade each frame is a later one in another light, so the light must have changed alike in all of them.
    """
    places = [n for n in range(len(dis)) if n < len(ref) and 0 <= n + lag < len(ref)]
    if not places:
        return None
    one, other, later = (
        np.stack([planes[n + by] for n in places]).astype(np.float64) + 112  # black is 0
        for planes, by in ((ref, 0), (dis, 0), (ref, lag))
    )
    contrast = float(((one - one.mean()) * other).mean() / max(float(one.var()), 1e-9))
    more = float(other.mean() - contrast * one.mean())
    lit = contrast * one + more
    left, as_is, lagging = (float(np.square(other - each).mean()) for each in (lit, one, later))
    if left > _BETTER * min(as_is, lagging):
        return None
    black = f", and its black is off by {more:+.0f} of 255 steps" if abs(more) >= 1 else ""
    return f"{contrast:.0%} of the contrast{black}"


class Brightness:
    """How much brighter or darker a video is than another, by their signatures."""

    def __init__(self) -> None:
        self._pairs = 0
        # The sum of the differences of each level, and how many there are.
        self._levels = [(0.0, 0.0)] * _LEVELS

    def add(self, pair: tuple[AnySignature, AnySignature] | None) -> None:
        """Take in the signatures of the next pair."""
        number, self._pairs = self._pairs, self._pairs + 1
        if number % _EVERY == 0 and pair is not None:
            from acuity import _native

            found = _native.level_differences(*pair, _LEVELS)
            self._levels = [(a + c, b + d) for (a, b), (c, d) in zip(self._levels, found, strict=True)]

    def difference(self) -> str | None:
        """The difference in words; None if it isn't clear.

        Blur makes dark parts brighter and bright parts darker, so the mean tells.
        """
        mean = sum(off for off, _ in self._levels) / max(sum(cells for _, cells in self._levels), 1)
        if abs(mean) < _LIGHTER or self._pairs <= 2 * _EVERY:  # a few pictures may be anything
            return None
        most = max([abs(off / cells) for off, cells in self._levels if cells >= _FEWEST], default=0.0)
        most = max(most, abs(mean))
        how = "brighter" if mean > 0 else "darker"
        return f"{how} by {abs(mean):.0f} of 255 steps, up to {most:.0f} at a level"


class Likeness:
    """Looks at pairs; several calls of look() may return what was done to the picture."""

    def __init__(self) -> None:
        self._pairs = 0
        self._kept: deque[tuple[memoryview, memoryview]] = deque(maxlen=_KEPT)
        self._found: list[Transformation] = []

    @property
    def recent(self) -> tuple[list[Samples], list[Samples]]:
        """The middle of the last pictures, reference and distorted."""
        return [np.asarray(ref) for ref, _ in self._kept], [np.asarray(dis) for _, dis in self._kept]

    def look(self, ref: Glimpse, dis: Glimpse) -> Transformation | None:
        """Take in the next pair; what was done to its picture, if it is one whose samples are compared.

        One look suffices for a clear change, and two that agree for a smaller one.
        """
        number, self._pairs = self._pairs, self._pairs + 1
        if ref.middle is not None and dis.middle is not None:
            self._kept.append((ref.middle, dis.middle))
        if number not in LOOKS:
            return None
        if (found := self._transformed(ref, dis)) is None:
            return None
        self._found.append(found)
        return found if found.gain >= _SURE or (len(self._found) > 1 and _alike(self._found[-2:])) else None

    def _transformed(self, ref: Glimpse, dis: Glimpse) -> Transformation | None:
        """The change of the middle of the picture, looked for only where the samples differ visibly.

        Pictures on a card stay there: their signatures tell less.
        """
        if ref.part is not None and dis.part is not None and not _visible(ref, dis):
            return None
        from acuity.video.alignment.geometry import LEAST_GAIN, transformation

        signed = ref.signed is not None and dis.signed is not None
        whole = (np.asarray(ref.signed), np.asarray(dis.signed)) if signed else None
        if ref.on_card or dis.on_card:
            return None if whole is None else transformation(*whole)
        parts = np.asarray(ref.part), np.asarray(dis.part)
        if (found := transformation(*parts, LIKELY)) is None or not found.flip:
            return found
        # The middle of a symmetric picture may seem to be flipped: ask the whole.
        flipped = found.gain >= LEAST_GAIN and (whole is None or transformation(*whole) is not None)
        return found if flipped else None
