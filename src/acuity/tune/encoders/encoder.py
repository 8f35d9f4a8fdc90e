"""Encoder: the facts about one encoder. EncoderSettings: how it is used, except for the quality."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from acuity.errors import EncoderError, OutputError, TuneError
from acuity.text import quoted
from acuity.tune.values import as_whole

# One vocabulary of presets for all encoders, from fast to slow.
PRESETS: Final = (
    *("ultrafast", "superfast", "veryfast", "faster", "fast"),
    *("medium", "slow", "slower", "veryslow", "placebo"),
)
# Suffixes of files and FFmpeg's names of their formats.
FORMATS: Final = {".mp4": "mp4", ".m4v": "mp4", ".mkv": "matroska", ".webm": "webm", ".mov": "mov"}

Options = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Encoder:
    """One encoder: its quality option and range, its presets and tunes, and the options it always gets."""

    name: str  # FFmpeg's
    codec: str
    knob: str  # the option that sets the quality
    best: int
    worst: int
    default: int
    aliases: tuple[str, ...] = ()
    in_process: bool = True
    preset_option: str | None = "preset"
    presets: Mapping[str, str] = field(default_factory=dict)  # words of PRESETS -> the encoder's own
    own_presets: tuple[str, ...] = ()
    tunes: Mapping[str, Options] = field(default_factory=dict)
    options: Options = ()  # that it always gets
    params: str | None = None  # its option for parameters of the library, as a=b:c=d
    pixel_formats: tuple[str, ...] = ()  # of external ones, best known first; PyAV lists its own
    fixed_keyframes: Options = ()  # options for keyframes at every {interval}th frame and nowhere else
    also: tuple[str, ...] = ()  # further options that get the quality, too
    threads: int | None = None  # a constant, where the number of threads changes the bytes
    least_threads: int = 1  # fewer would change the bytes
    containers: tuple[str, ...] = (".mp4", ".mkv", ".mov")  # suffixes of files that can hold it
    trials: tuple[int, ...] = ()  # quality values from good to poor, to try first
    decimals: bool = False  # whether its quality may have them
    stride: float = 1  # from one quality value to the next that is tried

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Encoder) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def last_step(self) -> int:
        """The step of the worst quality; step 0 is the best."""
        return round(abs(self.worst - self.best) / self.stride)

    def quality(self, step: int) -> float:
        """The knob's value at a step: an int where it is whole."""
        return as_whole(self.best + step * self.stride * (1 if self.worst >= self.best else -1))

    def step(self, quality: float) -> int:
        """The step of a knob's value, or the nearest."""
        return round((quality - self.best) / self.stride * (1 if self.worst >= self.best else -1))

    def stepped(self, stride: float) -> Encoder:
        """The encoder with other steps of its quality; EncoderError if it takes whole values only."""
        if stride != 1 and not self.decimals:
            raise EncoderError(f"{self.name} takes whole values of {self.knob} only: give no decimals")
        return replace(self, stride=stride)

    def preset(self, word: str | None) -> str:
        """The encoder's own word for a preset; EncoderError if it has none such."""
        word = "medium" if word is None else word
        if word in self.presets:
            return self.presets[word]
        if word in self.own_presets or (not self.presets and word in PRESETS):
            return word  # of an encoder without presets any is as good
        words = [*self.presets]
        own = [name for name in self.own_presets if name not in words]
        known = ", ".join([*words, *(own if len(own) < 8 else [f"{own[0]} to {own[-1]}"])])
        raise EncoderError(f"{self.name} has no preset {quoted(word)}: use one of {known}")

    def format_of(self, name: str) -> str:
        """FFmpeg's name of a file's format; raises OutputError or TuneError if it can't hold the video."""
        suffix = os.path.splitext(name)[1].lower()
        if suffix not in FORMATS:
            raise OutputError(f"'{name}' doesn't say its format: end it with {', '.join(FORMATS)}")
        if suffix.replace(".m4v", ".mp4") not in self.containers:
            fits = ", ".join(self.containers)
            raise TuneError(f"a {suffix} file can't hold the {self.codec} of {self.name}: use {fits}")
        return FORMATS[suffix]

    def check_quality(self, quality: float) -> None:
        """Raise EncoderError for a value outside the range, or between its steps."""
        if self.quality(self.step(quality)) != quality:
            raise EncoderError(f"{self.knob} {quality:g} of {self.name} is not in steps of {self.stride:g}")
        if not 0 <= self.step(quality) <= self.last_step:
            raise EncoderError(
                f"{self.knob} {quality:g} is outside the range of {self.name}:"
                f" {self.best} is its best quality and {self.worst} its worst"
            )


# ---- how one is used -------------------------------------------------------------------------------


# Options that settings have a place of their own for, and that place.
_OWN_PLACE: Final = {
    "preset": "preset",
    "cpu-used": "preset",
    "tune": "tune",
    "pix_fmt": "pixel_format",
    "threads": "threads",
    "g": "keyframe_interval",
    "s": "size",
}
_LARGEST: Final = 16384  # pixels of a side


@dataclass(frozen=True, slots=True)
class EncoderSettings:
    encoder: Encoder
    preset: str | None = None  # a word of encoders.PRESETS, or the encoder's own; None: medium
    tune: str | None = None
    options: tuple[tuple[str, str], ...] = ()  # further options, by FFmpeg's names
    pixel_format: str | None = None  # FFmpeg's name; None: the source's
    size: tuple[int, int] | None = None  # None: the source's
    keyframe_interval: int | None = None  # frames from keyframe to keyframe, at most
    fixed_keyframes: bool = False  # exactly so many, and closed, so that the video can be cut there
    threads: int | None = None  # of the encoder; None: the table's choice

    def __post_init__(self) -> None:
        self.encoder.preset(self.preset)
        if self.tune is not None and self.tune not in self.encoder.tunes:
            known = ", ".join(self.encoder.tunes)
            remedy = f"use one of {known}" if known else "leave it out"
            raise EncoderError(f"{self.encoder.name} has no tune {quoted(self.tune)}: {remedy}")
        for name, _ in self.options:
            if name == self.encoder.knob:
                raise EncoderError(f"the option {name} is the quality, which is set apart: leave it out")
            if name in _OWN_PLACE:
                raise EncoderError(f"the option {name} has a place of its own: pass it as {_OWN_PLACE[name]}")
        if self.size is not None and not all(2 <= side <= _LARGEST for side in self.size):
            raise EncoderError(f"{self.size[0]}x{self.size[1]} is no size to encode at")

    @property
    def thread_count(self) -> int:
        """The number of threads the encoder is told; 0 lets it choose, where that doesn't change a byte."""
        if self.encoder.threads is not None:
            return self.threads or self.encoder.threads
        if self.threads is None:
            return self.encoder.least_threads if self.encoder.name == "libvpx-vp9" else 0
        return max(self.threads, self.encoder.least_threads)

    def document(self) -> dict[str, Any]:
        """Everything that decides the bytes, as plain values; words that mean the same are the same."""
        about: dict[str, Any] = {
            "encoder": self.encoder.name,
            "preset": self.encoder.preset(self.preset),
            "tune": self.tune,
            "options": [list(option) for option in self.options],
            "pixel_format": self.pixel_format,
            "size": list(self.size) if self.size else None,
            "keyframe_interval": self.keyframe_interval,
            "fixed_keyframes": self.fixed_keyframes,
        }
        if self.encoder.threads is not None:
            about["threads"] = self.thread_count
        return about

    def encoder_options(self, quality: float) -> dict[str, str]:
        """The options for the encoder, by FFmpeg's names; parameters of its library are joined into one."""
        encoder = self.encoder
        encoder.check_quality(quality)
        pairs = [*encoder.options, *((name, str(quality)) for name in (encoder.knob, *encoder.also))]
        if encoder.preset_option is not None:
            pairs.append((encoder.preset_option, encoder.preset(self.preset)))
        if self.tune is not None:
            pairs += encoder.tunes[self.tune]
        if self.fixed_keyframes:
            interval = str(self.keyframe_interval)
            pairs += [(name, value.format(interval=interval)) for name, value in encoder.fixed_keyframes]
        elif self.keyframe_interval is not None:
            pairs.append(("g", str(self.keyframe_interval)))
        pairs += self.options
        options: dict[str, str] = {}
        for name, value in pairs:
            joined = name == encoder.params and name in options
            options[name] = f"{options[name]}:{value}" if joined else value
        return options

    def label(self, quality: float) -> str:
        """`libx265 crf 28`, for people."""
        return f"{self.encoder.name} {self.encoder.knob} {quality}"
