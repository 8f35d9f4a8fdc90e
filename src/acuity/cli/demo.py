"""Make a short moving clip, encode it badly with x264, and score it.

The clips are made in a temporary folder that is removed at the end. No ffmpeg is needed, because
PyAV carries the encoder. The pair is scored as 'acuity score' does it."""

from __future__ import annotations

import argparse
import contextlib
import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

WIDTH: Final = 640
HEIGHT: Final = 360
FRAMES: Final = 60
RATE: Final = 30


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--crf", type=int, default=30, metavar="N", help="x264's CRF (default: 30)")
    parser.add_argument("--keep", metavar="FOLDER", help="leave the two clips in this folder")


def run(arguments: argparse.Namespace) -> int:
    from acuity.cli.score import score_and_report

    with tempfile.TemporaryDirectory(prefix="acuity-demo-") as scratch:
        folder = Path(arguments.keep) if arguments.keep else Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        original, encoded = folder / "original.mkv", folder / "encoded.mp4"
        print(f"making {FRAMES} frames of {WIDTH}x{HEIGHT}, encoding them with x264 at CRF {arguments.crf}")
        bad = {"crf": str(arguments.crf), "preset": "veryfast"}
        encode({original: ("ffv1", {}), encoded: ("libx264", bad)})
        before, after = original.stat().st_size, encoded.stat().st_size
        print(f"  {original.name}  {before / 1024:8.0f} KiB  lossless")
        print(
            f"  {encoded.name}   {after / 1024:8.0f} KiB  {after * 8 * RATE / FRAMES / 1000:.0f} kbit/s\n",
            flush=True,
        )
        return score_and_report(str(original), str(encoded))


def draw(index: int) -> NDArray[np.uint8]:
    """One frame: drifting plasma with fine texture, and a disc that crosses it ever faster."""
    t = index / FRAMES
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH].astype(np.float32) / np.float32(HEIGHT)
    waves = np.sin(9 * x + 5 * t) + np.sin(7 * y - 4 * t) + np.sin(8 * np.hypot(x - 0.9, y - 0.5) - 9 * t)
    texture = np.sin(110 * (x + 0.3 * t)) * np.sin(95 * (y - 0.2 * t))
    grain = np.random.default_rng(index).normal(0, 2.0, y.shape)
    luma = 118 + 26 * waves + 14 * texture + grain
    disc = np.hypot(x - (0.2 + 1.4 * t * t), y - (0.5 + 0.3 * np.sin(6 * t))) < 0.12
    rgb = np.stack([luma + 20 * np.sin(waves + 2 * t), luma, luma + 20 * np.cos(waves)], axis=-1)
    rgb[disc] = 235 - 60 * (np.hypot(x, y)[disc][:, None] % 0.1) * np.array([2, 6, 12])
    frame: NDArray[np.uint8] = np.clip(rgb, 0, 255).astype(np.uint8)
    return frame


def encode(outputs: dict[Path, tuple[str, dict[str, str]]]) -> None:
    """Write the clip once for each encoder; all of them get the same 4:2:0 samples."""
    import av

    try:
        with contextlib.ExitStack() as stack:
            writers = []
            for path, (codec, options) in outputs.items():
                out = stack.enter_context(av.open(str(path), "w"))
                stream = out.add_stream(codec, rate=Fraction(RATE), options=options)
                assert isinstance(stream, av.VideoStream)
                stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
                writers.append((out, stream))
            for index in (*range(FRAMES), None):
                frame = None
                if index is not None:
                    frame = av.VideoFrame.from_ndarray(draw(index), format="rgb24").reformat(format="yuv420p")
                for out, stream in writers:
                    out.mux(stream.encode(frame))
    except BaseException:
        for path in outputs:
            path.unlink(missing_ok=True)  # it is incomplete
        raise
