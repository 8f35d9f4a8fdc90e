"""What is examined: a distorted picture beside its reference, and the pair before them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from acuity.features.extractor import Pair
from acuity.video.picture import Picture, Samples


@dataclass(frozen=True, slots=True)
class ExaminedFrame:
    """A reference and a distorted picture of one size and format, and the pair before, if there is one."""

    ref: Picture
    dis: Picture
    before: Pair | None = None  # without it a freeze can't be found
    index: int | None = None  # number of the frame, for sentences
    frozen_since: int | None = None  # number of the frame that this and those between repeat, if known
    neighbours: Mapping[int, Samples] = field(
        default_factory=dict
    )  # luma of the references around, by number
    full_range: bool = False
    eotf: str = "bt1886"  # how CAMBI weighs steps; "pq" for HDR10

    @property
    def level(self) -> float:
        """Samples in one level: measures count in levels of 8-bit video of limited range."""
        depth = 1 << (self.ref.format.depth - 8)
        return depth * (255 / 219 if self.full_range else 1.0)
