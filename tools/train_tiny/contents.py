"""The contents that the tiny models are trained and judged on, and which of them are for what.

A content is wholly in one split: `train`, `val` (chooses when training ends), `test` (held out), or, where
the golden clips are at hand, `real-dev` (looked at while the model was designed) and `real` (held out).
No model learns from a real clip.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scenes import FRAMES, SHEET_SIDE, TILE, frames_of, sheet_of

ROOT: Final = Path(__file__).resolve().parents[2]
_BESIDE: Final = ROOT.parent / "shared" / "golden"
if "ACUITY_GOLDEN" not in os.environ and _BESIDE.is_dir():
    os.environ["ACUITY_GOLDEN"] = str(_BESIDE)
sys.path.insert(0, str(ROOT / "bench"))

import tune_contents as moving  # noqa: E402  # it reads ACUITY_GOLDEN when it is imported

Bytes = NDArray[np.uint8]

SCENES: Final = 40
SHEETS: Final = 24
SPLITS: Final = ("train", "val", "test", "real-dev", "real")
HELD_OUT: Final = ("test", "real-dev", "real")
# Of eight scenes or sheets, one is for validation and one for testing.
_TURNS: Final = ("train", "train", "train", "val", "train", "train", "train", "test")
_REAL: Final = {
    "real-dev": ("photo-10081", "akiyo", "sparks", "dark"),
    "real": ("park-joy", "photo-100007", "hall", "blue-sky", "src01-small"),
}
_PHOTO: Final = "1012576_0m14s_15.yuv"


class Content(NamedTuple):
    """A content: its name, its kind for tables, and its split."""

    name: str
    kind: str
    split: str

    def tiles(self, height: int, width: int) -> list[tuple[slice, slice]]:
        """The parts of its frames that are scored apart: rows and columns."""
        if self.kind != "sheet":
            return [(slice(0, height), slice(0, width))]
        places = [(row, column) for row in range(SHEET_SIDE) for column in range(SHEET_SIDE)]
        across, down = TILE
        return [
            (slice(row * down, (row + 1) * down), slice(column * across, (column + 1) * across))
            for row, column in places
        ]

    def frames(self) -> tuple[list[Bytes], int]:
        """Luma, and frames a second."""
        if self.kind == "scene":
            return frames_of(int(self.name.split("-")[1]))
        if self.kind == "sheet":
            return sheet_of(int(self.name.split("-")[1]))
        if self.name == "photo-1012576":
            return list(_gliding(moving.GOLDEN / _PHOTO, 720, 486)), 24
        found = next(c for c in (*moving.TRAINING, *moving.TESTING) if c.name == self.name)
        return [np.array(planes[0]) for planes in islice(found.frames(), FRAMES)], found.rate


def all_contents(splits: tuple[str, ...] = SPLITS) -> list[Content]:
    """Those of the splits that can be made here."""
    made = [
        *(Content(f"scene-{n:03d}", "scene", _TURNS[n % len(_TURNS)]) for n in range(SCENES)),
        *(Content(f"sheet-{n:02d}", "sheet", _TURNS[n % len(_TURNS)]) for n in range(SHEETS)),
        *(Content(c.name, "pattern", "train") for c in moving.TRAINING if not c.needs),
        *(Content(c.name, "pattern", "test") for c in moving.TESTING if not c.needs),
        *_real(),
    ]
    return [content for content in made if content.split in splits]


def _real() -> Iterator[Content]:
    known = {c.name: c for c in (*moving.TRAINING, *moving.TESTING)}
    for split, names in _REAL.items():
        yield from (Content(name, "real", split) for name in names if known[name].available)
    if (moving.GOLDEN / _PHOTO).is_file():
        yield Content("photo-1012576", "real", "real")


def _gliding(path: Path, width: int, height: int) -> Iterator[Bytes]:
    """A view of two thirds of the photograph that moves over it."""
    photo = np.fromfile(path, np.uint8, width * height).reshape(height, width)
    for n in range(FRAMES):
        yield photo[2 * n :, 5 * n :][: height * 2 // 3 // 2 * 2, : width * 2 // 3 // 2 * 2].copy()
