"""Small encodes as people have them: every codec, container, size, range and start that is common."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import av
import numpy as np

from colour_clips import colours, to_yuv
from video_clips import clip

SIZE = (192, 108)
FRAMES = 16
HD = {"color_range": 1, "colorspace": 1, "color_primaries": 1, "color_trc": 1}

Make = Callable[[Path], Path]


def maker(make: Callable[..., Path]) -> Callable[..., Make]:
    """Turns a function that makes a file in a folder into one that takes the folder last, by itself."""
    return lambda *about, **settings: lambda folder: make(folder, *about, **settings)


@cache
def picture(number: int) -> np.ndarray:
    """Red, green and blue of 0 to 1: colours that drift over a texture, with grain."""
    rng = np.random.default_rng(5)
    texture = rng.normal(0, 0.06, (SIZE[1] // 2 + 40, SIZE[0] // 2 + 60)).repeat(2, 0).repeat(2, 1)
    drifting = texture[number : number + SIZE[1], 2 * number : 2 * number + SIZE[0], None]
    grain = np.random.default_rng(number).normal(0, 0.01, (SIZE[1], SIZE[0], 1))
    return np.clip(colours(number, SIZE) * 0.8 + 0.05 + drifting + grain, 0.0, 1.0)


@cache
def planes(number: int, matrix: str, full: bool) -> np.ndarray:
    return np.rint(to_yuv(picture(number), matrix, full=full)).astype(np.uint8)


def frames(
    shown: Iterable[int], size: tuple[int, int] = SIZE, *, matrix: str = "bt709", full: bool = False
) -> list[av.VideoFrame]:
    made = [av.VideoFrame.from_ndarray(planes(number, matrix, full), "yuv444p") for number in shown]
    return [frame if size == SIZE else frame.reformat(*size) for frame in made]


@maker
def made(
    folder: Path,
    name: str,
    codec: str = "libx264",
    pix_fmt: str = "yuv420p",
    *,
    shown: Iterable[int] = range(FRAMES),
    size: tuple[int, int] = SIZE,
    matrix: str = "bt709",
    full: bool = False,
    **settings: Any,
) -> Path:
    """A clip with this name."""
    tags = {**HD, "color_range": 2 if full else 1, "colorspace": {"bt709": 1, "smpte170m": 6}[matrix]}
    known = {"libx264": {"crf": "28", "preset": "veryfast"}, "libx265": {"x265-params": "log-level=none"}}
    options = {**known.get(codec, {}), **settings.pop("options", {})}
    pictures = frames(shown, size, matrix=matrix, full=full)
    how = {"codec": codec, "pix_fmt": pix_fmt, "options": options, **tags, "thread_count": 1, **settings}
    return clip(folder / name, pictures, **how)


@maker
def made_of_rgb(
    folder: Path, name: str, codec: str, pix_fmt: str, shown: Iterable[int] = range(FRAMES), **options: str
) -> Path:
    """A clip in RGB."""
    pictures = [np.rint(picture(number) * 255).astype(np.uint8) for number in shown]
    rgb = [av.VideoFrame.from_ndarray(pixels, "rgb24") for pixels in pictures]
    return clip(folder / name, rgb, codec=codec, pix_fmt=pix_fmt, options=options, thread_count=1)


@maker
def cut_by_edit_list(folder: Path, name: str, count: int, **settings: Any) -> Path:
    """An MP4 that has all frames, and an edit list that hides the first ones."""
    whole = made(f"whole-{name}", **settings)(folder)
    with av.open(str(whole)) as source, av.open(str(folder / name), "w") as output:
        stream = source.streams.video[0]
        copied = output.add_stream_from_template(stream)
        assert stream.time_base is not None
        ticks = int(Fraction(count, 25) / stream.time_base)
        for packet in source.demux(stream):
            if packet.pts is not None and packet.dts is not None:
                packet.pts, packet.dts, packet.stream = packet.pts - ticks, packet.dts - ticks, copied
                output.mux(packet)
    return folder / name


@maker
def beheaded(folder: Path, name: str, part: float, packets: int | None = None, **settings: Any) -> Path:
    """A transport stream whose first part is missing, as a recording that began late.

    With `packets`, so many are missing after that part.
    """
    data = made(f"whole-{name}", **settings)(folder).read_bytes()
    start = int(len(data) * part) // 188 * 188
    kept = data[start:] if packets is None else data[:start] + data[start + packets * 188 :]
    (folder / name).write_bytes(kept)
    return folder / name


def wiped(name: str) -> Make:
    """A transport stream with a hole."""
    return beheaded(name, 0.5, 3)


@maker
def joined(folder: Path, name: str, *makes: Make) -> Path:
    """A file that has the bytes of several."""
    (folder / name).write_bytes(b"".join(make(folder).read_bytes() for make in makes))
    return folder / name


@maker
def with_cover(folder: Path, name: str, *, first: bool) -> Path:
    """A video with a cover picture beside it."""
    with av.open(str(folder / name), "w") as output:
        kinds = ("mjpeg", "libx264") if first else ("libx264", "mjpeg")
        streams = {codec: output.add_stream(codec, rate=25) for codec in kinds}
        for codec, stream in streams.items():
            stream.width, stream.height = SIZE
            stream.pix_fmt = "yuvj420p" if codec == "mjpeg" else "yuv420p"
        streams["mjpeg"].disposition = av.stream.Disposition.attached_pic
        for number, frame in enumerate(frames(range(FRAMES))):
            frame.pts, frame.time_base = number, Fraction(1, 25)
            if number == 0:
                output.mux(streams["mjpeg"].encode(frame.reformat(format="yuvj420p")))
            output.mux(streams["libx264"].encode(frame))
        output.mux(streams["libx264"].encode(None))
    return folder / name
