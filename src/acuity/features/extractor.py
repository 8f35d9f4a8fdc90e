"""The base class of extractors: a name, options, features, and a runner that computes them.

An Extractor object is one extractor with its settings. Objects that can share work have the same `sharing`
and are computed together, by one function, which belongs to one worker thread.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, Self, TypeVar

from acuity._native import Workspace
from acuity.arrays import np
from acuity.errors import FeatureError, UnfitPictureError
from acuity.features.options import Option, OptionValue, name_suffix, parse_options, show
from acuity.records import NamedTuple, Record, field
from acuity.video.picture import ColourTags

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from acuity.video.picture import Picture

# No extractor looks further back or ahead than this many frames. That many earlier pictures are always kept,
# so that any extractor can start in the middle of a clip.
REACH: Final = 2


class Feature(NamedTuple):
    """A figure that an extractor gives for each frame."""

    name: str  # the long name, as in model files
    alias: str  # the short name, as in reports
    only_with: str = ""  # the option that must be on for it; empty: always given
    late: bool = False  # derived from the figures of several frames, so it may come later than the others
    opens: bool = False  # late, but known at once for the first frame: listed with the frame's own figures
    hidden: bool = False  # not reported: kept for figures derived from it, or of the whole clip


class Geometry(Record):
    """The size and depth of all pictures of a measurement, and what their samples stand for."""

    width: int
    height: int
    depth: int
    # Columns and rows of each chroma plane; None: luma alone, which extractors without chroma accept too.
    chroma: tuple[int, int] | None = field(default=None, compare=False)
    colour: ColourTags = field(default=ColourTags(), compare=False)  # as both videos are compared
    finer: bool = field(default=False, compare=False)  # whether pictures come with what they were as RGB


class Pair(NamedTuple):
    """A reference picture and the distorted one beside it."""

    ref: Picture
    dis: Picture


class Frame(Record):
    """A pair of pictures, with earlier pairs for extractors that look back."""

    index: int
    ref: Picture
    dis: Picture
    before: tuple[Pair, ...] = ()  # the nearest first


_Kernel = TypeVar("_Kernel")


class CpuContext(NamedTuple):
    """The scratch memory and the instruction set that the CPU kernels of one worker thread share."""

    workspace: Workspace
    instruction_set: str

    def kernel(self, make: Callable[..., _Kernel], geometry: Geometry, **settings: Any) -> _Kernel:
        """A native object for luma of this geometry."""
        size = geometry.width, geometry.height, geometry.depth
        return make(self.workspace, *size, instruction_set=self.instruction_set, **settings)


# Computes a group of extractors: a frame's figures by key. One thread uses it.
Run = Callable[[Frame], dict[str, float]]


class Derivation(Protocol):
    """Derives late features from figures that arrive in frame order, without gaps from its first frame on.

    It gives only figures that equal those of a derivation over the whole clip.
    """

    source: str  # the key of the figures it reads

    def push(self, value: float) -> list[tuple[str, int, float]]:
        """Take the next frame's figure; returns the figures that are now known, as (key, frame, value)."""
        ...

    def finish(self) -> list[tuple[str, int, float]]:
        """Return the last figures: no more frames come."""
        ...


class Extractor(ABC):
    """One extractor with its settings."""

    known: ClassVar[Mapping[str, type[Extractor]]]  # all extractors by name
    name: ClassVar[str]
    summary: ClassVar[str]
    options: ClassVar[tuple[Option, ...]] = ()
    features: ClassVar[tuple[Feature, ...]]
    min_size: ClassVar[int] = 1  # smallest width and height
    min_size_reason: ClassVar[str]  # if it is more than that
    needs_chroma: ClassVar[bool] = False  # can't be computed from luma alone
    sequential: ClassVar[bool] = False  # on one thread in libvmaf, which matters to the order of reports

    def __init__(self, given: Mapping[str, OptionValue] | None = None) -> None:
        self.settings = parse_options(self.name, self.options, given or {}, _owners)
        self.suffix = name_suffix(self.options, self.settings)

    @property
    def reads_reference(self) -> bool:
        """Whether its figures depend on the reference."""
        return True

    def __eq__(self, other: object) -> bool:
        """Whether both compute the same figures."""
        return type(self) is type(other) and isinstance(other, Extractor) and self.settings == other.settings

    def __hash__(self) -> int:
        return hash(self.identity)

    @property
    def identity(self) -> str:
        """Equal for extractors whose features have the same keys."""
        return self.name + self.suffix

    def merge(self, other: Extractor) -> Extractor:
        """One extractor that provides the features of both, which have the same identity."""
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
        """Whether this extractor gives all figures of the other, digit for digit."""
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
        """The name of the feature with these settings in collectors, models and reports."""
        return feature.alias + self.suffix

    def keys(self, *, late: bool) -> list[str]:
        """The keys of the features with these settings."""
        return [self.key(f) for f in self.features if f.late == late and not f.hidden and self.gives(f)]

    def listed(self, *, last: bool) -> list[str]:
        """The keys that reports list with the frames' own figures or, with `last`, at the end."""
        return [
            self.key(f)
            for f in self.features
            if (f.late and not f.opens) == last and not f.hidden and self.gives(f)
        ]

    def hidden_keys(self) -> list[str]:
        """The keys of figures that are not reported."""
        return [self.key(f) for f in self.features if f.hidden and self.gives(f)]

    def gives(self, feature: Feature) -> bool:
        """Whether these settings include the feature."""
        return not feature.only_with or self.flag(feature.only_with)

    @property
    def every_frame(self) -> bool:
        """Whether it is also computed for frames that subsampling leaves out."""
        return False

    @property
    def uses_chroma(self) -> bool:
        """Whether it reads chroma if there is any."""
        return self.needs_chroma

    def aggregate(self, columns: Mapping[str, NDArray[np.float64]], geometry: Geometry) -> dict[str, float]:
        """Figures of the whole clip by key, from the figures of all computed frames."""
        return {}

    def check_size(self, geometry: Geometry) -> None:
        """Refuse pictures that this extractor can't compute."""
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

    def reading(self, geometry: Geometry) -> str | None:
        """How it reads the colours of these pictures, if its figures depend on that."""
        return None

    @classmethod
    def reads_finer(cls, geometry: Geometry) -> bool:
        """Whether it reads what these pictures were as RGB, which no card has."""
        return False

    @property
    def lookback(self) -> int:
        """How many earlier pairs of pictures it needs; at most REACH."""
        return 0

    @property
    def lookahead(self) -> int:
        """How many later frames are needed for all figures of a frame; at most REACH."""
        return 0

    def settled(self, start: int) -> int:
        """The first frame with the figures of a whole clip, if computing begins at `start`."""
        return start

    @property
    def sharing(self) -> Hashable:
        """Equal for extractors of a class that one runner can compute together; by default for all."""
        return None

    @classmethod
    @abstractmethod
    def runner(cls, members: Sequence[Self], geometry: Geometry, cpu: CpuContext) -> Run:
        """The function that computes all members, which have the same `sharing`, on the CPU."""

    def derivation(self, start: int = 0) -> Derivation | None:
        """A fresh derivation of the late features, where there are any, for frames from `start` on."""
        return None


def _owners(option: str) -> list[str]:
    """The names of the extractors that have an option of this name."""
    return [name for name, kind in Extractor.known.items() if any(o.name == option for o in kind.options)]
