"""Reads Y4M: a header line, then frames, each after a line of its own."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from typing import Final

from acuity.errors import FormatError, NoFramesError, TruncatedError
from acuity.video.buffers import Allocate, BufferPool, Bytes, FrameLayout, allocate, check_size
from acuity.video.picture import Picture, PixelFormat
from acuity.video.readers.file_reads import FramePlaces
from acuity.video.readers.reader import BaseReader, VideoInfo, check_frame
from acuity.video.source import Y4M_MAGIC, Place, Source, open_source

MAX_LINE: Final = 4096
_LONGEST: Final = 40  # of a tag

_DEEP: Final = (9, 10, 12, 14, 16)

_ALPHA: Final = "444alpha"
# Colour space tag -> layout and depth. The 4:2:0 variants differ only in where chroma sits.
COLOURS: Final[dict[str, PixelFormat]] = {
    **dict.fromkeys(("420", "420jpeg", "420mpeg2", "420paldv"), PixelFormat("420", 8)),
    "422": PixelFormat("422", 8),
    **dict.fromkeys(("444", _ALPHA), PixelFormat("444", 8)),
    "mono": PixelFormat("400", 8),
    **{
        f"{layout}p{depth}": PixelFormat(layout, depth) for layout in ("420", "422", "444") for depth in _DEEP
    },
    **{f"mono{depth}": PixelFormat("400", depth) for depth in _DEEP},
}

_PROGRESSIVE: Final = {"p": False, "?": False, "t": True, "b": True, "m": True}  # tag -> interlaced
_RANGES: Final = {"FULL": True, "LIMITED": False}
_NUMBER: Final = re.compile(r"[0-9]{1,9}")
_RATIO: Final = re.compile(r"([0-9]{1,9}):([0-9]{1,9})")

_LINE: Final = b"FRAME\n"  # the usual line before a frame

# Samples start at this offset of a buffer: aligned, with room for the plain line right before them.
_ROOM: Final = 64


def parse_header(line: bytes, name: str) -> VideoInfo:
    """The VideoInfo that a header line gives; `line` comes without its newline."""
    try:
        magic, *tags = line.decode("ascii").split(" ")
    except UnicodeDecodeError:
        raise FormatError(
            f"'{name}' has a Y4M header that is not text, so the file is damaged: copy or write it again"
        ) from None
    if magic != Y4M_MAGIC.decode():
        raise FormatError(f"'{name}' is not a Y4M file: it does not start with YUV4MPEG2")
    # Shortened, so that a damaged header can't fill a screen with its error message.
    values = {tag[0]: tag[1:_LONGEST] for tag in tags if tag and tag[0] != "X"}
    hints = dict(tag[1:_LONGEST].partition("=")[::2] for tag in tags if tag.startswith("X"))
    width, height = (_side(values, letter, name) for letter in "WH")
    check_size(name, width, height)
    # FFmpeg's own hint counts only where the standard tag is missing.
    colour = values.get("C") or hints.get("YSCSS", "420").lower()
    interlace, rate = values.get("I", "?"), values.get("F", "0:0")
    if interlace not in _PROGRESSIVE:
        raise FormatError(
            f"'{name}' has the unknown interlacing 'I{interlace}' in its Y4M header: use Ip, It, Ib, Im or I?"
        )
    if not _RATIO.fullmatch(rate):
        raise FormatError(
            f"'{name}' has the frame rate 'F{rate}' in its Y4M header, which is not a ratio:"
            " write it again, with F25:1 say"
        )
    return VideoInfo(
        path=name,
        kind="y4m",
        width=width,
        height=height,
        format=_format(colour, name),
        rate=_ratio(rate),
        interlaced=_PROGRESSIVE[interlace],
        bottom_field_first=interlace == "b",
        aspect=_ratio(values.get("A", "")),  # one that can't be read is no matter: it decides the shape alone
        full_range=_RANGES.get(hints.get("COLORRANGE", "")),
        extra={"colour": colour, **({"dropped": "the alpha plane"} if colour == _ALPHA else {})},
    )


def frame_line_length(seen: bytes, where: str) -> int | None:
    """The length, with its newline, of the FRAME line at the start of `seen`.

    None if the newline is not among these bytes; `where` is for messages.
    """
    if not b"FRAME".startswith(seen[:5]) or (len(seen) > 5 and seen[5] not in b" \n"):
        raise _no_line(where)
    end = seen.find(b"\n", 0, MAX_LINE)
    if end < 0 and len(seen) >= MAX_LINE:
        raise FormatError(f"{where} begins with a FRAME line of more than {MAX_LINE} bytes")
    return end + 1 if end >= 0 else None


def _no_line(where: str) -> FormatError:
    return FormatError(
        f"{where} does not begin with a FRAME line: the file is damaged,"
        " or its header gives the wrong size or colour space"
    )


def _side(values: dict[str, str], letter: str, name: str) -> int:
    text = values.get(letter)
    if text is not None and _NUMBER.fullmatch(text):
        return int(text)
    what, why = f"the size '{letter}{text}'", "which is not a number"
    if text is None:
        what, why = f"no {letter}", "so its frame size is unknown"
    raise FormatError(f"'{name}' has {what} in its Y4M header, {why}: write it again, with W1920 H1080 say")


def _format(colour: str, name: str) -> PixelFormat:
    if colour == "411":
        raise FormatError(
            f"'{name}' is 4:1:1 (C411), which has no place in VMAF's formats: convert it to 4:2:0 or 4:2:2"
        )
    if colour not in COLOURS:
        raise FormatError(
            f"'{name}' has the unknown colour space 'C{colour}' in its Y4M header:"
            " use 420, 422, 444 or mono, with p10, p12, p14 or p16 for more than 8 bit"
        )
    return COLOURS[colour]


def _ratio(text: str) -> Fraction | None:
    """A ratio; None for text that is none, and for 0:0, which says "unknown"."""
    match = _RATIO.fullmatch(text)
    top, bottom = map(int, match.groups()) if match is not None else (0, 0)
    return Fraction(top, bottom) if top and bottom else None


class Y4mReader(BaseReader):
    """Reads a Y4M file or pipe; one read call and no copy for each frame with a plain line.

    From a file in which all lines are plain, several frames are read at once.
    """

    def __init__(self, path: Place, *, luma_only: bool = False, allocate: Allocate = allocate) -> None:
        super().__init__()
        self._source = open_source(path)
        self._next = 0
        try:
            line = _header_line(self._source)
            header = parse_header(line, self._source.path)
            self._start = len(line) + 1
            self._layout = FrameLayout.of(header.format, header.width, header.height)
            # The alpha plane is read with the rest and not used.
            alpha = self._layout.luma_bytes() if header.extra["colour"] == _ALPHA else 0
            self._payload = self._layout.frame_bytes + alpha
            frames, self._plain = self._count()
        except BaseException:
            self._source.close()
            raise
        exact = frames is not None
        self.info = replace(header, frames=frames, frames_exact=exact, seekable=self._source.seekable)
        self._luma_only = luma_only
        # If all frames have the same length, unused chroma is skipped.
        self._skip_chroma = luma_only and self._plain
        self._wanted = self._layout.luma_bytes() if self._skip_chroma else self._payload
        self._pool = BufferPool(_ROOM + self._wanted, allocate)

    @property
    def concurrent(self) -> bool:
        return self._plain and self._source.concurrent

    @property
    def places(self) -> FramePlaces | None:
        if not self.concurrent:
            return None
        return FramePlaces(
            self._source,
            self._pool,
            self._picture_in,
            first=self._start,
            step=len(_LINE) + self._payload,
            length=len(_LINE) + self._wanted,
            marker=_LINE,
            lead=_ROOM - len(_LINE),
        )

    def read(self) -> Picture | None:
        picture = self.picture_at(self._next) if self._skip_chroma else self._read_on()
        self._next += picture is not None
        return picture

    def picture_at(self, frame: int) -> Picture | None:
        buffer = self._pool.take()
        view = _line_and_samples(buffer)
        count = self._source.read_at(self._offset(frame), view)
        if count and bytes(view[: len(_LINE)]) != _LINE:
            raise _no_line(self._where(frame))
        return self._picture(buffer, count, frame)

    def _read_on(self) -> Picture | None:
        """The picture at the present position."""
        buffer = self._pool.take()
        view = _line_and_samples(buffer)
        count = self._source.readinto(view)
        if count and bytes(view[: len(_LINE)]) != _LINE:
            self._source.unread(bytes(view[:count]))
            self._skip_line()
            count = len(_LINE) + self._source.readinto(view[len(_LINE) :])
        return self._picture(buffer, count, self._next)

    def _picture(self, buffer: Bytes, count: int, frame: int) -> Picture | None:
        """The picture in a buffer that got so many bytes, its line among them."""
        if count == 0:
            if frame == 0:
                raise _empty(self._source)
            return None
        if count < len(_LINE) + self._wanted:
            raise self._truncated(frame)
        return self._picture_in(buffer)

    def _picture_in(self, buffer: Bytes) -> Picture:
        return Picture(self._layout.planes(buffer, _ROOM, luma_only=self._luma_only), self.info.format)

    def seek(self, frame: int) -> None:
        check_frame(self.info, frame)
        position = self._offset(frame) if self._plain else self._start
        self._source.seek(position)
        if not self._plain:
            for self._next in range(frame):
                position += self._skip_line() + self._payload
                self._source.seek(position)
        self._next = frame

    def close(self) -> None:
        self._source.close()

    def _offset(self, frame: int) -> int:
        return self._start + frame * (len(_LINE) + self._payload)

    def _skip_line(self) -> int:
        """Read the FRAME line at the present position; returns its length."""
        seen = self._source.read(len(_LINE))
        while (length := frame_line_length(seen, self._where(self._next))) is None:
            more = self._source.read(len(_LINE) * 8)
            if not more:
                raise self._truncated(self._next)
            seen += more
        self._source.unread(seen[length:])
        return length

    def _count(self) -> tuple[int | None, bool]:
        """The number of frames, and whether all of them have the plain line."""
        size = self._source.size
        if size is None:
            return None, False
        if size == self._start:
            raise _empty(self._source)
        frames, rest = divmod(size - self._start, len(_LINE) + self._payload)
        if not rest and all(self._line_at(self._offset(frame)) == _LINE for frame in {0, frames - 1}):
            self._source.seek(self._start)
            return frames, True
        position = self._start
        while position < size:
            self._source.seek(position)
            position += self._skip_line() + self._payload
            if position > size:
                raise self._truncated(self._next)
            self._next += 1
        frames, self._next = self._next, 0
        self._source.seek(self._start)
        return frames, False

    def _line_at(self, position: int) -> bytes:
        self._source.seek(position)
        return self._source.read(len(_LINE))

    def _where(self, frame: int) -> str:
        return f"frame {frame} of '{self._source.path}'"

    def _truncated(self, frame: int) -> TruncatedError:
        return TruncatedError(
            f"'{self._source.path}' ends in the middle of frame {frame}, which takes {self._payload}"
            " bytes: the file is incomplete, so copy or encode it again"
        )


def _line_and_samples(buffer: Bytes) -> memoryview:
    """The part of a buffer for a plain line and the samples after it."""
    return memoryview(buffer)[_ROOM - len(_LINE) :]


def _empty(source: Source) -> NoFramesError:
    return NoFramesError(f"'{source.path}' has a Y4M header but no frame: there is nothing to score")


def _header_line(source: Source) -> bytes:
    """Read the first line; returns it without its newline."""
    start = source.read(len(Y4M_MAGIC))
    if not start:
        raise NoFramesError(f"'{source.path}' is empty: there is no frame to score")
    if start != Y4M_MAGIC:
        raise FormatError(f"'{source.path}' is not a Y4M file: it does not start with YUV4MPEG2")
    seen = start + source.read(MAX_LINE - len(start))
    line, newline, rest = seen.partition(b"\n")
    if not newline:
        raise FormatError(
            f"'{source.path}' has a Y4M header without an end: the file is damaged or incomplete"
        )
    source.unread(rest)
    return line
