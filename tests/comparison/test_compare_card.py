"""Comparisons on a card: the CPU's figures, and memory that all pairs share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from acuity.comparison.request import ComparePair, ComparisonRequest
from acuity.comparison.run import compare_videos
from acuity.devices import open_backend
from acuity.devices.cuda.fitting import batch_frames
from acuity.features.extractor import Geometry
from acuity.scoring.request import Request
from emulated_card import needs_compiler
from fake_cuda import FakeCuda, fake_cards
from scoring_clips import container


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> FakeCuda:
    fake_cards(monkeypatch, found := FakeCuda())
    return found


def most_in_use(cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The most memory of the card that was ever in use, in a list that grows."""
    seen = [0]
    real = cuda.malloc

    def malloc(size: int) -> int:
        address = real(size)
        seen.append(max(seen[-1], cuda.in_use()))
        return address

    monkeypatch.setattr(cuda, "malloc", malloc)
    return seen


def compared(ref: Path, encodes: list[Path], backend: str) -> list[dict[str, Any]]:
    wanted = [ComparePair(str(ref), str(dis)) for dis in encodes]
    scoring = Request("", "", models=[], features=["psnr"], backend=backend)
    request = ComparisonRequest(wanted, scoring, remember=False)
    found = []
    for row in compare_videos(request).rows:
        assert row.error is None, row.error
        assert row.report is not None
        found.append({**row.report.results.columns, "by": row.report.about()["computed_by"]})
    return found


@needs_compiler
def test_three_encodes_on_one_card(cuda: FakeCuda, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ref = container(tmp_path / "ref.mkv", 9)
    encodes = [
        container(tmp_path / "good.mp4", 9, codec="libx264"),
        container(tmp_path / "bad.mkv", 9, worse=True),
        container(tmp_path / "same.mkv", 9),
    ]
    there, here = compared(ref, encodes, "cuda"), compared(ref, encodes, "cpu")
    assert cuda.launches
    for on_card, on_cpu in zip(there, here, strict=True):
        assert (on_card.pop("by"), on_cpu.pop("by")) == ({"psnr": "cuda"}, {"psnr": "cpu"})
        assert list(on_card) == list(on_cpu)
        for name, values in on_cpu.items():
            np.testing.assert_array_equal(on_card[name], values, strict=True)


@needs_compiler
def test_the_memory_of_a_card_does_not_grow_with_the_encodes(
    cuda: FakeCuda, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ref = container(tmp_path / "ref.mkv", 6)
    encodes = [container(tmp_path / f"{number}.mkv", 6, worse=True) for number in range(6)]
    seen = most_in_use(cuda, monkeypatch)
    compared(ref, encodes[:1], "cuda")
    alone = seen[-1]
    assert alone > 0
    compared(ref, encodes, "cuda")
    assert seen[-1] < 3 * alone  # that of the first run may still be there


@pytest.mark.parametrize(("share", "frames"), [(1, 8), (2, 4), (3, 2), (8, 1), (100, 1)])
def test_measurements_share_a_card(cuda: FakeCuda, share: int, frames: int) -> None:
    geometry = Geometry(1920, 1080, 8)
    assert batch_frames(geometry, share) == frames
    device = open_backend("cuda", share=share).devices[0]
    assert device.window(geometry) == 4 * frames
