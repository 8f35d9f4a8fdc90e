"""Options for making two videos comparable. The defaults refuse what could give a wrong number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, get_args, get_origin, get_type_hints

from acuity.errors import PairingError, to_set


@dataclass(frozen=True, slots=True)
class PairOptions:
    """The options of pair_videos().

    scale: 'auto' scales the distorted video to the reference's size when a container is involved and
        refuses raw and Y4M pairs, as libvmaf does; 'force' scales those too, 'never' refuses.
    convert: the same for different bit depth, chroma layout and range; 'depth' is 'auto' that takes raw and
        Y4M pairs to the greater depth too.
    rate: different frame rates: 'refuse'; 'match' leaves out frames of the faster video, for whole ratios;
        'by-index' compares frame n with frame n whatever the rates and times say.
    vfr: variable frame rate: 'by-time' needs equal presentation times; 'by-index' ignores them.
    hdr: HDR against SDR: 'refuse', or 'ignore' the difference and compare the samples.
    frame_skip_ref, frame_skip_dis: frames left out at the start. frame_count: pairs at most, 0 is all.
    ahead: pictures read ahead for each video; None chooses by their size.
    """

    scale: Literal["auto", "never", "force"] = "auto"
    convert: Literal["auto", "never", "depth", "force"] = "auto"
    rate: Literal["refuse", "match", "by-index"] = "refuse"
    vfr: Literal["by-time", "by-index"] = "by-time"
    hdr: Literal["refuse", "ignore"] = "refuse"
    frame_skip_ref: int = 0
    frame_skip_dis: int = 0
    frame_count: int = 0
    ahead: int | None = None

    def __post_init__(self) -> None:
        for name, choices in WORDS.items():
            if (word := getattr(self, name)) not in choices:
                raise PairingError(to_set(name, repr(word)), f" is unknown: use one of {', '.join(choices)}")
        for name in ("frame_skip_ref", "frame_skip_dis", "frame_count"):
            if (count := getattr(self, name)) < 0:
                raise PairingError(f"{name}={count} is negative: count frames from 0")
        if self.ahead is not None and self.ahead < 1:
            raise PairingError(f"ahead={self.ahead} is too small: at least one picture is read ahead")


# The options that are words, with their choices; the first is the default.
WORDS: Final[dict[str, tuple[str, ...]]] = {
    name: get_args(hint) for name, hint in get_type_hints(PairOptions).items() if get_origin(hint) is Literal
}
