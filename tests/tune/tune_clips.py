"""Makes the small clips that the tests of tuning encode."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np

from acuity.tune.clip import Clip
from acuity.tune.encoders import find_encoder
from acuity.tune.encoders.encoder import EncoderSettings
from acuity.tune.encoders.output import video_file
from acuity.tune.points.point import Point, measure

IN_PROCESS = ("libx264", "libx265", "libsvtav1", "libvpx-vp9")
FAST = {"libx264": "veryfast", "libx265": "ultrafast", "libsvtav1": "10", "libvpx-vp9": "fast"}


def fast(name: str, **more: Any) -> EncoderSettings:
    """Settings of an encoder at a fast preset."""
    return EncoderSettings(find_encoder(name), preset=FAST[name], **more)


def picture(frame: int, width: int, height: int, seed: int = 1) -> np.ndarray:
    """Luma of a texture that moves over a wave that moves the other way."""
    rows, columns = np.mgrid[0:height, 0:width]
    grain = np.random.default_rng(seed).integers(0, 60, (height, width))
    wave = 60 * np.sin((columns + 3 * frame) / 17) + 40 * np.cos((rows - 2 * frame) / 11)
    return (113 + wave + np.roll(grain, 2 * frame, 1) / 2).clip(16, 235).astype(np.uint8)


def write_y4m(
    path: Path, frames: int = 30, width: int = 160, height: int = 96, *, rate: str = "25:1", seed: int = 1
) -> Path:
    """A Y4M clip of 4:2:0."""
    with open(path, "wb") as file:
        file.write(f"YUV4MPEG2 W{width} H{height} F{rate} Ip A1:1 C420\n".encode())
        chroma = ((height + 1) // 2) * ((width + 1) // 2)
        for frame in range(frames):
            file.write(b"FRAME\n" + picture(frame, width, height, seed).tobytes())
            file.write(bytes([100 + frame % 50]) * chroma + bytes([150 - frame % 50]) * chroma)
    return path


def write_video(
    path: Path,
    frames: int = 30,
    *,
    size: tuple[int, int] = (160, 96),
    rate: Fraction | int = 25,
    stamps: Sequence[int] | None = None,
    rotation: int = 0,
    sound: str | None = None,
    sound_start: float = 0.0,
    language: str = "",
    options: Mapping[str, str] = {"crf": "8", "preset": "ultrafast"},
    sound_options: Mapping[str, str] = {},
    container_options: Mapping[str, str] = {},
    also: Callable[[Any], None] = lambda file: None,
) -> Path:
    """An H.264 video of picture()s, with noise as sound if a codec is named for it.

    `stamps` are the milliseconds at which frames are shown, `also` is called before anything is written.
    """
    with av.open(str(path), "w", container_options=dict(container_options)) as file:
        video: Any = file.add_stream("libx264", rate=rate, options=dict(options))
        video.width, video.height, video.pix_fmt = *size, "yuv420p"
        base = 1 / Fraction(rate)
        if stamps is not None:
            base = video.time_base = video.codec_context.time_base = Fraction(1, 1000)
        if rotation:
            video.set_display_rotation(-rotation)
        tone: Any = (
            file.add_stream(sound, rate=48000, layout="stereo", options=dict(sound_options))
            if sound
            else None
        )
        if language:
            tone.metadata["language"] = language
        also(file)
        chroma = np.full((size[1] // 2, size[0]), 128, np.uint8)
        shown = list(range(frames) if stamps is None else stamps)
        for index, stamp in enumerate(shown):
            frame = av.VideoFrame.from_ndarray(np.vstack([picture(index, *size), chroma]), format="yuv420p")
            frame.pts, frame.time_base = stamp, base
            file.mux(video.encode(frame))
        file.mux(video.encode(None))
        if tone is not None:
            count = -(-round((shown[-1] - shown[0] + 1) * base * 48000) // 1024) * 1024
            noise = np.random.default_rng(1).normal(0, 0.1, (2, count)).astype(np.float32)
            for at in range(0, count, 1024):
                wave = np.ascontiguousarray(noise[:, at : at + 1024])
                samples = av.AudioFrame.from_ndarray(wave, format="fltp", layout="stereo")
                samples.sample_rate, samples.pts = 48000, at + round(sound_start * 48000)
                file.mux(tone.encode(samples))
            file.mux(tone.encode(None))
    return path


def encode_file(
    clip: Clip, settings: EncoderSettings, quality: float, out: str | Path, *, overwrite: bool = False
) -> Point:
    """Encode a clip into a file with all that belongs to it, and measure it in the same pass."""
    with video_file(out, clip, settings.encoder, overwrite=overwrite) as file:
        point = measure(clip, settings, quality, sink=file)
    return replace(point, notes=(*point.notes, *file.notes))
