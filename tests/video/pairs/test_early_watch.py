"""EarlyWatch: a few pairs are not looked at, because they tell nothing; of more, each is, in order."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from acuity.video.alignment.aligner import Aligner
from acuity.video.alignment.signature import coarse, grid, sign
from acuity.video.pairs.early_watch import EarlyWatch
from acuity.video.pairs.glimpse import LOOKS, Glimpse
from acuity.video.pairs.likeness import Brightness, Likeness
from acuity.video.picture import Picture, PixelFormat


def picture(seed: int) -> Picture:
    luma = np.random.default_rng(seed).integers(0, 256, (120, 160), np.uint8)
    found = Picture((luma,), PixelFormat("400", 8))
    sign(found)
    return found


class Recorded:
    """A watch that remembers what it is shown."""

    certain = False
    scored: int | None = None

    def __init__(self) -> None:
        self.seen: list[tuple[Glimpse, Glimpse]] = []
        self.calls: list[str] = []

    def add(self, ref: Glimpse, dis: Glimpse) -> None:
        self.seen.append((ref, dis))

    def end(self, *_: Any) -> None:
        self.calls.append("end")

    def leave(self, waiting: Iterable[tuple[Glimpse, Glimpse]] = ()) -> None:
        self.seen.extend(waiting)
        self.calls.append("leave")


@pytest.mark.parametrize("how", ["end", "leave"])
@pytest.mark.parametrize("pairs", [0, 1, 8, 9, 24, 40])
def test_every_pair_is_shown_in_order_unless_they_are_few(pairs: int, how: str) -> None:
    watch = Recorded()
    early = EarlyWatch(lambda: watch, None)  # type: ignore[arg-type,return-value]
    pictures = [picture(seed) for seed in range(pairs)]
    for number, one in enumerate(pictures, 1):
        early.add(one, one)
        assert len(watch.seen) in (0, number)
    getattr(early, how)()
    looked = pairs > 8
    assert watch.calls == ([how] if looked else [])
    assert [ref.signed for ref, _ in watch.seen] == ([one.signed for one in pictures] if looked else [])
    assert [n for n, (ref, _) in enumerate(watch.seen) if ref.part is not None] == [
        n for n in LOOKS if looked and n < pairs
    ]


@pytest.mark.parametrize("seed", range(20))
def test_so_few_pairs_tell_nothing_whatever_they_show(seed: int) -> None:
    """Not even that all are different, that one stands still, or that they come in another order."""
    rng = np.random.default_rng(seed)
    refs = [picture(100 * seed + n) for n in range(8)]
    disses = [refs[int(n)] for n in rng.permutation(8) // (1 + seed % 3)] if seed % 2 else [picture(7)] * 8
    aligner, likeness, brightness = Aligner(), Likeness(), Brightness()
    for number, (ref, dis) in enumerate(zip(refs, disses, strict=True)):
        assert aligner.add(ref.signed, dis.signed) is None
        assert likeness.look(Glimpse.of(ref, number), Glimpse.of(dis, number)) is None
        brightness.add((ref.signed, dis.signed))
    assert aligner.end([one.signed for one in refs], ()) is None
    assert (aligner.certain, brightness.difference()) == (False, None)
    assert all(last - first + 1 <= 8 for first, last in aligner.unlike)


def test_the_middle_is_that_of_the_picture() -> None:
    luma = np.arange(300 * 500, dtype=np.uint16).reshape(300, 500)
    found = Glimpse.of(Picture((luma,), PixelFormat("400", 16)), LOOKS[0])
    assert np.array_equal(np.asarray(found.middle), luma[42:258, 58:442])
    assert np.array_equal(np.asarray(found.part), luma[6:294])


def test_coarse_cells_are_means_of_nine() -> None:
    fine = grid(picture(3))
    across = fine[:, 0::3] + fine[:, 1::3] + fine[:, 2::3]
    rows = (across[0::3] + across[1::3] + across[2::3]).ravel() / np.float32(9)
    assert np.asarray(coarse(fine)).tolist() == rows.tolist()
