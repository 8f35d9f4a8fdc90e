"""What every extractor is: a name, options, features it provides, and a way to compute them.

An Extractor object is one extractor with its settings. Objects that can share work (they have the same
`sharing`) are computed by one Runner, which belongs to one worker thread.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from acuity.errors import FeatureError, UnfitPictureError
from acuity.features.options import Option, OptionValue, name_suffix, parse_options, show

if TYPE_CHECKING:
    from acuity._native import Workspace
    from acuity.video.picture import Picture

# No extractor looks further back or ahead than this many frames: earlier pictures kept at all times let any
# of them start in the middle of a clip.
REACH: Final = 2


class Feature(NamedTuple):
    """A figure an extractor gives for each frame."""

    name: str  # the long name, as model files have it
    alias: str  # the short name, as reports have it
    only_with: str = ""  # the option that must be on for it; empty: it is always given
    late: bool = False  # derived from the figures of several frames, so it can come after the frame's own
    opens: bool = False  # late, but known at once of the first frame: listed beside the frame's own
    hidden: bool = False  # in no report: kept for figures derived from it, or of the whole clip


@dataclass(frozen=True, slots=True)
class Geometry:
    """What all pictures of a measurement have in common."""

    width: int
    height: int
    depth: int
    # Columns and rows of each chroma plane; None: luma alone. Who doesn't look at chroma may be fed either.
    chroma: tuple[int, int] | None = field(default=None, compare=False)


class Pair(NamedTuple):
    """A reference picture and the distorted one beside it."""

    ref: Picture
    dis: Picture


@dataclass(frozen=True, slots=True)
class Frame:
    """A pair of pictures, with earlier pairs for extractors that look back."""

    index: int
    ref: Picture
    dis: Picture
    before: tuple[Pair, ...] = ()  # the nearest first


class CpuContext(NamedTuple):
    """What the CPU kernels of one worker thread share: scratch memory and the instruction set."""

    workspace: Workspace
    instruction_set: str


class Runner(Protocol):
    """Computes a group of extractors; used by one thread at a time."""

    def run(self, frame: Frame) -> dict[str, float]:
        """Figures of the frame by key."""
        ...


class Derivation(Protocol):
    """Derives late features from figures that arrive in frame order, without gaps from its first frame on.

    It gives only figures that a derivation over the whole clip would give too.
    """

    source: str  # the key of the figures it reads

    def push(self, value: float) -> list[tuple[str, int, float]]:
        """Take the next frame's figure; give what is known now as (key, frame, value)."""
        ...

    def finish(self) -> list[tuple[str, int, float]]:
        """No more frames come: give the rest."""
        ...


class Extractor(ABC):
    """One extractor with its settings."""

    name: ClassVar[str]
    summary: ClassVar[str]
    options: ClassVar[tuple[Option, ...]]
    features: ClassVar[tuple[Feature, ...]]
    min_size: ClassVar[int]  # smallest width and height
    min_size_reason: ClassVar[str]
    needs_chroma: ClassVar[bool] = False  # has no answer for luma alone
    sequential: ClassVar[bool] = (
        False  # computed on one thread in libvmaf, which matters to the order of reports
    )

    def __init__(self, given: Mapping[str, OptionValue] | None = None) -> None:
        self.settings = parse_options(self.name, self.options, given or {}, _owners)
        self.suffix = name_suffix(self.options, self.settings)

    def __eq__(self, other: object) -> bool:
        """Whether both compute the same: what one of them needs may be used for the other."""
        return type(self) is type(other) and isinstance(other, Extractor) and self.settings == other.settings

    def __hash__(self) -> int:
        return hash(self.identity)

    @property
    def identity(self) -> str:
        """Equal for extractors whose features have the same keys."""
        return self.name + self.suffix

    def merge(self, other: Extractor) -> Extractor:
        """One extractor that provides what both do; they have the same identity."""
        settings = dict(self.settings)
        for option in self.options:
            ours, theirs = settings[option.name], other.settings[option.name]
            if ours != theirs and not option.widens:
                raise FeatureError(
                    f"{self.name} is asked for with {option.name}={show(ours)} and with "
                    f"{option.name}={show(theirs)}, and both would have the same names: ask for one of them"
                )
            if option.widens:
                settings[option.name] = bool(ours) or bool(theirs)
        return type(self)(settings)

    def covers(self, other: Extractor) -> bool:
        """Whether all figures of the other, digit for digit, are among this one's."""
        if self.identity != other.identity:
            return False
        return all(
            self.settings[o.name] == other.settings[o.name] or (o.widens and self.flag(o.name))
            for o in self.options
        )

    def flag(self, option: str) -> bool:
        return bool(self.settings[option])

    def number(self, option: str) -> float:
        return float(self.settings[option])

    def text(self, option: str) -> str:
        return str(self.settings[option])

    def key(self, feature: Feature) -> str:
        """The name under which collectors, models and reports know the feature with these settings."""
        return feature.alias + self.suffix

    def keys(self, *, late: bool) -> list[str]:
        """Keys of the features these settings provide."""
        return [self.key(f) for f in self.features if f.late == late and not f.hidden and self.gives(f)]

    def listed(self, *, last: bool) -> list[str]:
        """Keys in report order: those listed with the frames' own figures, or `last`, after everybody's."""
        return [
            self.key(f)
            for f in self.features
            if (f.late and not f.opens) == last and not f.hidden and self.gives(f)
        ]

    def hidden_keys(self) -> list[str]:
        """Keys of the figures that are kept only for others."""
        return [self.key(f) for f in self.features if f.hidden and self.gives(f)]

    def gives(self, feature: Feature) -> bool:
        """Whether these settings ask for the feature."""
        return not feature.only_with or self.flag(feature.only_with)

    @property
    def every_frame(self) -> bool:
        """Whether it is computed also for frames that subsampling leaves out."""
        return False

    @property
    def uses_chroma(self) -> bool:
        """Whether it looks at chroma where there is some."""
        return self.needs_chroma

    def aggregate(self, columns: Mapping[str, NDArray[np.float64]], geometry: Geometry) -> dict[str, float]:
        """Figures of the whole clip, from those of every frame that was computed, by key."""
        return {}

    def check_size(self, geometry: Geometry) -> None:
        """Refuse pictures this extractor's arithmetic has no answer for."""
        if self.needs_chroma and geometry.chroma is None:
            raise UnfitPictureError(
                f"{self.name} needs chroma, and these pictures are luma alone (4:0:0): leave it out or give "
                "4:2:0, 4:2:2 or 4:4:4 video"
            )
        if min(geometry.width, geometry.height) < self.min_size:
            raise UnfitPictureError(
                f"{self.name} needs pictures of at least {self.min_size}x{self.min_size} samples, because "
                f"{self.min_size_reason}, and these are {geometry.width}x{geometry.height}"
            )

    @property
    def lookback(self) -> int:
        """How many earlier pairs of pictures it needs; at most REACH."""
        return 0

    @property
    def lookahead(self) -> int:
        """How many later frames must be computed before a frame's figures are all known; at most REACH."""
        return 0

    def settled(self, start: int) -> int:
        """The first frame whose figures are those of a whole clip when frames before `start` are left out."""
        return start

    @property
    def sharing(self) -> Hashable:
        """Equal for extractors of a class that one Runner can compute together; here, for all of them."""
        return None

    @classmethod
    @abstractmethod
    def runner(cls, members: Sequence[Self], geometry: Geometry, cpu: CpuContext) -> Runner:
        """What computes all members, which have the same `sharing`, on the CPU."""

    def derivation(self, start: int = 0) -> Derivation | None:
        """A fresh derivation of the late features, where there are any, for frames from `start` on."""
        return None


def _owners(option: str, kind: type[Extractor] = Extractor) -> list[str]:
    """The names of the extractors that have an option of this name."""
    found = [name for inner in kind.__subclasses__() for name in _owners(option, inner)]
    own = any(o.name == option for o in getattr(kind, "options", ())) and hasattr(kind, "name")
    return [*([kind.name] if own else []), *found]
