"""Image files with numbered pictures, as the sequences that users have."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import av

from video_clips import HEIGHT, WIDTH, numbered_frame

# Extension -> encoder and pixel format.
ENCODERS = {
    ".png": ("png", "rgb24"),
    ".jpg": ("mjpeg", "yuvj420p"),
    ".tif": ("tiff", "rgb24"),
    ".bmp": ("bmp", "bgr24"),
    ".webp": ("libwebp", "yuv420p"),
    ".exr": ("exr", "gbrpf32le"),
    ".dpx": ("dpx", "gbrp10le"),
}


def image(path: Path, number: int, *, size: tuple[int, int] = (WIDTH, HEIGHT), pix_fmt: str = "") -> Path:
    """An image of the picture `number`, in the format of its extension."""
    codec, usual = ENCODERS[path.suffix]
    context = av.CodecContext.create(codec, "w")
    assert isinstance(context, av.VideoCodecContext)
    context.width, context.height = size
    context.pix_fmt = pix_fmt or usual
    context.time_base = Fraction(1, 25)
    frame = numbered_frame(number, "yuv420p", *size).reformat(format=context.pix_fmt)
    path.write_bytes(b"".join(bytes(packet) for packet in (*context.encode(frame), *context.encode(None))))
    return path


def images(folder: Path, pattern: str = "shot.%04d.png", *, first: int = 1, count: int = 6) -> Path:
    """A folder with `count` images; the picture numbers begin with 0."""
    folder.mkdir(exist_ok=True)
    for number in range(count):
        image(folder / (pattern % (first + number)), number)
    return folder
