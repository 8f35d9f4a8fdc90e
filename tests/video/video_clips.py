"""Small generated videos, each frame with its number in the luma."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np

from acuity.video.pairs.pair_options import PairOptions
from acuity.video.pairs.pairing import Pairing, pair_videos
from acuity.video.picture import Picture, PixelFormat
from acuity.video.readers.avframes import DIRECT
from acuity.video.readers.open import open_video
from acuity.video.readers.reader import BaseReader

BITS = 6
WIDTH, HEIGHT = 96, 64


def random_planes(
    format: PixelFormat, width: int, height: int, seed: int = 0, *, round_up: bool = True
) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    shapes = format.plane_shapes(width, height, round_up=round_up)
    return [rng.integers(0, 1 << format.depth, shape).astype(format.dtype) for shape in shapes]


def raw_bytes(frames: Sequence[Sequence[np.ndarray]]) -> bytes:
    return b"".join(plane.tobytes() for planes in frames for plane in planes)


def y4m_bytes(
    frames: Sequence[Sequence[np.ndarray]], tags: str, lines: Callable[[int], bytes] = lambda _: b"FRAME\n"
) -> bytes:
    body = b"".join(lines(i) + raw_bytes([planes]) for i, planes in enumerate(frames))
    return f"YUV4MPEG2 {tags}\n".encode() + body


def numbered_luma(number: int, width: int = WIDTH, height: int = HEIGHT) -> np.ndarray:
    """Columns of dark and light for the bits of `number`, over texture that gives an encoder work."""
    bits = [(number >> bit) & 1 for bit in range(BITS)]
    luma = np.repeat(np.array(bits) * 120 + 50, -(-width // BITS))[:width]
    texture = np.random.default_rng(number).integers(-20, 20, (height, width))
    return (luma + texture).astype(np.uint8)


def gray_planes(luma: np.ndarray) -> list[np.ndarray]:
    """4:2:0 planes of a luma without colour."""
    rows, columns = luma.shape
    return [luma, *[np.full((rows // 2, columns // 2), 128, np.uint8)] * 2]


def gray_y4m(path: Path, lumas: Sequence[np.ndarray], tags: str = "F25:1") -> Path:
    """A Y4M file of pictures without colour."""
    rows, columns = lumas[0].shape
    path.write_bytes(y4m_bytes([gray_planes(luma) for luma in lumas], f"W{columns} H{rows} {tags}"))
    return path


def gray_frames(lumas: Iterable[np.ndarray]) -> list[av.VideoFrame]:
    """Frames of pictures without colour."""
    packed = [np.vstack([luma, np.full_like(luma[::2], 128)]) for luma in lumas]
    return [av.VideoFrame.from_ndarray(planes, "yuv420p") for planes in packed]


def number_of(picture: Picture) -> int:
    step = picture.width / BITS
    columns = [picture.luma[:, int(step * i) + 2 : int(step * (i + 1)) - 2] for i in range(BITS)]
    middle = 110 << (picture.format.depth - 8)
    return sum(1 << i for i, column in enumerate(columns) if column.mean() > middle)


def number_at(reader: BaseReader, frame: int) -> int:
    """The number in the picture that comes after a seek."""
    reader.seek(frame)
    picture = reader.read()
    assert picture is not None
    return number_of(picture)


def numbered_frame(number: int, pix_fmt: str, width: int, height: int) -> av.VideoFrame:
    frame = av.VideoFrame(width, height, pix_fmt)
    format = DIRECT[pix_fmt]
    for index, plane in enumerate(frame.planes):
        rows = np.frombuffer(plane, np.uint8).reshape(plane.height, plane.line_size).view(format.dtype)
        if index == 0:
            rows[:, :width] = numbered_luma(number, width, height).astype(format.dtype) << (format.depth - 8)
        else:
            rows[:] = 1 << (format.depth - 1)
    return frame


def clip(
    path: Path,
    frames: Sequence[av.VideoFrame],
    *,
    codec: str,
    pix_fmt: str,
    options: dict[str, str] | None = None,
    muxing: dict[str, str] | None = None,
    rate: int | Fraction = 25,
    ticks: Iterable[int] | None = None,
    rotation: int = 0,
    mirrored: bool = False,
    aspect: Fraction | None = None,
    **context: Any,
) -> Path:
    """Encode the frames as they are; `context` is attributes of the codec context, such as color_range.

    `ticks` are the times of the frames, counted in frames; `rotation` is clockwise.
    """
    with av.open(str(path), "w", options=muxing or {}) as output:
        stream = output.add_stream(codec, rate=rate, options=options or {})
        stream.width, stream.height, stream.pix_fmt = frames[0].width, frames[0].height, pix_fmt
        if aspect is not None:
            stream.sample_aspect_ratio = aspect
        if rotation or mirrored:
            stream.set_display_rotation(-rotation, hflip=mirrored)
        for name, value in context.items():
            setattr(stream.codec_context, name, value)
        for tick, frame in zip(range(len(frames)) if ticks is None else ticks, frames, strict=True):
            frame.pts, frame.time_base = tick, 1 / Fraction(rate)
            output.mux(stream.encode(frame))
        output.mux(stream.encode(None))
    return path


def encode(
    path: Path,
    *,
    codec: str = "libx264",
    frames: int = 10,
    size: tuple[int, int] = (WIDTH, HEIGHT),
    pix_fmt: str = "yuv420p",
    gop: int = 12,
    container_options: dict[str, str] | None = None,
    **settings: Any,
) -> Path:
    """Pictures with their numbers; for `settings` see clip()."""
    shown = [numbered_frame(number, pix_fmt, *size) for number in range(frames)]
    how = {"codec": codec, "pix_fmt": pix_fmt, "gop_size": gop, "muxing": container_options, **settings}
    return clip(path, shown, **how)


def encode_two_streams(path: Path) -> Path:
    """Pictures 0 to 9 at 96x64 in the first stream, 30 to 39 at 48x32 in the second."""
    with av.open(str(path), "w") as output:
        streams = [output.add_stream(codec, rate=25) for codec in ("ffv1", "libx264")]
        for stream, size in zip(streams, ((96, 64), (48, 32)), strict=True):
            stream.width, stream.height = size
            stream.pix_fmt = "yuv420p"
        for number in range(10):
            for stream, first in zip(streams, (0, 30), strict=True):
                frame = numbered_frame(first + number, "yuv420p", stream.width, stream.height)
                frame.pts, frame.time_base = number, Fraction(1, 25)
                output.mux(stream.encode(frame))
        for stream in streams:
            output.mux(stream.encode(None))
    return path


def same(picture: Picture, planes: Sequence[np.ndarray]) -> bool:
    return len(picture.planes) == len(planes) and all(map(np.array_equal, picture.planes, planes))


def all_same(pictures: Iterable[Picture], frames: Sequence[Sequence[np.ndarray]]) -> bool:
    return all(same(picture, planes) for picture, planes in zip(pictures, frames, strict=True))


@contextlib.contextmanager
def piped(folder: Path, data: bytes) -> Iterator[Path]:
    """A named pipe to which a thread writes these bytes, in pieces that do not respect frames."""
    path = folder / "pipe"
    if not path.exists():
        os.mkfifo(path)

    def write() -> None:
        with contextlib.suppress(BrokenPipeError), path.open("wb", buffering=0) as pipe:  # closed before all
            for start in range(0, len(data), 777):
                pipe.write(data[start : start + 777])

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    try:
        yield path
    finally:
        thread.join(20)


def pair(ref: Path, dis: Path, *, luma_only: bool = False, **options: Any) -> Pairing:
    """The pairing of two files."""
    readers = (open_video(path, luma_only=luma_only) for path in (ref, dis))
    return pair_videos(*readers, options=PairOptions(**options))


def paired(ref: Path, dis: Path, **options: Any) -> Pairing:
    """The pairing of two files after its last pair."""
    pairing = pair(ref, dis, **options)
    for _ in pairing:
        pass
    return pairing
