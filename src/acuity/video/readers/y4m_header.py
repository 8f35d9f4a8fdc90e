"""Parses the first line of a Y4M file. No I/O: bytes in, header or FormatError out."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from acuity.errors import FormatError
from acuity.video.frame_layout import check_size
from acuity.video.picture import PixelFormat
from acuity.video.source import Y4M_MAGIC

MAX_LINE: Final = 4096
_LONGEST: Final = 40  # of a tag

_DEEP: Final = (9, 10, 12, 14, 16)

# Colour space tag -> layout and depth. The 4:2:0 variants differ only in where chroma sits.
COLOURS: Final[dict[str, PixelFormat]] = {
    "420": PixelFormat("420", 8),
    "420jpeg": PixelFormat("420", 8),
    "420mpeg2": PixelFormat("420", 8),
    "420paldv": PixelFormat("420", 8),
    "422": PixelFormat("422", 8),
    "444": PixelFormat("444", 8),
    "444alpha": PixelFormat("444", 8),
    "mono": PixelFormat("400", 8),
    **{f"420p{depth}": PixelFormat("420", depth) for depth in _DEEP},
    **{f"422p{depth}": PixelFormat("422", depth) for depth in _DEEP},
    **{f"444p{depth}": PixelFormat("444", depth) for depth in _DEEP},
    **{f"mono{depth}": PixelFormat("400", depth) for depth in _DEEP},
}

_PROGRESSIVE: Final = {"p": False, "?": False, "t": True, "b": True, "m": True}  # tag -> interlaced
_RANGES: Final = {"FULL": True, "LIMITED": False}
_NUMBER: Final = re.compile(r"[0-9]{1,9}")
_RATIO: Final = re.compile(r"([0-9]{1,9}):([0-9]{1,9})")


@dataclass(frozen=True, slots=True)
class Y4mHeader:
    width: int
    height: int
    format: PixelFormat
    colour: str
    rate: Fraction | None = None
    interlaced: bool = False
    bottom_field_first: bool = False
    aspect: Fraction | None = None  # of one sample
    full_range: bool | None = None

    @property
    def alpha(self) -> bool:
        return self.colour == "444alpha"


def parse_header(line: bytes, name: str) -> Y4mHeader:
    """Read the stream header; `line` comes without its newline, `name` is for messages."""
    try:
        magic, *tags = line.decode("ascii").split(" ")
    except UnicodeDecodeError:
        raise FormatError(f"'{name}' has a Y4M header that is not text, so the file is damaged") from None
    if magic != Y4M_MAGIC.decode():
        raise FormatError(f"'{name}' is not a Y4M file: it does not start with YUV4MPEG2")
    # Shortened, so that a damaged header can't fill a screen with its error message.
    values = {tag[0]: tag[1:_LONGEST] for tag in tags if tag and tag[0] != "X"}
    hints = dict(tag[1:_LONGEST].partition("=")[::2] for tag in tags if tag.startswith("X"))
    width, height = (_side(values, letter, name) for letter in "WH")
    check_size(name, width, height)
    # FFmpeg's own hint counts only where the standard tag is missing.
    colour = values.get("C") or hints.get("YSCSS", "420").lower()
    interlace = values.get("I", "?")
    if interlace not in _PROGRESSIVE:
        raise FormatError(f"'{name}' has the unknown interlacing 'I{interlace}' in its Y4M header")
    return Y4mHeader(
        width=width,
        height=height,
        format=_format(colour, name),
        colour=colour,
        rate=_rate(values.get("F"), name),
        interlaced=_PROGRESSIVE[interlace],
        bottom_field_first=interlace == "b",
        aspect=_aspect(values.get("A", "")),
        full_range=_RANGES.get(hints.get("COLORRANGE", "")),
    )


def frame_line_length(seen: bytes, where: str) -> int | None:
    """The length, with its newline, of the FRAME line at the start of `seen`.

    None if the newline is not among these bytes; `where` is for messages.
    """
    if not b"FRAME".startswith(seen[:5]) or (len(seen) > 5 and seen[5] not in b" \n"):
        raise FormatError(
            f"{where} does not begin with a FRAME line: the file is damaged,"
            " or its header gives the wrong size or colour space"
        )
    end = seen.find(b"\n", 0, MAX_LINE)
    if end < 0 and len(seen) >= MAX_LINE:
        raise FormatError(f"{where} begins with a FRAME line of more than {MAX_LINE} bytes")
    return end + 1 if end >= 0 else None


def _side(values: dict[str, str], letter: str, name: str) -> int:
    text = values.get(letter)
    if text is None:
        raise FormatError(f"'{name}' has no {letter} in its Y4M header, so its frame size is unknown")
    if not _NUMBER.fullmatch(text):
        raise FormatError(f"'{name}' has the size '{letter}{text}' in its Y4M header, which is not a number")
    return int(text)


def _format(colour: str, name: str) -> PixelFormat:
    if colour == "411":
        raise FormatError(
            f"'{name}' is 4:1:1 (C411), which has no place in VMAF's formats: convert it to 4:2:0 or 4:2:2"
        )
    try:
        return COLOURS[colour]
    except KeyError:
        raise FormatError(
            f"'{name}' has the unknown colour space 'C{colour}' in its Y4M header:"
            " use 420, 422, 444 or mono, with p10, p12, p14 or p16 for more than 8 bit"
        ) from None


def _rate(text: str | None, name: str) -> Fraction | None:
    if text is None:
        return None
    match = _RATIO.fullmatch(text)
    if match is None:
        raise FormatError(f"'{name}' has the frame rate 'F{text}' in its Y4M header, which is not a ratio")
    return _ratio(match)


def _aspect(text: str) -> Fraction | None:
    """A shape that cannot be read is one that is not said: nothing but the shape depends on it."""
    match = _RATIO.fullmatch(text)
    return _ratio(match) if match is not None else None


def _ratio(match: re.Match[str]) -> Fraction | None:
    top, bottom = int(match[1]), int(match[2])
    return Fraction(top, bottom) if top and bottom else None  # 0:0 says "unknown"
