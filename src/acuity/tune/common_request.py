"""TuneRequest: what all requests for tuning have in common, as a record that can be written as JSON.

The record is also the table that the options of its command and the arguments of its tool are made from:
what a field may be, its default and bounds, and what it means.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Self

from acuity.errors import TuneError, to_give, to_set
from acuity.models.choose import VIEWINGS
from acuity.scoring.metrics import METRICS
from acuity.scoring.request import frame_rate
from acuity.scoring.setting import SettingsRecord, setting
from acuity.tune.encoders import encoder_of, find_encoder
from acuity.tune.values import as_whole, numbers, option_pair
from acuity.video.display import DISPLAYS
from acuity.video.picture import split_format

if TYPE_CHECKING:
    from acuity.tune.clip import Clip
    from acuity.tune.encoders import Encoder
    from acuity.tune.encoders.encoder import EncoderSettings
    from acuity.tune.points.point import PointScoring
    from acuity.tune.search.target import Target

# Groups of settings, under which the help of a command lists them.
WANTED: Final = "what is wanted"
SOURCE: Final = "the source"
ENCODING: Final = "encoding"
MEASURED: Final = "what is measured"
WORK: Final = "work"
OUTPUT: Final = "output"

DEFAULT_TARGET: Final = 92.0
_STRIDES: Final = (0.25, 0.5, 1.0)  # between values of a quality setting


def target_vmaf() -> Any:
    """The field of requests that may have a VMAF as their target."""
    help = f"score that should be reached (default: {DEFAULT_TARGET:g})"
    return setting(None, "number", help, WANTED, minimum=0, maximum=100)


class TuneRequest(SettingsRecord, kw_only=True):
    """The fields of all tuning requests: the source, its encoding and its scoring."""

    src: str
    # fmt: off
    width: int | None = setting(None, "integer", "width of raw video in pixels", SOURCE, minimum=1)
    height: int | None = setting(None, "integer", "height of raw video in pixels", SOURCE, minimum=1)
    pix_fmt: str | None = setting(
        None, "string", "pixel format of raw video, as yuv420p or yuv420p10le", SOURCE, metavar="FORMAT")
    framerate: str | None = setting(
        None, "string", "frame rate of raw video and images, as 25 or 30000/1001", SOURCE, metavar="RATE")
    stream: int | None = setting(
        None, "integer", "video stream of a source that has several, counted from 0", SOURCE, minimum=0)
    duration: float | None = setting(
        None, "number", "take only the first SECONDS", SOURCE, minimum=0, metavar="SECONDS")
    sample: float | None = setting(
        None, "number", "try encodes on shots of about SECONDS in all; the error of that is stated", SOURCE,
        minimum=0, metavar="SECONDS")
    preset: str | None = setting(
        None, "string", "speed of the encoder: ultrafast to placebo, or a word of its own", ENCODING)
    tune: str | None = setting(None, "string", "what the encoder is tuned for, as film or grain", ENCODING)
    encoder_options: tuple[str, ...] = setting(
        (), "array", "further option of the encoder, as bf=3 or x265-params=aq-mode=3; may be repeated",
        ENCODING, metavar="NAME=VALUE")
    out_pix_fmt: str | None = setting(
        None, "string", "pixel format of the encode, as yuv420p10le (default: the source's)", ENCODING,
        metavar="FORMAT")
    keyint: int | None = setting(
        None, "integer", "most frames from one keyframe to the next", ENCODING, minimum=1)
    crf_min: float | None = setting(
        None, "number", "least value of the quality setting that is tried", ENCODING, minimum=0)
    crf_max: float | None = setting(
        None, "number", "greatest value of the quality setting that is tried", ENCODING, minimum=0)
    crf_step: float | None = setting(
        None, "number", "distance of values of the quality setting, 0.25, 0.5 or 1, for encoders that take "
        "decimals (default: 1, or 0.25 if a value has decimals)", ENCODING, minimum=0)
    vmaf_model: str = setting(
        "auto", "string", "model, as for 'acuity score'; auto goes by the source's size", MEASURED,
        metavar="MODEL")
    neg: bool = setting(False, "boolean", "VMAF NEG: no credit for sharpening or contrast", MEASURED)
    viewing: str | None = setting(
        None, "string", "take VMAF v1's model and display for this way of watching", MEASURED,
        choices=tuple(VIEWINGS))
    display: str | None = setting(
        None, "string", "scale both to fill this display before they are compared", MEASURED,
        choices=tuple(DISPLAYS))
    metric: str = setting(
        "vmaf", "string", "what the target is a figure of", MEASURED, choices=tuple(METRICS))
    pool: str = setting(
        "mean", "string", "how frames become one figure: mean, harmonic_mean, min or a percentile as p5",
        MEASURED)
    subsample: int = setting(1, "integer", "score every Nth frame", MEASURED, minimum=1)
    overwrite: bool = setting(
        False, "boolean", "replace files that exist; without it they are refused", OUTPUT)
    no_cache: bool = setting(False, "boolean", "neither read nor keep measured encodes", WORK)
    no_parallel: bool = setting(False, "boolean", "make one encode at a time", WORK)
    backend: str = setting(
        "auto", "string", "what computes scores: auto, cpu, cuda, or one card, as cuda:1", WORK,
        metavar="NAME")
    device: int | None = setting(
        None, "integer", "the card that computes scores, by its number from 0; any unless given", WORK,
        minimum=0)
    # fmt: on

    def __post_init__(self) -> None:
        for name, about in self.settings_table().items():
            if fault := about.fault(name, getattr(self, name)):
                raise TuneError(*fault)

    def check(self) -> None:
        """Refuse values that are wrong whatever the file holds, before it is opened; raises TuneError."""
        if self.pix_fmt is not None:
            split_format(self.pix_fmt)
        if self.framerate is not None:
            frame_rate(self.framerate)
        for text in self.encoder_options:
            option_pair(text)
        if self.crf_step not in (None, *_STRIDES):
            raise TuneError(to_set("crf_step", f"{self.crf_step:g}"), " should be 0.25, 0.5 or 1")
        self.scoring()
        for name in self.encoder_names():
            entry = encoder_of(name) or find_encoder(name)  # which lists the encoders there are
            entry.preset(self.preset)
            self.stepped(entry)
            if (made := self.video_file()) is not None:
                entry.format_of(made)

    def stepped(self, encoder: Encoder) -> Encoder:
        swept = getattr(self, "crf_sweep", None)
        values = [self.crf_min or 0, self.crf_max or 0, *(numbers(swept, "crf_sweep") if swept else ())]
        whole = all(value == int(value) for value in values)
        return encoder.stepped(self.crf_step or (1 if whole else _STRIDES[0]))

    def video_file(self) -> str | None:
        return None

    def encoder_names(self) -> list[str]:
        return [self.encoder] if hasattr(self, "encoder") else []

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Self:
        fields: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in document.items()
        }
        return cls(**fields)

    def clip(self) -> Clip:
        from acuity.tune.clip import Part, open_clip
        from acuity.video.picture import PixelFormat
        from acuity.video.readers.open import RawGeometry, says_its_size

        geometry = RawGeometry()
        if self.width or self.height or not says_its_size(self.src):
            layout, depth = (None, None) if self.pix_fmt is None else split_format(self.pix_fmt)
            if self.pix_fmt is not None and layout is not None:
                depth = PixelFormat.parse(self.pix_fmt, depth or 8).depth
            geometry = RawGeometry(self.width, self.height, layout, depth)
        rate = None if self.framerate is None else frame_rate(self.framerate)
        clip = open_clip(self.src, geometry=geometry, fps=rate, stream=self.stream)
        if self.duration is None:
            return clip
        end = round(self.duration * clip.rate)
        if end < 1:
            raise TuneError(f"a duration of {self.duration:g} s is less than one frame: give more")
        return clip if clip.frames is not None and end >= clip.frames else clip.of(Part(0, end))

    def settings(self, encoder: Encoder, size: tuple[int, int] | None = None) -> EncoderSettings:
        from acuity.tune.encoders.encoder import EncoderSettings

        return EncoderSettings(
            encoder,
            preset=self.preset,
            tune=self.tune,
            options=tuple(option_pair(text) for text in self.encoder_options),
            pixel_format=self.out_pix_fmt,
            size=size,
            keyframe_interval=self.keyint,
        )

    def scoring(self) -> PointScoring:
        from acuity.tune.points.point import PointScoring

        if self.neg and self.vmaf_model != "auto":
            other = to_give("vmaf_model", verb="another is named with"), ": leave one of them out"
            raise TuneError(to_set("neg", True), " is a model of its own, and ", *other)
        return PointScoring(
            model="version=vmaf_v0.6.1neg" if self.neg else self.vmaf_model,
            metrics=() if self.metric == "vmaf" else (self.metric,),
            viewing=self.viewing,
            display=self.display,
            subsample=self.subsample,
            backend=self.backend,
            device=self.device,
        )

    def only_one(self, *names: str) -> None:
        given = [name for name in names if getattr(self, name) is not None]
        if len(given) > 1:
            raise TuneError(to_give(*given[:2], verb="there are two targets, by"), ": leave one of them out")

    def figure(self) -> float:
        given: list[float | None] = [getattr(self, name, None) for name in ("target", "target_vmaf")]
        if self.metric != "vmaf" and given[0] is None:
            raise TuneError(f"the target of {self.metric} is missing: ", to_give("target"))
        return next((value for value in given if value is not None), DEFAULT_TARGET)

    def target_at(self, value: float) -> Target:
        from acuity.tune.search.target import Target

        return Target(value, column=METRICS[self.metric].key or "vmaf", pool=self.pool)

    def quality_range(self, encoder: Encoder) -> tuple[float, float] | None:
        if self.crf_min is None and self.crf_max is None:
            return None
        least, most = sorted((encoder.best, encoder.worst))
        low: float = least if self.crf_min is None else as_whole(self.crf_min)
        high: float = most if self.crf_max is None else as_whole(self.crf_max)
        if not least <= low <= high <= most:
            raise TuneError(
                f"the quality of {encoder.name} can't be {low:g} to {high:g}: "
                f"its {encoder.knob} goes from {least} to {most}"
            )
        return low, high
