"""EncoderSettings: how a clip is encoded, all but the quality, and the options an encoder gets for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from acuity.errors import EncoderError
from acuity.text import quoted
from acuity.tune.encoders.encoder import Encoder

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
