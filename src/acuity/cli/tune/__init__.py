"""Find the right encode: the quality setting that reaches a score, the encoder that needs the fewest bits,
a bitrate ladder, or a quality for each shot.

    vmaf-tune search film.mkv --target-vmaf 93 --encoder libsvtav1
    vmaf-tune compare film.mkv --target-vmafs 90,93,95
    vmaf-tune ladder film.mkv --resolutions 1920x1080,1280x720,640x360 --target-vmafs 95,90,80
    vmaf-tune tune-per-shot film.mkv --target-vmaf 93 --output tuned.mkv

libx264, libx265, libsvtav1 and libvpx-vp9 are built in; set ACUITY_FFMPEG to an ffmpeg program for others.
Every encode is measured while it is made, and remembered: asking again, or after Ctrl-C, starts from what is
known. 'acuity tune' is the same command."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final

from acuity.cli.exits import guarded, spare_collector

COMMANDS: Final[dict[str, tuple[str, str]]] = {
    "search": ("acuity.cli.tune.search", "find the quality setting of an encoder that reaches a score"),
    "compare": ("acuity.cli.tune.compare", "rank encoders by the bits that they need for a score"),
    "ladder": ("acuity.cli.tune.ladder", "build a bitrate ladder, as JSON, HLS or DASH"),
    "tune-per-shot": ("acuity.cli.tune.per_shot", "choose the quality of each shot"),
    "encoders": ("acuity.cli.tune.encoders", "list the encoders of this machine"),
}


def main(argv: Sequence[str] | None = None) -> int:
    from acuity.cli.main import run_commands

    if argv is None:
        spare_collector()
    arguments = list(sys.argv[1:] if argv is None else argv)
    return guarded("vmaf-tune", lambda: run_commands("vmaf-tune", __doc__, COMMANDS, arguments))
