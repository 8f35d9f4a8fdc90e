"""Decides the form of a clip's pictures for an encoder (size, format, colours), and starts the encode."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Final

import av

from acuity.errors import EncoderError, TuneError, listed, to_set
from acuity.tune.clip import Clip
from acuity.tune.encoders import Encoder, usable_encoders
from acuity.tune.encoders.encoder import EncoderSettings
from acuity.tune.encoders.encoding import Encoding, Job, PyavEncoding
from acuity.tune.encoders.external import ExternalEncoding
from acuity.tune.encoders.hdr10 import Hdr10
from acuity.video.notes import Note, warning
from acuity.video.pairs.convert import Fit, Resample, Step
from acuity.video.picture import LAYOUTS, PixelFormat
from acuity.video.readers.avframes import DIRECT, av_name
from acuity.video.readers.container_info import MATRICES, PRIMARIES, TRANSFERS
from acuity.video.readers.reader import RgbTarget, VideoInfo

_UNSPECIFIED: Final = 2
_RANGES: Final = {None: 0, False: 1, True: 2}  # FFmpeg's numbers
_HDR_DEPTH: Final = 10  # bits, at least, of PQ and HLG
_GRAIN: Final = re.compile(r"\b(?:film-grain|denoise-noise-level)=[1-9]\d*")  # of SVT-AV1 and libaom
_SAME_SHAPE: Final = 0.01  # sizes this close keep the aspect of their samples


@dataclass(frozen=True, slots=True)
class PictureForm:
    """The form that a clip's pictures get before they are encoded: size, format, times and colour tags."""

    width: int
    height: int
    format: PixelFormat
    rate: Fraction
    aspect: Fraction | None
    full_range: bool | None
    matrix: str | None
    primaries: str | None
    transfer: str | None
    hdr10: Hdr10

    @classmethod
    def of(cls, clip: Clip, settings: EncoderSettings) -> PictureForm:
        info = clip.info
        width, height = settings.size or (info.width, info.height)
        if width > info.width or height > info.height:
            raise TuneError(
                f"{width}x{height} is larger than '{clip.path}' ({info.width}x{info.height}):"
                " encode at the source's size or smaller"
            )
        format = _format(clip, settings)
        _check_even(clip, settings, width, height, format)
        rgb = RgbTarget() if info.rgb else None
        return cls(
            width,
            height,
            format,
            clip.rate,
            aspect=_aspect(info, width, height),
            full_range=rgb.full_range if rgb else info.full_range,
            matrix=rgb.matrix if rgb else info.matrix,
            primaries=info.primaries,
            transfer=info.transfer,
            hdr10=clip.hdr10,
        )

    @property
    def colours(self) -> tuple[int, int, int]:
        """Primaries, transfer and matrix by their numbers in ITU-T H.273."""
        tables = (PRIMARIES, self.primaries), (TRANSFERS, self.transfer), (MATRICES, self.matrix)
        primaries, transfer, matrix = (_number(table, name) for table, name in tables)
        return primaries, transfer, matrix

    def steps(self, info: VideoInfo) -> list[Step]:
        full = bool(self.full_range)
        sized = (info.width, info.height) == (self.width, self.height)
        if not sized or info.format.depth != self.format.depth:
            return [Fit(self.width, self.height, self.format, full, full, "lanczos")]
        # Gray gets empty chroma.
        return [Resample(self.format, full)] if info.format.layout != self.format.layout else []


def _number(table: dict[int, str], name: str | None) -> int:
    return next((number for number, known in table.items() if known == name), _UNSPECIFIED)


@cache
def pixel_formats(encoder: Encoder) -> tuple[str, ...]:
    """The planar YUV formats that an encoder takes, by FFmpeg's names."""
    if not encoder.in_process:
        return encoder.pixel_formats
    formats = av.Codec(encoder.name, "w").video_formats or []
    names = (format.name for format in formats)
    # Frames of these can be made here: planar, without alpha, not one of JPEG's.
    made = (name for name in names if name in DIRECT and av_name(DIRECT[name]) == name)
    return tuple(name for name in made if name.startswith("yuv"))


def _format(clip: Clip, settings: EncoderSettings) -> PixelFormat:
    known = pixel_formats(settings.encoder)
    name = settings.encoder.name
    if settings.pixel_format is not None:
        if settings.pixel_format not in known:
            raise EncoderError(
                f"{name} doesn't take the pixel format {settings.pixel_format}: use one of {', '.join(known)}"
            )
        return DIRECT[settings.pixel_format]
    source = clip.info.format
    if source.layout == "400":
        source = PixelFormat("420", source.depth)  # gray is 4:2:0 without colour
    if av_name(source) in known:
        return source
    nearest = _nearest(source, known)
    if clip.info.hdr and DIRECT[nearest].depth < _HDR_DEPTH:
        fit = [one.name for one in usable_encoders() if av_name(source) in pixel_formats(one)]
        raise EncoderError(
            f"{name} as it is built here doesn't take {av_name(source)}, the format of '{clip.path}', "
            f"and fewer than {_HDR_DEPTH} bits show bands in HDR: use {listed(fit)}"
        )
    why = f"{name} doesn't take {av_name(source)}, the format of '{clip.path}'"
    raise EncoderError(f"{why}: pass ", to_set("out_pix_fmt", nearest), " to convert it")


def _nearest(source: PixelFormat, known: tuple[str, ...]) -> str:
    """The known format that loses the least: the same depth or more before the same chroma or more."""
    order = list(LAYOUTS)

    def loss(name: str) -> tuple[int, int, int, int]:
        format = DIRECT[name]
        depth, layout = format.depth - source.depth, order.index(format.layout) - order.index(source.layout)
        return max(-depth, 0), max(-layout, 0), max(depth, 0), max(layout, 0)

    return min(known, key=loss)


def _check_even(clip: Clip, settings: EncoderSettings, width: int, height: int, format: PixelFormat) -> None:
    across, down = (1 << shift for shift in LAYOUTS[format.layout] or (0, 0))
    if width % across == 0 and height % down == 0:
        return
    even = f"{width - width % across}x{height - height % down}"
    what = f"the size {width}x{height}" if settings.size else f"'{clip.path}' ({width}x{height})"
    raise TuneError(
        f"{what} has an odd side, which {':'.join(format.layout)} chroma can't have: encode it at {even}, "
        "or crop the source to that"
    )


def _aspect(info: VideoInfo, width: int, height: int) -> Fraction | None:
    """The aspect of a sample at the new size: the same, unless the shape of the picture changes."""
    change = Fraction(info.width * height, info.height * width)
    if abs(change - 1) <= _SAME_SHAPE or (width, height) == (info.width, info.height):
        return info.aspect
    return ((info.aspect or Fraction(1)) * change).limit_denominator(255)


def job_of(settings: EncoderSettings, quality: float, target: PictureForm) -> Job:
    """The job of an encode: all that the encoder is told before its first frame."""
    encoder = settings.encoder
    options = settings.encoder_options(quality)
    threads = settings.thread_count
    if encoder.name == "libx265":
        if settings.threads is not None:
            options["x265-params"] += f":pools={threads}"
        threads = 0  # it would be the number of frames in parallel, which changes the bytes
    if encoder.params is not None and (about := target.hdr10.parameters(encoder.name)):
        before = options.get(encoder.params)
        options[encoder.params] = f"{before}:{about}" if before else about
    primaries, transfer, matrix = target.colours
    form = target.width, target.height, av_name(target.format), target.rate, target.aspect
    tags = _RANGES[target.full_range], matrix, primaries, transfer
    return Job(encoder.name, options, *form, *tags, threads)


def encode_notes(clip: Clip, settings: EncoderSettings, target: PictureForm) -> Iterator[Note]:
    """Warnings that people need before they trust an encode's score or its look."""
    name = settings.encoder.name
    if clip.hdr10 and not clip.hdr10.parameters(name):
        yield warning("hdr10", f"{name} has no place for the HDR10 metadata of '{clip.path}'")
    if clip.info.hdr and target.format.depth < _HDR_DEPTH:
        bits = f"{target.format.depth} bits a sample"
        yield warning("hdr-depth", f"'{clip.path}' is HDR, and {bits} are too few for it: bands will be seen")
    if grain := _GRAIN.search(":".join(f"{option}={value}" for option, value in settings.options)):
        yield warning(
            "film-grain",
            f"{name} makes up grain of its own ({grain[0]}), which metrics take for an error: scores are "
            "lower than what is seen, and a target costs more bits than it should",
        )


def open_encoding(settings: EncoderSettings, quality: float, target: PictureForm) -> Encoding:
    """Start an encode; raises EncoderError if the encoder refuses its options."""
    start = PyavEncoding if settings.encoder.in_process else ExternalEncoding
    return start(job_of(settings, quality, target), settings.encoder.codec, settings.label(quality))
