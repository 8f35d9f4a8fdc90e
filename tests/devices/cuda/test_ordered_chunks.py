"""Sums in chunks on an emulated card beside sums that are added up one number after the other."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from acuity.devices.cuda.batch import CHUNK_BLOCK, DOUBLE, SINGLE, chunks_of, cleared, placed
from emulated_card import needs_compiler
from fake_cuda import emulated_card

pytestmark = needs_compiler

RANDOM = np.random.default_rng(5)
TERMS = {
    "few": RANDOM.random(32, np.float32),
    "alike": RANDOM.random(1_100_000, np.float32),  # more chunks than are looked at together
    "of all sizes": RANDOM.lognormal(0, 6, 300_000).astype(np.float32),
    "halves": np.full(200_000, 0.5, np.float32),
    "halfway": np.concatenate([np.full(16, 2.0**22, np.float32), 2 * RANDOM.integers(0, 9, 100_000)]),
    "lost in the sum": np.concatenate([np.full(16, 2.0**26, np.float32), np.full(100_000, 3.9, np.float32)]),
    "rounded up": np.concatenate([np.full(16, 2.0**26, np.float32), np.full(100_000, 5.0, np.float32)]),
    "late": np.concatenate([np.zeros(100_000, np.float32), RANDOM.random(32_000, np.float32)]),
    "none": np.zeros(20_000, np.float32),
    "tiny": RANDOM.random(40_000, np.float32) * np.float32(1e-41),
}


def plain_sums(terms: NDArray[np.float32]) -> NDArray[np.float32]:
    whole = np.zeros(4096 * chunks_of(len(terms)), np.float32)
    whole[: len(terms)] = terms
    return whole.reshape(-1, 4096).sum(1, dtype=np.float32)


@pytest.mark.parametrize("off", [1.0, 20.0])
@pytest.mark.parametrize("name", TERMS)
def test_single_precision(name: str, off: float) -> None:
    """Also if the plain sums, which only tell what to look for, are wrong."""
    terms = TERMS[name].astype(np.float32)
    card = emulated_card()
    grow, add = card.kernels("psnr_hvs", ["psnr_hvs_growths", "psnr_hvs_sums"])
    chunks = chunks_of(len(terms))
    given = placed(card, terms.view(np.uint8))
    plain = placed(card, (plain_sums(terms) * np.float32(off)).view(np.uint8))
    growths, sums = cleared(card, SINGLE.itemsize * chunks), cleared(card, 8)
    stream, count = card.stream(), np.int64(len(terms))
    places = given.address, count, count, np.int64(0)
    grow(stream, (chunks, 1, 1), CHUNK_BLOCK, *places, plain.address, np.int32(chunks), growths.address)
    add(stream, (1, 1, 1), CHUNK_BLOCK, *places, np.int32(chunks), growths.address, sums.address)
    found = np.zeros(1)
    stream.download(found.view(np.uint8), sums.address)
    stream.mark().wait()
    assert found[0] == np.cumsum(terms, dtype=np.float32)[-1]


@pytest.mark.parametrize("name", TERMS)
def test_double_precision(name: str) -> None:
    terms = TERMS[name].astype(np.float32)
    card = emulated_card()
    plain, grow, add = card.kernels("ciede", ["ciede_chunks", "ciede_growths", "ciede_sum"])
    chunks = chunks_of(len(terms))
    given = placed(card, terms.view(np.uint8))
    plain_memory, growths = cleared(card, 4 * chunks), cleared(card, DOUBLE.itemsize * chunks)
    sums, stream = cleared(card, 8), card.stream()
    places = given.address, np.int64(len(terms))
    plain(stream, (chunks, 1, 1), CHUNK_BLOCK, *places, plain_memory.address)
    grow(stream, (chunks, 1, 1), CHUNK_BLOCK, *places, plain_memory.address, growths.address)
    add(stream, (1, 1, 1), CHUNK_BLOCK, *places, growths.address, sums.address, np.int32(1), np.int32(0))
    found = np.zeros(1)
    stream.download(found.view(np.uint8), sums.address)
    stream.mark().wait()
    assert found[0] == np.cumsum(terms, dtype=np.float64)[-1]
