"""Pools the figures of many frames into one, in libvmaf's order of arithmetic."""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Callable, Sequence
from functools import partial, reduce
from operator import add
from typing import TYPE_CHECKING, Final, TypeAlias

from acuity.arrays import np
from acuity.errors import FeatureError

if TYPE_CHECKING:
    from numpy.typing import NDArray

Array: TypeAlias = "Sequence[float] | NDArray[np.float64]"
_NUMBER: Final = r"-?[0-9]+(\.[0-9]*)?|-?\.[0-9]+"
Method = str | tuple[str, float]
Bound = int | None  # a frame, or no limit


def _sequential_sum(values: Array) -> float:
    """Adds from first to last, as libvmaf does; Python's sum() corrects itself, and numpy's adds pairwise."""
    return float(reduce(add, values))


def _mean(values: Array) -> float:
    return _sequential_sum(values) / len(values)


def _harmonic_mean(values: Array) -> float:
    """The harmonic mean of values + 1, minus 1, so that a single zero doesn't make it zero."""
    raised = [value + 1.0 for value in values]
    total = _sequential_sum([1.0 / value if value else math.inf for value in raised])
    return len(values) / total - 1.0 if total else math.inf  # all of them are infinite


def percentile(values: Array, percent: float) -> float:
    """The value below which `percent` of the frames lie, interpolated linearly between the two nearest."""
    return percentiles(values, [percent])[0]


def percentiles(values: Array, percents: Sequence[float]) -> list[float]:
    """Several percentiles, with one sort."""
    known = [value for value in values if value == value]
    ordered = sorted(known) + [math.nan] * (len(values) - len(known))  # which have no order
    return [_percentile(ordered, percent) for percent in percents]


def _percentile(ordered: Array, percent: float) -> float:
    if not 0.0 <= percent <= 100.0:
        raise FeatureError(f"percentile {percent:g} must be between 0 and 100")
    position = percent * (len(ordered) - 1) / 100.0
    left = math.floor(position)
    right = math.ceil(position)
    if left == right:
        return float(ordered[left])
    return float(ordered[left] * (right - position) + ordered[right] * (position - left))


def _extreme(choose: Callable[[Array], float], values: Array) -> float:
    return math.nan if any(value != value for value in values) else float(choose(values))


POOLS: Final[dict[str, Callable[[Array], float]]] = {
    "min": partial(_extreme, min),
    "max": partial(_extreme, max),
    "mean": _mean,
    "harmonic_mean": _harmonic_mean,
}
# The methods that have names, also those whose figures reports don't list for every column.
METHODS: Final[dict[str, Callable[[Array], float]]] = {
    **POOLS,
    "median": lambda values: percentile(values, 50.0),
    "stddev": lambda values: float(np.std(values)),
}


def pool(values: Array, method: Method = "mean") -> float:
    """Pool by 'mean', 'min', 'max', 'harmonic_mean', 'median', 'stddev' (of these frames, not of a sample),
    'p5' (any number) or ('percentile', 5.0); raises FeatureError.
    """
    if len(values) == 0:
        raise FeatureError("there is no frame to pool")
    values = array("d", values)  # integers and single precision would be added up as such
    if isinstance(method, tuple):
        name, percent = method
        if name == "percentile":
            return percentile(values, float(percent))
    elif method in METHODS:
        return METHODS[method](values)
    elif method[:1] == "p" and re.fullmatch(_NUMBER, method[1:]):
        return percentile(values, float(method[1:]))
    raise FeatureError(
        f"unknown pooling method {method!r}: use one of {', '.join(METHODS)}, or p with a percentile"
    )
