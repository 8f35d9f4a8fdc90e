"""Probing a card: a small kernel whose answer is known."""

from __future__ import annotations

from typing import Final

import numpy as np

from acuity.devices.cuda.hardware.card import Card
from acuity.devices.cuda.hardware.cuda_errors import INSTEAD
from acuity.errors import BackendError

PROGRAM: Final = "probe"
KERNEL: Final = "probe"

_SEED: Final = 12345
_BLOCKS, _THREADS = 64, 256
# 4097 squared takes 25 bits, and a float has 24: rounded before the sum it gives 2, fused with it 3.
_FACTORS: Final = np.float32(4097), np.float32(4097), np.float32(-16785406)
_BYTES: Final = 16  # a sum, a float, and nothing


def check_card(card: Card) -> None:
    """Compile, upload, run and download; raises BackendError if anything fails or the answer is wrong."""
    (probe,) = card.kernels(PROGRAM, [KERNEL])
    memory, stream, answer = card.allocate(_BYTES), card.stream(), card.pinned(_BYTES)
    answer[:] = 0
    stream.upload(memory.address, _BYTES, answer.reshape(1, -1))
    grid, block = (_BLOCKS, 1, 1), (_THREADS, 1, 1)
    probe(stream, grid, block, np.uint32(_SEED), *_FACTORS, memory.address)
    stream.download(answer, memory.address)
    stream.mark().wait()
    if answer.tobytes() != _answer():
        raise BackendError(
            f"{card.properties.label} computes a known sum wrongly: its memory or driver may be damaged",
            *INSTEAD,
        )


def _answer() -> bytes:
    threads = np.arange(_BLOCKS * _THREADS, dtype=np.uint32)
    total: np.uint64 = ((threads + np.uint32(_SEED)) * np.uint32(2654435761)).sum(dtype=np.uint64)
    a, b, c = _FACTORS
    rounded: np.float32 = a * b + c
    return total.tobytes() + rounded.tobytes() + bytes(4)
