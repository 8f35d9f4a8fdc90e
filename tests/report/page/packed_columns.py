"""Reads packed columns as a page's script does, in plain steps: the other half of report/page/packing.py."""

from __future__ import annotations

import base64
import math
import zlib
from collections.abc import Iterator
from typing import Any


def unpack(packed: dict[str, Any]) -> list[float]:
    """The values of rows, NaN where there is none; of ranges the least and the greatest in turn."""
    whole = list(_whole_numbers(packed["data"]))
    per_row = 2 if packed["encoding"] == "ranges" else 1
    rows = packed["count"] if per_row == 1 else -(-packed["count"] // packed["bucket"])
    assert len(whole) == rows * per_row
    values = [q / 10 ** packed["decimals"] for q in whole]
    for row in _whole_numbers(packed["absent"]) if "absent" in packed else ():
        for place in range(per_row):
            values[row * per_row + place] = math.nan
    return values


def _whole_numbers(data: str) -> Iterator[int]:
    number = shift = before = 0
    for byte in zlib.decompress(base64.b64decode(data), -zlib.MAX_WBITS):
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            assert number < 2**53
            before += (number >> 1) ^ -(number & 1)
            yield before
            number = shift = 0
