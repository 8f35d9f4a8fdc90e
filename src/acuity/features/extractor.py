"""What every extractor is: a name, options, features it provides, and a way to compute them.

An Extractor object is one extractor with its settings. Objects that can share work (they have the same
`sharing`) are computed by one Runner, which belongs to one worker thread.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, Protocol, Self

from acuity.errors import FeatureError
from acuity.features.options import Option, OptionValue, name_suffix, parse_options

if TYPE_CHECKING:
    from acuity._native import Workspace
    from acuity.video.picture import Picture

# No extractor looks further back or ahead than this many frames: earlier pictures kept at all times let any
# of them start in the middle of a clip.
REACH: Final = 2


@dataclass(frozen=True, slots=True)
class Feature:
    """A figure an extractor gives for each frame."""

    name: str  # the long name, as model files have it
    alias: str  # the short name, as reports have it
    debug: bool = False  # only with the option `debug`
    late: bool = False  # derived from the figures of several frames, so it can come after the frame's own


@dataclass(frozen=True, slots=True)
class Geometry:
    """What all pictures of a measurement have in common."""

    width: int
    height: int
    depth: int


@dataclass(frozen=True, slots=True)
class Frame:
    """A pair of pictures, with earlier reference pictures for extractors that look back."""

    index: int
    ref: Picture
    dis: Picture
    before: tuple[Picture, ...] = ()  # the nearest first


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
    every_frame: ClassVar[bool] = False  # computed also for frames that subsampling leaves out
    needs_chroma: ClassVar[bool] = False

    def __init__(self, given: Mapping[str, OptionValue] | None = None) -> None:
        self.settings = parse_options(self.name, self.options, given or {})
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
        settings["debug"] = self.flag("debug") or other.flag("debug")
        return type(self)(settings)

    def covers(self, other: Extractor) -> bool:
        """Whether all figures of the other, digit for digit, are among this one's."""
        return self.identity == other.identity and (self.flag("debug") or not other.flag("debug"))

    def flag(self, option: str) -> bool:
        return bool(self.settings[option])

    def number(self, option: str) -> float:
        return float(self.settings[option])

    def key(self, feature: Feature) -> str:
        """The name under which collectors, models and reports know the feature with these settings."""
        return feature.alias + self.suffix

    def keys(self, *, late: bool) -> list[str]:
        """Keys of the features these settings provide, in report order."""
        debug = self.flag("debug")
        return [self.key(f) for f in self.features if f.late == late and (debug or not f.debug)]

    def check_size(self, geometry: Geometry) -> None:
        """Refuse pictures this extractor's arithmetic has no answer for."""
        if min(geometry.width, geometry.height) < self.min_size:
            raise FeatureError(
                f"{self.name} needs pictures of at least {self.min_size}x{self.min_size} samples, because "
                f"{self.min_size_reason}, and these are {geometry.width}x{geometry.height}"
            )

    @property
    def lookback(self) -> int:
        """How many earlier reference pictures it needs; at most REACH."""
        return 0

    @property
    def lookahead(self) -> int:
        """How many later frames must be computed before a frame's figures are all known; at most REACH."""
        return 0

    def settled(self, start: int) -> int:
        """The first frame whose figures are those of a whole clip when frames before `start` are left out."""
        return start

    @property
    @abstractmethod
    def sharing(self) -> Hashable:
        """Equal for extractors of a class that one Runner can compute together."""

    @classmethod
    @abstractmethod
    def runner(
        cls, members: Sequence[Self], geometry: Geometry, workspace: Workspace, instruction_set: str
    ) -> Runner:
        """Something that computes all members, which have the same `sharing`."""

    def derivation(self, start: int = 0) -> Derivation | None:
        """A fresh derivation of the late features, where there are any, for frames from `start` on."""
        return None
