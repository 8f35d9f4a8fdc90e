"""Plays an `ffmpeg` program on top of PyAV, for tests of encoders that only such a program brings.

fake_ffmpeg.py -version | -encoders | ... -i pipe:0 ... -c:v NAME ... -f nut pipe:1
"""

from __future__ import annotations

import itertools
import sys
import time
from fractions import Fraction

import av
import numpy as np

# What it lists, the encoder of PyAV that does the work, and the option that gets the quality.
WORKS = {"hevc_nvenc": ("libx265", "cq"), "h264_videotoolbox": ("libx264", "q:v")}
BROKEN = {"av1_nvenc": "[av1_nvenc @ 0x55d0] Cannot load libcuda.so.1"}
STUCK = "h264_qsv"  # never makes a packet, except of a single frame
DYING = "h264_amf"  # fails after a few frames


def main(arguments: list[str]) -> int:
    if "-version" in arguments:
        print("ffmpeg version 7.7-fake Copyright (c) nobody")
        return 0
    if "-encoders" in arguments:
        for name in (*WORKS, *BROKEN, STUCK, DYING):
            print(f" V....D {name}           An encoder (codec {name.split('_')[0]})")
        return 0
    values = dict(itertools.pairwise(arguments))
    name = values["-c:v"]
    if name in BROKEN:
        print(BROKEN[name], "Conversion failed!", sep="\n", file=sys.stderr)
        return 1
    return encode(name, values)


def encode(name: str, values: dict[str, str]) -> int:
    width, height = map(int, values["-video_size"].split("x"))
    inner, knob = WORKS.get(name, ("libx264", ""))
    quality = int(values.get(f"-{knob}", 30))
    crf = round(51 * (100 - quality) / 100) if knob == "q:v" else quality
    options = {"crf": str(crf), "preset": "ultrafast", "x265-params": "log-level=none"}
    if inner == "libx264":
        del options["x265-params"]
    count = width * height * 3 // 2
    with av.open(sys.stdout.buffer, "w", format="nut") as out:
        video = out.add_stream(inner, rate=Fraction(values["-framerate"]), options=options)
        video.width, video.height, video.pix_fmt = width, height, "yuv420p"
        index = 0
        while len(data := sys.stdin.buffer.read(count)) == count:
            if name == STUCK and index:
                time.sleep(600)
            if name == DYING and index == 5:
                print("[h264_amf @ 0x1] the device was lost", file=sys.stderr)
                sys.stderr.flush()
                return 187
            rows = np.frombuffer(data, np.uint8).reshape(height * 3 // 2, width)
            frame = av.VideoFrame.from_ndarray(rows, "yuv420p")
            frame.pts, frame.time_base = index, 1 / Fraction(values["-framerate"])
            out.mux(video.encode(frame))
            index += 1
        out.mux(video.encode(None))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
