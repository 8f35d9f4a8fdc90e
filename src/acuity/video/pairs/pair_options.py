"""Options for making two videos comparable. The defaults refuse what could give a wrong number."""

from __future__ import annotations

import re
from typing import Final, Literal

from acuity.errors import PairingError, to_set
from acuity.records import NamedTuple, Record

AUTO: Final = "auto"
_RECTANGLE: Final = r"([0-9]{1,6}):([0-9]{1,6}):([0-9]{1,6}):([0-9]{1,6})"


class Rectangle(NamedTuple):
    """A part of a picture, as FFmpeg's crop filter takes it."""

    width: int
    height: int
    left: int
    top: int

    def __str__(self) -> str:
        return ":".join(map(str, self))


class PairOptions(Record):
    """The options of pair_videos().

    scale: 'auto' scales the distorted video to the reference's size when a container is involved and
        refuses raw and Y4M pairs, as libvmaf does; 'force' scales those too, and stretches a picture of
        another shape; 'never' refuses.
    filter: how pictures are scaled.
    display: '1080p' and '2160p' scale both videos to fill such a display, without changing their shape;
        'auto' takes the one for the reference's size; 'native' and None compare at the reference's size.
    crop: the part of both pictures that is compared, as WIDTH:HEIGHT:LEFT:TOP in the reference's pixels, or
        'auto': without the black bars that are found.
    deinterlace: the filter for interlaced video; 'warn' and 'off' compare it as it is.
    convert: as scale, for different bit depth, chroma layout and range; 'depth' is 'auto' that takes raw and
        Y4M pairs to the greater depth too.
    colour: other matrix, primaries or range by the tags: 'convert' takes the distorted video to the
        reference's; 'as-libvmaf' does so if a container is involved; 'ignore' compares samples as they are.
    rate: different frame rates: 'refuse', unless align='auto' follows them; 'match' leaves out frames of the
        faster video, for whole ratios; 'by-index' compares frame n with frame n whatever rates and times say.
    vfr: variable frame rate: 'by-time' needs equal presentation times; 'by-index' ignores them.
    hdr: HDR against SDR: 'refuse', or 'ignore' the difference and compare the samples.
    align: frames that don't show the same in both videos, found by looking at them: 'refuse'; 'auto' reads
        both videos once more to find frames that are missing or too many, and leaves out what the other
        lacks; 'warn' scores frame n against frame n with a warning; 'off' doesn't look.
    skip_ref, skip_dis: frames left out at the start. frames: pairs at most, 0 is all.
    ahead: pictures read ahead for each video; None chooses by their size.
    """

    scale: Literal["auto", "never", "force"] = "auto"
    filter: Literal["bicubic", "lanczos"] = "bicubic"
    display: Literal["native", "auto", "1080p", "2160p"] | None = None
    crop: str | None = None
    deinterlace: Literal["warn", "off", "bwdif", "yadif"] = "warn"
    convert: Literal["auto", "never", "depth", "force"] = "auto"
    colour: Literal["convert", "as-libvmaf", "ignore"] = "convert"
    rate: Literal["refuse", "match", "by-index"] = "refuse"
    vfr: Literal["by-time", "by-index"] = "by-time"
    hdr: Literal["refuse", "ignore"] = "refuse"
    align: Literal["refuse", "auto", "warn", "off"] = "refuse"
    skip_ref: int = 0
    skip_dis: int = 0
    frames: int = 0
    ahead: int | None = None

    def __post_init__(self) -> None:
        for name, choices in WORDS.items():
            if (word := getattr(self, name)) not in choices and not (word is None and name == "display"):
                raise PairingError(to_set(name, str(word)), f" is unknown: use one of {', '.join(choices)}")
        for name in ("skip_ref", "skip_dis", "frames"):
            if (count := getattr(self, name)) < 0:
                raise PairingError(f"{name}={count} is negative: count frames from 0")
        if self.scale == "never" and self.display not in (None, "native"):
            raise PairingError(
                to_set("scale", "never"),
                " scales nothing, and ",
                to_set("display", str(self.display)),
                " scales both videos: pass ",
                to_set("display", "native"),
                " or ",
                to_set("scale", "auto"),
            )
        if self.align == "auto" and self.rate == "by-index":
            raise PairingError(
                to_set("rate", "by-index"),
                " compares frame n with frame n, and ",
                to_set("align", "auto"),
                " does not: pass one of them (the second follows other rates, too)",
            )
        if self.ahead is not None and self.ahead < 1:
            raise PairingError(f"ahead={self.ahead} is too small: at least one picture is read ahead")
        self.rectangle  # noqa: B018  # refuses what is none

    @property
    def rectangle(self) -> Rectangle | None:
        """The part that `crop` names; None where it names none."""
        if self.crop in (None, AUTO):
            return None
        match = re.fullmatch(_RECTANGLE, str(self.crop))
        found = Rectangle(*map(int, match.groups())) if match else Rectangle(0, 0, 0, 0)
        if not (found.width and found.height):
            raise PairingError(
                to_set("crop", str(self.crop)),
                f" is no part of a picture: write {AUTO}, or WIDTH:HEIGHT:LEFT:TOP in pixels",
            )
        return found


# The options that are words, with their choices; the first is the default, also of what may be None.
# They are read from the text of the annotations: typing would compile it.
WORDS: Final[dict[str, tuple[str, ...]]] = {
    name: tuple(hint.split("'")[1::2])
    for name, hint in PairOptions.__annotations__.items()
    if hint.startswith("Literal[")
}
