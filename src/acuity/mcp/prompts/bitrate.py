"""The prompt choose_bitrate: find the lowest bitrate of each codec that reaches a target score."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import mcp_types as types
from mcp.shared.exceptions import MCPError

from acuity.mcp.prompts.interpretation import SCALE, VALID
from acuity.mcp.prompts.prompt import argument, make_prompt
from acuity.mcp.prompts.scoring import SCORING_ARGUMENTS, Scoring
from acuity.video.readers.guess import RawFormat, is_raw_name

_DEFAULT_TARGET: Final = "93"


@dataclass(frozen=True, slots=True)
class Codec:
    """An encoder: its options, and first trial values of its quality setting, from good to bad."""

    encoder: str
    knobs: tuple[int, ...]
    options: str
    suffix: str = "mp4"


# By their common names.
CODECS: Final[dict[str, Codec]] = {
    "h264": Codec("libx264", (18, 23, 28, 33), "-preset slow"),
    "hevc": Codec("libx265", (20, 25, 30, 35), "-preset slow"),
    "av1": Codec("libsvtav1", (22, 32, 42, 52), "-preset 5"),
    "vp9": Codec("libvpx-vp9", (22, 32, 42, 52), "-b:v 0 -row-mt 1 -cpu-used 2", "webm"),
}
_ALIASES: Final = {"x264": "h264", "avc": "h264", "x265": "hevc", "h265": "hevc", "svtav1": "av1"} | {
    codec.encoder: name for name, codec in CODECS.items()
}

_TRIALS: Final = """\
This server scores, it doesn't encode: run the encoder yourself if you can run commands, otherwise give the \
user the commands. Write the encodes where the server may read them: beside the reference it may. Encode \
from the same file that you score against, without scaling, cropping or another frame rate. A long source: \
take three or four representative stretches of ten seconds (the hardest one among them) and treat each as \
a source of its own, cut losslessly."""

_SEARCH: Final = """\
For each codec make a table: knob, bitrate (bytes * 8 / seconds), mean, harmonic mean, 5th percentile. \
Scores rise with bitrate; a row that breaks the order means a wrong pairing or a wrong file, not a discovery.

Interpolate between the two trials around the target: VMAF is nearly straight over the logarithm of the \
bitrate, and over the knob. If the target lies outside, add a trial there instead of extrapolating. Encode \
at the knob you found (a whole number for most encoders), score it, and repeat once if it misses by more \
than half a point. Usually five encodes a codec are enough.

The mean alone isn't enough: where the 5th percentile lies more than 6 points under the target, some \
scenes are visibly worse than the rest. Raise the quality until it is within 6, or tell the user which \
scenes to treat apart."""

_PRESENT: Final = """\
Tell the user:
1. For each codec the bitrate and knob that reach the target, with the score measured there, not interpolated.
2. The table of all trials, so that another target can be read off.
3. What each codec saves against the first, at the same score; mention how long the encodes took if you know.
4. Limits: one source says nothing about others; the answer holds for this model's screen and distance; \
scores over 95 cost many bits for what nobody sees, and a fixed bitrate for everything wastes them on easy \
scenes: recommend capped CRF (the knob you found, with a maximum rate) where the service allows it."""


def _write(given: Mapping[str, str]) -> str:
    reference = given["reference"]
    target = _target(given.get("target", _DEFAULT_TARGET))
    scoring = Scoring.from_arguments(given, reference)
    codecs = list(dict.fromkeys(given.get("codecs", "").replace(",", " ").split())) or ["h264"]
    source = _source(reference, scoring.geometry)
    folder = os.path.dirname(reference)
    plans = "\n".join(_plan(source, folder, name) for name in codecs)
    first = CODECS[_known(codecs[0]) or "h264"]
    example = _trial(folder, first, first.knobs[0])
    return f"""\
Find the lowest bitrate that reaches VMAF {target:g} on this source, for: {", ".join(codecs)}.

- reference: {reference}

## 1. Make trial encodes

{_TRIALS}

{plans}

## 2. Score every trial

Submit all of them, then wait; `list_jobs` shows them together. For each trial, with its own path:

{scoring.steps(reference, example)}

{VALID}

## 3. Find the bitrate

{_SEARCH}

## 4. Explain

{SCALE}

{_PRESENT}
"""


def _source(reference: str, geometry: RawFormat | None) -> str:
    """The ffmpeg options that read the reference; raw video needs its geometry."""
    quoted = shlex.quote(reference)
    if not is_raw_name(reference):
        return f"-i {quoted}"
    if geometry is None:
        return f"-f rawvideo -pix_fmt FORMAT -s WIDTHxHEIGHT -r RATE -i {quoted}"
    layout, depth = geometry.format.layout, geometry.format.depth
    planes = "gray" if layout == "400" else f"yuv{layout}p"
    pixels = planes if depth == 8 else f"{planes}{depth}le"
    return f"-f rawvideo -pix_fmt {pixels} -s {geometry.width}x{geometry.height} -r RATE -i {quoted}"


def _plan(source: str, folder: str, name: str) -> str:
    known = _known(name)
    if known is None:
        return (
            f"- {name}: four encodes over the useful range of its constant-quality knob, two of them "
            "on either side of the target."
        )
    codec = CODECS[known]
    output = shlex.quote(_trial(folder, codec, codec.knobs[0]))
    command = (
        f"ffmpeg {source} -map 0:v:0 -c:v {codec.encoder} {codec.options} -crf {codec.knobs[0]} {output}"
    )
    return f"- {name}: {codec.encoder} at CRF {', '.join(map(str, codec.knobs))}, as in `{command}`"


def _trial(folder: str, codec: Codec, knob: int) -> str:
    """The path of a trial encode, beside the reference, where the server may read."""
    return os.path.join(folder, f"trial_{codec.encoder}_crf{knob}.{codec.suffix}")


def _known(name: str) -> str | None:
    lower = name.lower()
    found = _ALIASES.get(lower, lower)
    return found if found in CODECS else None


def _target(text: str) -> float:
    try:
        target = float(text)
    except ValueError:
        target = float("nan")
    if not 0 < target <= 100:
        raise MCPError(types.INVALID_PARAMS, f"target '{text}' is no VMAF score: give a number up to 100")
    return target


CHOOSE_BITRATE: Final = make_prompt(
    "choose_bitrate",
    "Choose a bitrate",
    "Finds the lowest bitrate of one or more codecs that reaches a target score on a source.",
    (
        argument("reference", "Reference", "Path of the source, as the server sees it.", required=True),
        argument("target", "Target score", f"VMAF to reach, {_DEFAULT_TARGET} if left out."),
        argument("codecs", "Codecs", "One or more, such as 'h264, hevc, av1'; h264 if left out."),
        *SCORING_ARGUMENTS,
    ),
    _write,
)
