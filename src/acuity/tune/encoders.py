"""The table of encoders: what each one's quality option is called, its range, presets and tunes.

Every place that names an encoder reads this table. Those of PyAV run in this process; the others through the
program that ACUITY_FFMPEG names (external.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Final

from acuity.errors import EncoderError, listed
from acuity.text import quoted

# One vocabulary of presets for all encoders, from fast to slow.
PRESETS: Final = (
    "ultrafast",
    "superfast",
    "veryfast",
    "faster",
    "fast",
    "medium",
    "slow",
    "slower",
    "veryslow",
    "placebo",
)
DEFAULT_PRESET: Final = "medium"

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
    in_process: bool = True
    aliases: tuple[str, ...] = ()
    preset_option: str | None = "preset"
    presets: Mapping[str, str] = field(default_factory=dict)  # words of PRESETS -> the encoder's own
    own_presets: tuple[str, ...] = ()
    tunes: Mapping[str, Options] = field(default_factory=dict)
    options: Options = ()  # that it always gets
    params: str | None = None  # its option for parameters of the library, as a=b:c=d
    pixel_formats: tuple[str, ...] = ()  # of external ones, best known first; PyAV lists its own
    fixed_keyframes: Options = ()  # options for keyframes at every {interval}th frame and nowhere else
    threads: int | None = None  # a constant, where the number of threads changes the bytes
    least_threads: int = 1  # fewer would change the bytes
    containers: tuple[str, ...] = (".mp4", ".mkv", ".mov")  # suffixes of files that can hold it
    trials: tuple[int, ...] = ()  # quality values from good to poor, to try first

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Encoder) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def last_step(self) -> int:
        """Steps go from 0, the best quality, to this, the worst."""
        return abs(self.worst - self.best)

    def quality(self, step: int) -> int:
        """The knob's value at a step."""
        return self.best + step if self.worst >= self.best else self.best - step

    def step(self, quality: int) -> int:
        """The step of a knob's value."""
        return quality - self.best if self.worst >= self.best else self.best - quality

    def preset(self, word: str | None) -> str:
        """The encoder's own word for a preset; EncoderError if it has none such."""
        word = word or DEFAULT_PRESET
        if word in self.presets:
            return self.presets[word]
        if word in self.own_presets:
            return word
        if not self.presets and word in PRESETS:
            return word  # it has no presets, so any is as good
        words = [name for name in PRESETS if name in self.presets]
        own = [name for name in self.own_presets if name not in words]
        known = ", ".join([*words, *(own if len(own) < 8 else [f"{own[0]} to {own[-1]}"])])
        raise EncoderError(f"{self.name} has no preset {quoted(word)}: use one of {known}")

    def check_quality(self, quality: int) -> None:
        """Raise EncoderError for a value outside the range."""
        if not 0 <= self.step(quality) <= self.last_step:
            raise EncoderError(
                f"{self.knob} {quality} is outside the range of {self.name}:"
                f" {self.best} is its best quality and {self.worst} its worst"
            )


def _numbers(*values: int) -> dict[str, str]:
    """The vocabulary of presets with a number for each word."""
    return dict(zip(PRESETS, map(str, values), strict=True))


def _words(*words: str) -> dict[str, Options]:
    return {word: (("tune", word),) for word in words}


_AV1: Final = (".mp4", ".mkv", ".webm", ".mov")

ENCODERS: Final[Mapping[str, Encoder]] = {
    encoder.name: encoder
    for encoder in (
        Encoder(
            "libx264",
            "h264",
            "crf",
            0,
            51,
            23,
            aliases=("x264", "h264", "h.264", "avc"),
            presets={word: word for word in PRESETS},
            tunes=_words(
                "film", "animation", "grain", "stillimage", "psnr", "ssim", "fastdecode", "zerolatency"
            ),
            params="x264-params",
            # Without it, AVX-512 code of x264 165 makes other bytes of the same frames at each run.
            options=(("x264-params", "cpu-independent=1"),),
            fixed_keyframes=(
                ("g", "{interval}"),
                ("keyint_min", "{interval}"),
                ("sc_threshold", "0"),
                ("forced-idr", "1"),
            ),
            threads=4,
            trials=(18, 23, 28, 33),
        ),
        Encoder(
            "libx265",
            "hevc",
            "crf",
            0,
            51,
            28,
            aliases=("x265", "h265", "h.265", "hevc"),
            presets={word: word for word in PRESETS},
            tunes=_words("psnr", "ssim", "grain", "zerolatency", "fastdecode", "animation"),
            params="x265-params",
            options=(("x265-params", "log-level=error:frame-threads=3"),),
            fixed_keyframes=(
                ("x265-params", "keyint={interval}:min-keyint={interval}:scenecut=0:open-gop=0"),
            ),
            least_threads=2,
            trials=(20, 25, 30, 35),
        ),
        Encoder(
            "libsvtav1",
            "av1",
            "crf",
            1,
            63,
            35,
            aliases=("svtav1", "svt-av1", "svt", "av1"),
            presets=_numbers(13, 12, 11, 10, 9, 7, 5, 3, 1, 0),
            own_presets=tuple(map(str, range(14))),
            tunes={
                "vq": (("svtav1-params", "tune=0"),),
                "psnr": (("svtav1-params", "tune=1"),),
                "ssim": (("svtav1-params", "tune=2"),),
            },
            params="svtav1-params",
            fixed_keyframes=(("g", "{interval}"), ("svtav1-params", "irefresh-type=2:scd=0")),
            containers=_AV1,
            trials=(25, 32, 40, 48),
        ),
        Encoder(
            "libvpx-vp9",
            "vp9",
            "crf",
            0,
            63,
            32,
            aliases=("vpx-vp9", "libvpx", "vp9"),
            preset_option="cpu-used",
            presets=_numbers(5, 5, 5, 5, 4, 3, 2, 1, 0, 0),
            own_presets=tuple(map(str, range(9))),
            tunes=_words("psnr", "ssim"),
            options=(("deadline", "good"), ("b", "0"), ("row-mt", "1")),
            fixed_keyframes=(("g", "{interval}"), ("keyint_min", "{interval}")),
            least_threads=2,
            containers=_AV1,
            trials=(20, 28, 36, 44),
        ),
    )
}


@cache
def _names() -> dict[str, Encoder]:
    """Every encoder by its name and its aliases."""
    names = dict(ENCODERS)
    for encoder in ENCODERS.values():
        for alias in encoder.aliases:
            names.setdefault(alias, encoder)
    return names


def find_encoder(name: str) -> Encoder:
    """The encoder of a name or alias; EncoderError says which are usable here."""
    encoder = _names().get(str(name).strip().lower())
    if encoder is not None and is_usable(encoder):
        return encoder
    here = listed([known.name for known in usable_encoders()])
    if encoder is None:
        raise EncoderError(
            f"there is no encoder {quoted(name)}: use {here}; an ffmpeg that ACUITY_FFMPEG names brings more"
        )
    raise EncoderError(
        f"{encoder.name} is not on this machine: use {here}, or name an ffmpeg that has it in ACUITY_FFMPEG"
    )


def usable_encoders() -> list[Encoder]:
    """The encoders of this machine, those of PyAV first."""
    return [encoder for encoder in ENCODERS.values() if is_usable(encoder)]


@cache
def _in_pyav(name: str) -> bool:
    import av

    return name in av.codecs_available


def is_usable(encoder: Encoder) -> bool:
    """Whether an encoder is on this machine."""
    return encoder.in_process and _in_pyav(encoder.name)
