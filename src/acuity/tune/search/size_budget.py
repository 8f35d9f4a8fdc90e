"""Budget: how the size that a file is to have is divided between its video and all else in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from acuity.errors import TuneError
from acuity.tune.encoders.beside import Weight, weight

if TYPE_CHECKING:
    from acuity.tune.clip import Clip
    from acuity.tune.search.target import Target


class Budget(NamedTuple):
    """How a size that a file is to have is divided."""

    asked: int
    beside: Weight

    @classmethod
    def of(cls, target: Target, clip: Clip, format: str) -> Budget:
        """The budget of a file of that format; raises TuneError if nothing is left for the video."""
        budget = cls(int(target.value), weight(clip, format))
        if budget.video <= 0:
            raise TuneError(
                f"a file of {budget.asked:,} bytes has no room for the video of '{clip.path}': what is"
                f" copied has {budget.beside.copied:,} bytes and the container about"
                f" {budget.beside.container:,}; ask for more"
            )
        return budget

    @property
    def video(self) -> int:
        """The bytes for the video's packets."""
        return self.asked - self.beside.bytes

    @property
    def note(self) -> str:
        return (
            f"of the {self.asked:,} bytes asked for, {self.video:,} are for the video: what is copied has"
            f" {self.beside.copied:,} and the container about {self.beside.container:,}"
        )
