"""PairPlan: how two videos will be compared, by the decisions so far, which planning.py takes in order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from acuity.errors import Remedy
from acuity.records import Record, field
from acuity.video import notes
from acuity.video.notes import Note
from acuity.video.pairs.pair_options import Rectangle
from acuity.video.picture import PixelFormat
from acuity.video.readers.reader import RgbTarget, VideoInfo

if TYPE_CHECKING:
    from acuity.video.pairs.convert import Step


class Side(Record, frozen=False):
    """One of the videos, as it will be after its conversions so far."""

    info: VideoInfo
    width: int
    height: int
    format: PixelFormat
    aspect: float  # of one sample, width to height
    full_range: bool  # False too for video that does not say its range
    matrix: str | None
    active: Rectangle | None = None  # between black bars, if those were looked for
    steps: list[Step] = field(default_factory=list)
    stride: int = 1  # every so many of its frames are compared
    needs_chroma: bool = False
    rgb_target: RgbTarget | None = None  # of RGB, which the reader turns into YUV
    deinterlace: str | None = None  # the filter

    @classmethod
    def of(cls, info: VideoInfo, active: Rectangle | None = None) -> Side:
        return cls(
            info,
            info.width,
            info.height,
            info.format,
            aspect=float(info.aspect or 1),
            full_range=bool(info.full_range),
            matrix=info.matrix,
            active=active,
        )

    @property
    def name(self) -> str:
        return f"'{self.info.path}'"

    @property
    def size(self) -> str:
        return f"{self.width}x{self.height}"

    @property
    def read_full_range(self) -> bool:
        """The range of the pictures that the reader hands out."""
        return self.rgb_target.full_range if self.rgb_target else bool(self.info.full_range)

    @property
    def range_known(self) -> bool:
        """Whether it says its range; a container that says nothing is limited by all conventions."""
        return self.info.full_range is not None or self.info.tagged

    @property
    def shape(self) -> float:
        """Width to height, as it is shown."""
        return self.width * self.aspect / self.height


class PairPlan(Record, frozen=False):
    """The conversions and the pairing of two videos. `conversions` are sentences for the report."""

    ref: Side
    dis: Side
    pair_by: Literal["index", "time"] = "index"
    time_slack: float | None = None  # seconds a step may differ; None: times are not compared
    display: str = "native"  # that both are scaled to
    crop: Rectangle | None = None  # of the reference
    notes: list[Note] = field(default_factory=list)
    conversions: list[str] = field(default_factory=list)

    @property
    def sides(self) -> tuple[Side, Side]:
        return self.ref, self.dis

    @property
    def container(self) -> bool:
        """Whether a container or images are involved; raw and Y4M pairs are held to libvmaf's rules."""
        return self.ref.info.tagged or self.dis.info.tagged

    def convert(self, code: str, text: str) -> None:
        self.conversions.append(text)
        self.notes.append(notes.info(code, text))

    def inform(self, code: str, *pieces: str | Remedy) -> None:
        self.notes.append(notes.info(code, *pieces))

    def warn(self, code: str, *pieces: str | Remedy) -> None:
        self.notes.append(notes.warning(code, *pieces))
