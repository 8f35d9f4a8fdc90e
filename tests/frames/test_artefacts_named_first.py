"""On pictures with one known artefact the description names it first, in at least nine of ten.

The anchors of the measures were set with other contents than these.
Run with -s for the tables.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pytest

import damage as d
from acuity.features.extractor import Pair
from acuity.frames.artefacts.examine import NAMES, examine
from acuity.frames.artefacts.findings import Examination, Typical, describe
from acuity.frames.artefacts.measure import ExaminedFrame
from acuity.video.picture import Picture, PixelFormat
from golden_figures import GOLDEN, needs_golden

NONE = "no visible artefact measured"


class Named(NamedTuple):
    """A content, and what can be seen on it."""

    name: str
    content: d.Content
    smooth: bool = False  # blur can't be seen on it, but banding can
    edges: bool = True  # ringing needs them


class Case(NamedTuple):
    artefact: str
    damages: tuple[d.Damage, ...]  # of several kinds and strengths, which contents take in turn
    fits: Callable[[Named], bool] = lambda content: True


def _synthetic(
    kind: str, width: int, height: int, seed: int, *, smooth: bool = False, edges: bool = True
) -> Named:
    return Named(kind, lru_cache(maxsize=4)(d.synthetic(kind, width, height, seed)), smooth, edges)


CONTENTS = (
    _synthetic("city", 250, 220, 3),
    _synthetic("clouds", 231, 219, 4, smooth=True, edges=False),
    _synthetic("foliage", 256, 216, 7, edges=False),
    _synthetic("cartoon", 226, 232, 8),
    _synthetic("gradient", 280, 232, 7, smooth=True),
)
CASES = (
    Case("blocking", (d.mosaic(8, 0.5), d.mosaic(8, 1.0), d.mosaic(16, 0.6, phase=5))),
    Case("blocking", (d.block_offsets(16, 6, phase=3), d.block_offsets(12, 8), d.block_offsets(8, 6))),
    Case("blocking", (d.transform_coded(60), d.transform_coded(28))),
    Case("blur", (d.blurred(1.0), d.blurred(3.0), d.box_blurred(5)), lambda content: not content.smooth),
    Case("blur", (d.scaled_down(2), d.blurred(1.5), d.scaled_down(3)), lambda content: not content.smooth),
    Case(
        "ringing",
        (d.ringing(0.15), d.ringing(0.25, 0.2, 4), d.ringing(0.2, 0.35)),
        lambda content: content.edges,
    ),
    Case("ringing", (d.oversharpened(1.0), d.oversharpened(2.0, 1.6)), lambda content: content.edges),
    Case("banding", (d.banded(3), d.banded(8)), lambda content: content.smooth),
    Case("banding", (d.banded(5), d.banded(4)), lambda content: content.smooth),
    Case("noise", (d.noisy(2.5), d.noisy(5), d.noisy(12))),
    Case("noise", (d.grainy(8), d.grainy(4), d.salt_and_pepper(0.03))),
    Case("colour shift", (d.cast(8, 0), d.cast(-14, 14), d.cast(-3.5, 3.5))),
    Case("colour shift", (d.warm(0.1), d.warm(0.2), d.warm(-0.12))),
    Case("brightness shift", (d.brighter(12), d.brighter(-15), d.gamma(1.3))),
    Case("brightness shift", (d.full_to_limited, d.gamma(0.75), d.limited_to_full)),
)
FORMATS = (("420", 8, False), ("422", 10, False), ("444", 8, True), ("420", 10, True), ("420", 12, False))


def _first(found: Examination) -> str:
    sentence = describe(found, Typical()).lower()
    return next((name for name in NAMES if sentence.startswith(name)), NONE)


def _named_first(contents: Iterable[Named]) -> dict[str, Counter[str]]:
    """What is named first, for each artefact."""
    table: dict[str, Counter[str]] = {}
    for place, content in enumerate(contents):
        for number, case in enumerate(CASES):
            if not case.fits(content):
                continue
            form = FORMATS[(place + number) % len(FORMATS)]
            damage = case.damages[(place + number) % len(case.damages)]
            frame = d.made(content.content, damage, *form, index=1)
            table.setdefault(case.artefact, Counter())[_first(examine(frame))] += 1
        for since in (1, 2):
            frame = d.frozen(content.content, since=since, index=2, depth=8 + 2 * (since % 2))
            table.setdefault("freeze", Counter())[_first(examine(frame))] += 1
    return table


def _check(table: dict[str, Counter[str]], least: float = 0.9) -> None:
    columns = (*NAMES, NONE)
    print("\n" + " " * 17, *(f"{name[:10]:>10}" for name in columns))
    for artefact, firsts in table.items():
        print(f"{artefact:17}", *(f"{firsts[name] or '':>10}" for name in columns))
    right = sum(firsts[artefact] for artefact, firsts in table.items())
    total = sum(firsts.total() for firsts in table.values())
    print(f"{right} of {total}")
    assert right >= least * total, table
    for artefact, firsts in table.items():
        assert firsts[artefact] >= min(least * firsts.total(), firsts.total() - 1), (artefact, firsts)


def test_named_first_on_made_contents() -> None:
    _check(_named_first(CONTENTS))


def _read(name: str, width: int, height: int, depth: int, frames: int, layout: str = "420") -> list[Picture]:
    assert GOLDEN is not None
    form = PixelFormat(layout, depth)
    size, pictures = form.frame_bytes(width, height), []
    for index in range(frames):
        samples = np.fromfile(GOLDEN / "clips" / name, np.uint8, size, offset=index * size).view(form.dtype)
        planes, start = [], 0
        for rows, columns in form.plane_shapes(width, height):
            planes.append(samples[start : start + rows * columns].reshape(rows, columns))
            start += rows * columns
        pictures.append(Picture(tuple(planes), form))
    return pictures


def _cut(content: d.Content, x: int, y: int, width: int = 288, height: int = 224) -> d.Content:
    """A part of a picture."""

    @lru_cache(maxsize=4)
    def at(index: int) -> d.Planes:
        luma, u, v = (plane[y : y + height, x : x + width] for plane in content(index))
        return luma, u, v

    return at


@needs_golden
def test_named_first_on_real_pictures() -> None:
    sky = d.of_pictures(_read("blue_sky_360p_10b_decoded.yuv", 640, 360, 10, 3))
    still = d.of_pictures(_read("10081.yuv", 481, 321, 8, 1, "444"))
    clip = d.of_pictures(_read("src01_hrc00_576x324_3f_8bit.yuv", 576, 324, 8, 3))
    blurred = lru_cache(maxsize=4)(d.soft(_cut(sky, 300, 40, 240, 220)))
    contents = [
        Named(name, _cut(whole, 60, 40)) for name, whole in (("sky", sky), ("still", still), ("clip", clip))
    ]
    _check(_named_first([*contents, Named("out of focus", blurred, True, False)]))


@pytest.mark.parametrize("content", CONTENTS, ids=lambda content: content.name)
def test_no_artefact_where_there_is_none(content: Named) -> None:
    planes, last = content.content(1), content.content(0)
    ref, before = d.picture(planes), d.picture(last)
    same = examine(ExaminedFrame(ref, ref, Pair(before, before)))
    assert describe(same, Typical()) == "No visible artefact measured."
    # Nor in what only rounding makes different.
    close = d.noisy(0.3)
    almost = ExaminedFrame(ref, d.picture(close(planes)), Pair(before, d.picture(close(last))))
    assert describe(examine(almost), Typical()) == "No visible artefact measured."


STRONGER: dict[str, tuple[d.Damage, ...]] = {
    "blocking": tuple(d.block_offsets(8, levels) for levels in (2, 5, 10, 20)),
    "blur": tuple(d.blurred(sigma) for sigma in (0.6, 1.0, 2.0, 4.0)),
    "ringing": tuple(d.ringing(strength) for strength in (0.08, 0.15, 0.3, 0.5)),
    "noise": tuple(d.noisy(sigma) for sigma in (1.5, 4, 10, 25)),
    "colour shift": tuple(d.cast(u, -u) for u in (2, 6, 14, 30)),
    "brightness shift": tuple(d.brighter(levels) for levels in (4, 10, 20, 40)),
    "banding": tuple(d.banded(step) for step in (0.5, 1, 2, 4)),
}


@pytest.mark.parametrize("artefact", STRONGER)
def test_severity_grows_with_strength(artefact: str) -> None:
    content = d.synthetic("gradient" if artefact == "banding" else "city", 264, 224, 5)
    frames = [d.made(content, damage, depth=10) for damage in STRONGER[artefact]]
    severities = [examine(frame).severity(artefact) for frame in frames]
    assert all(np.diff(severities) > 0.01), severities
    assert severities[0] < 0.4
    assert severities[-1] > 0.55
