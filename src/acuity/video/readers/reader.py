"""The interface of video readers."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import TYPE_CHECKING, Any, Protocol, Self

from acuity.errors import InputError, NoFramesError
from acuity.records import NamedTuple, Record, field
from acuity.video.notes import Note
from acuity.video.picture import Picture, PixelFormat

if TYPE_CHECKING:
    from fractions import Fraction

    from acuity.video.readers.file_reads import FramePlaces


class VideoInfo(Record):
    """The description of a video before its first frame is decoded."""

    path: str
    kind: str  # "raw", "y4m", "container" or "images"
    width: int
    height: int
    format: PixelFormat
    frames: int | None = None  # exact when frames_exact, else what the container claims
    frames_exact: bool = False
    rate: Fraction | None = None  # frames a second
    variable_rate: bool = False
    rotation: int = 0  # degrees clockwise that a player turns the picture
    full_range: bool | None = None  # None: not said
    transfer: str | None = None  # e.g. "bt709", "smpte2084", "arib-std-b67"
    primaries: str | None = None
    matrix: str | None = None
    aspect: Fraction | None = None  # of one sample, width to height; None: not said
    interlaced: bool = False
    bottom_field_first: bool = False
    codec: str | None = None
    seekable: bool = False
    extra: dict[str, str] = field(default_factory=dict)

    @property
    def tagged(self) -> bool:
        """Whether its format has room for tags of colour, unlike raw video and Y4M."""
        return self.kind in ("container", "images")

    @property
    def rgb(self) -> bool:
        """Whether the video is RGB, which a reader turns into YUV."""
        return self.matrix == "gbr"

    @property
    def image(self) -> bool:
        """Whether it is made of still images, one file or several."""
        container = self.extra.get("container", "")
        return self.kind == "images" or container == "image2" or container.endswith("_pipe")

    @property
    def centred(self) -> bool:
        """Whether its chroma lies between two columns of luma, as far as codec and Y4M's tag say it.

        PyAV doesn't hand on the location that other streams may be tagged with: theirs is taken for left.
        """
        return self.codec in ("mjpeg", "mpeg1video") or self.extra.get("colour") == "420jpeg"

    @property
    def hdr(self) -> bool:
        return self.transfer in {"smpte2084", "arib-std-b67"}

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "path": self.path,
            "kind": self.kind,
            "codec": self.codec,
            "width": self.width,
            "height": self.height,
            "pixel_format": self.format.layout,
            "bitdepth": self.format.depth,
            "frames": self.frames,
            "frame_rate": str(self.rate) if self.rate else None,
            "variable_rate": self.variable_rate,
            "rotation": self.rotation,
            "range": None if self.full_range is None else "full" if self.full_range else "limited",
            "transfer": self.transfer,
            "primaries": self.primaries,
            "matrix": self.matrix,
            "aspect": None if self.aspect is None else ":".join(map(str, self.aspect.as_integer_ratio())),
            "interlaced": self.interlaced,
            **self.extra,
        }


class RgbTarget(NamedTuple):
    """The YUV that RGB is turned into."""

    matrix: str = "bt709"
    full_range: bool = False


class VideoReader(Protocol):
    """A stream of pictures, which can be iterated once from its present position.

    pair_videos() accepts any object with these methods, so a program may bring a reader of its own.
    """

    @property
    def info(self) -> VideoInfo: ...

    def __iter__(self) -> Iterator[Picture]: ...

    def seek(self, frame: int) -> None: ...

    def close(self) -> None: ...


class BaseReader:
    """The base of open_video()'s readers: a VideoReader and context manager with `notes`.

    One thread uses a reader at a time; only close() and picture_at() may be called from others.
    """

    info: VideoInfo

    def __init__(self) -> None:
        self.notes: list[Note] = []  # about the video, added while reading

    def __iter__(self) -> Iterator[Picture]:
        # Unlike a generator this keeps no reference to a picture, so that its buffer can be reused.
        return iter(self.read, None)

    def read(self) -> Picture | None:
        """The next picture, or None after the last one."""
        raise NotImplementedError

    @property
    def concurrent(self) -> bool:
        """Whether there is picture_at(), which several threads may call at once."""
        return False

    @property
    def decoded(self) -> bool:
        """Whether a card decodes pictures before they are read, and they lie there."""
        return False

    @property
    def places(self) -> FramePlaces | None:
        """Where the frames lie in a file, if it is one in which their places are known."""
        return None

    def picture_at(self, frame: int) -> Picture | None:
        """Picture number `frame`, or None after the last one; what read() returns next stays the same."""
        raise NotImplementedError

    def seek(self, frame: int) -> None:
        """Continue with picture number `frame`; raises InputError if that can't be exact."""
        raise NotImplementedError

    def prepare(self, *, chroma: bool = False, rgb: RgbTarget | None = None) -> None:
        """Settle how pictures are handed out: with chroma even if luma was enough, and RGB as this YUV.

        Only a reader whose video has colour tags has something to settle.
        """

    def expect(self, *, converted: bool) -> None:
        """Say if pictures will be converted; if they aren't, they may stay where a card has decoded them."""

    def once(self, picture: Picture, key: Hashable, make: Callable[[Picture], Picture]) -> Picture:
        """The picture that `make` makes of the one read last; of a shared picture, made once for each key."""
        return make(picture)

    def close(self) -> None:
        """Close the file. May be called again."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def check_frame(info: VideoInfo, frame: int) -> None:
    """Refuse a seek outside the video. One past the last frame is the end, which is allowed."""
    if frame < 0:
        raise InputError(f"frame {frame} of '{info.path}' cannot be: frames are counted from 0")
    if info.frames_exact and info.frames is not None and frame > info.frames:
        raise NoFramesError(
            f"'{info.path}' has no frame {frame}: it has {info.frames} frames, counted from 0"
        )
