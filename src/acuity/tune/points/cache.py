"""Cache: measured points, digests of files and lists of shots in an SQLite file that all commands share."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from typing import Final

import numpy as np

from acuity.cache_file import CacheFile, cache_path
from acuity.tune.points.point import Point

# What JSON can hold of a point as it is.
_PLAIN: Final = ("quality", "bytes", "model", "encoder_version", "encode_seconds")


def default_path() -> str:
    return cache_path("tune")


class Cache(CacheFile):
    """Points and documents by key; any thread may use it."""

    def get(self, key: str) -> Point | None:
        return self.entry(key, _unpacked)

    def put(self, key: str, point: Point, *, source: str = "", maker: str = "") -> None:
        """Keep a point, and delete what was used longest ago.

        of_source() finds it by `source`, the key of the clip and its scoring; `maker` names what encoded it.
        """
        head, arrays = _packed(point)
        self.keep(key, head, arrays, source=source, maker=maker)

    def of_source(self, source: str) -> list[tuple[str, str, Point]]:
        return self.entries_of(source, _unpacked)


def _packed(point: Point) -> tuple[str, bytes]:
    """A point as JSON and the bytes of its arrays, which keep every bit."""
    head = {
        **{name: getattr(point, name) for name in _PLAIN},
        "rate": str(point.rate),
        "notes": point.notes,
        "sizes": len(point.sizes),
        "columns": [[name, len(column)] for name, column in point.scores.items()],
    }
    arrays = [
        np.asarray(point.sizes, "<i8"),
        *(np.asarray(column, "<f8") for column in point.scores.values()),
    ]
    return json.dumps(head), b"".join(array.tobytes() for array in arrays)


def _unpacked(head: str, arrays: bytes) -> Point:
    """The point that was packed; raises ValueError or KeyError if the bytes are others."""
    values = json.loads(head)
    counts: Sequence[int] = [values["sizes"], *(count for _, count in values["columns"])]
    if 8 * sum(counts) != len(arrays):
        raise ValueError("an entry is incomplete")
    ends = np.cumsum(counts) * 8
    parts = [arrays[end - 8 * count : end] for count, end in zip(counts, ends, strict=True)]
    sizes, *columns = (
        np.frombuffer(part, "<f8" if index else "<i8").copy() for index, part in enumerate(parts)
    )
    names = [name for name, _ in values["columns"]]
    return Point(
        **{name: values[name] for name in _PLAIN},
        sizes=sizes.astype(np.int64),
        rate=Fraction(values["rate"]),
        scores=dict(zip(names, columns, strict=True)),
        notes=tuple(values["notes"]),
        cached=True,
    )
