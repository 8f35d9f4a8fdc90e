"""Packs figures into short texts for pages, and says how exactly so that a page stays small.

A packed column is an object of JSON. A value v is the whole number q = round(v * 10^decimals). Its difference
from the q before it (0 before the first) is written as zigzag and LEB128, all bytes together are
deflated without a header, and `data` is their base64:

    {"count": rows, "decimals": D, "encoding": "delta", "data": "...", "absent": "..."}
    {"count": rows, "decimals": D, "encoding": "ranges", "bucket": B, "data": "...", "absent": "..."}

`absent`, where it is, is the same coding of the row numbers without a value; their q repeats the one before.
`ranges` holds the least and the greatest value of each B rows in turn (the last bucket may be shorter), and
its `absent` are numbers of buckets. `decimals` is never negative, and no |q| is above 2^51, so that every
number is exact in JavaScript. Show a value with `decimals` digits: with fewer it would be rounded twice.
"""

from __future__ import annotations

import base64
import math
import zlib
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

LARGEST: Final = 2.0**51  # of |q|: a difference of two is below 2^52, its zigzag below 2^53
MOST_DECIMALS: Final = 12

Packed = dict[str, Any]


class Detail(NamedTuple):
    """How exactly the columns of a page are packed; points: the most ranges of a column, None: all rows."""

    decimals: int  # of the headline score, and of other scores
    metric_digits: int  # significant ones, of metrics
    feature_digits: int
    feature_points: int | None = None
    metric_points: int | None = None  # of metrics, and of scores that aren't the headline
    headline_points: int | None = None


# The most exact first. A page takes the first that fits; the last one is taken if none does.
DETAILS: Final = (
    Detail(6, 9, 9),
    Detail(6, 7, 7),
    Detail(6, 6, 5),
    Detail(4, 5, 5),
    Detail(4, 5, 4),
    Detail(4, 5, 3),
    Detail(4, 5, 4, 4000),
    Detail(4, 5, 4, 2000),
    Detail(3, 5, 4, 2000),
    Detail(3, 5, 4, 1000),
    Detail(2, 4, 3, 2000, 8000),
    Detail(2, 4, 3, 1000, 4000),
    Detail(2, 4, 3, 500, 1000),
    Detail(2, 3, 3, 200, 400),
    Detail(1, 3, 3, 200, 400),
    Detail(2, 3, 3, 200, 400, 20000),  # several films at once, or days
    Detail(2, 3, 3, 100, 200, 5000),
    Detail(2, 3, 3, 50, 50, 1000),
)


def decimals_for(values: NDArray[np.float64], digits: int) -> int:
    """The decimals with which the largest value has that many significant digits."""
    largest = _largest(values)
    if largest == 0.0:
        return 0
    return min(max(digits - 1 - math.floor(math.log10(largest)), 0), MOST_DECIMALS)


def storable(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which values can be packed at all: finite ones that aren't absurdly large."""
    kept: NDArray[np.bool_] = np.abs(values) < LARGEST  # NaN is not
    return kept


def pack(values: NDArray[np.float64], decimals: int) -> Packed:
    """All values; those that can't be stored are absent."""
    numbers = np.asarray(values, np.float64)
    decimals = _fitting(numbers, decimals)
    there = storable(numbers)
    packed: Packed = {"count": len(numbers), "decimals": decimals, "encoding": "delta"}
    packed["data"] = _coded(_held(_quantised(numbers, decimals, there), there))
    return packed | _absent(there)


def pack_ranges(values: NDArray[np.float64], decimals: int, bucket: int) -> Packed:
    """The least and the greatest of each `bucket` rows."""
    numbers = np.asarray(values, np.float64)
    decimals = _fitting(numbers, decimals)
    there = storable(numbers)
    starts = np.arange(0, len(numbers), bucket)
    low = high = np.zeros(0)
    if len(starts):
        low = np.minimum.reduceat(np.where(there, numbers, np.inf), starts)
        high = np.maximum.reduceat(np.where(there, numbers, -np.inf), starts)
    filled = np.isfinite(low)
    both = np.column_stack([low, high]).ravel()
    twice = np.repeat(filled, 2)
    packed: Packed = {"count": len(numbers), "decimals": decimals, "encoding": "ranges", "bucket": bucket}
    packed["data"] = _coded(_held(_quantised(both, decimals, twice), twice))
    return packed | _absent(filled)


def packed_size(packed: Packed) -> int:
    """About how many characters of JSON it takes."""
    return len(packed["data"]) + len(packed.get("absent", "")) + 80


def _largest(values: NDArray[np.float64]) -> float:
    kept = values[storable(values)]
    return float(np.abs(kept).max()) if len(kept) else 0.0


def _fitting(values: NDArray[np.float64], decimals: int) -> int:
    """The decimals, or fewer if a value would be too large with them."""
    largest = _largest(values)
    while decimals > 0 and largest * 10.0**decimals >= LARGEST:
        decimals -= 1
    return decimals


def _quantised(values: NDArray[np.float64], decimals: int, there: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The whole numbers: each value rounded as decimal text rounds it, half to even in the binary value."""
    scale = 10.0**decimals
    kept = np.where(there, values, 0.0)
    scaled = kept * scale
    whole = np.rint(scaled)
    # The product is itself rounded. Where that could move a value over a half, decimal text decides.
    doubtful = np.abs(np.abs(scaled - np.trunc(scaled)) - 0.5) <= np.abs(scaled) * 2.0**-51
    for row in np.flatnonzero(doubtful & (kept != 0.0)).tolist():
        whole[row] = float(f"{kept[row]:.{decimals}f}".replace(".", ""))
    return whole.astype(np.int64)


def _held(whole: NDArray[np.int64], there: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The numbers, with the one before in the place of each that is absent (0 before the first)."""
    if there.all():
        return whole
    last = np.maximum.accumulate(np.where(there, np.arange(1, len(whole) + 1), 0))
    return np.asarray(np.concatenate([np.zeros(1, np.int64), whole])[last])


def _absent(there: NDArray[np.bool_]) -> Packed:
    rows = np.flatnonzero(~there)
    return {"absent": _coded(rows.astype(np.int64))} if len(rows) else {}


def _coded(whole: NDArray[np.int64]) -> str:
    """Differences, zigzag, LEB128, deflate, base64."""
    steps = np.diff(whole, prepend=np.int64(0))
    zigzag = ((steps << 1) ^ (steps >> 63)).astype(np.uint64)
    lengths = np.ones(len(zigzag), np.int64)
    for group in range(1, 8):
        lengths += zigzag >= np.uint64(1 << (7 * group))
    offsets = np.cumsum(lengths) - lengths
    written = np.zeros(int(lengths.sum()), np.uint8)
    for group in range(int(lengths.max(initial=0))):
        here = lengths > group
        piece = (zigzag[here] >> np.uint64(7 * group)) & np.uint64(0x7F)
        more = np.where(lengths[here] > group + 1, 0x80, 0).astype(np.uint64)
        written[offsets[here] + group] = (piece | more).astype(np.uint8)
    # Z_FILTERED: noise has no repetitions worth finding, and times have long ones.
    deflater = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS, 9, zlib.Z_FILTERED)
    return base64.b64encode(deflater.compress(written.tobytes()) + deflater.flush()).decode("ascii")
