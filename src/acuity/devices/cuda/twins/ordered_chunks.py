"""Sums in a fixed order by the whole card, in chunks: the twin of kernels/ordered_chunks.cuh."""

from __future__ import annotations

from typing import Final

import numpy as np

_CHUNK: Final = 4096  # numbers
_GUESSES: Final = 4
CHUNK_BLOCK: Final = (256, 1, 1)

# What a chunk adds to a sum, by the powers of two that the sum may have reached.
SINGLE: Final = np.dtype([("most", np.int32), ("at", np.uint32, (_GUESSES, 2))], align=True)
DOUBLE: Final = np.dtype([("most", np.int32), ("at", np.uint64, (_GUESSES, 2))], align=True)


def chunks_of(count: int) -> int:
    """How many chunks so many numbers have."""
    return -(-count // _CHUNK)
