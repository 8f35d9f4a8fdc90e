"""The commands of ffmpeg that carry out a plan, for people who encode elsewhere.

They need an `ffmpeg` with the same encoder; Acuity needs none for encode_shots(). The shots come out as in
the plan if that ffmpeg has the same build of the encoder. Cuts are exact for video of an even frame rate
that begins at 0.
"""

from __future__ import annotations

import shlex
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from acuity.video.readers.avframes import av_name

if TYPE_CHECKING:
    from acuity.tune.clip import Part
    from acuity.tune.shots.plan import PlannedShot, ShotPlan

SEGMENTS: Final = "segments"  # the folder of the shots' files
LIST: Final = f"{SEGMENTS}/concat.txt"
DEFAULT_OUTPUT: Final = "per_shot_encode.mp4"


def segment_commands(plan: ShotPlan) -> list[list[str]]:
    """For each shot the words of the command that encodes it."""
    return [_segment_command(plan, number, shot) for number, shot in enumerate(plan.shots)]


def concat_command(plan: ShotPlan) -> list[str]:
    """The words of the command that joins the shots, with the source's audio and subtitles."""
    output = plan.stitched.path if plan.stitched else DEFAULT_OUTPUT
    command = ["ffmpeg", "-y", "-f", "concat", "-safe", "0", "-i", LIST]
    if plan.clip.info.kind == "container":
        command += ["-i", plan.clip.path, "-map", "0:v", "-map", "1:a?", "-map", "1:s?"]
    return [*command, "-c", "copy", output]


def shell_script(plan: ShotPlan) -> str:
    """A script that encodes the shots and joins them."""
    names = "\n".join(f"file '{_name(number)}'" for number in range(len(plan.shots)))
    lines = [
        "#!/bin/sh",
        f"# {len(plan.shots)} shots of {_comment(plan.clip.path)}, each with a {plan.settings.encoder.knob}.",
        f"# Needs an ffmpeg with {plan.settings.encoder.name} on PATH.",
        f"# Planned with {_comment(plan.shots[0].point.encoder_version)}: predicted {plan.target.column} "
        f"{plan.predicted:.3f} at {plan.bitrate_kbps:.1f} kbit/s.",
        "set -e",
        f"mkdir -p {SEGMENTS}",
        *(shlex.join(command) for command in segment_commands(plan)),
        f"cat > {LIST} <<'END'",
        names,
        "END",
        shlex.join(concat_command(plan)),
    ]
    return "\n".join(lines) + "\n"


def _comment(text: str) -> str:
    """Text that stays within a comment's line."""
    return " ".join(text.split())


def _name(number: int) -> str:
    return f"shot_{number:04d}.mp4"


def _segment_command(plan: ShotPlan, number: int, shot: PlannedShot) -> list[str]:
    settings = plan.settings
    command = ["ffmpeg", "-y", *_input(plan, shot.part), "-frames:v", str(shot.part.end - shot.part.start)]
    command += ["-map", f"0:v:{plan.clip.stream or 0}", "-an", "-sn"]
    if settings.size is not None:
        command += ["-vf", "scale={}:{}:flags=lanczos".format(*settings.size)]
    if settings.pixel_format is not None:
        command += ["-pix_fmt", settings.pixel_format]
    command += ["-c:v", settings.encoder.name]
    for name, value in settings.encoder_options(shot.quality).items():
        command += [f"-{name}:v" if name == "b" else f"-{name}", value]
    if settings.thread_count:
        command += ["-threads", str(settings.thread_count)]
    return [*command, f"{SEGMENTS}/{_name(number)}"]


def _input(plan: ShotPlan, part: Part) -> list[str]:
    """The source from the shot's first frame on: half a frame early, so that rounding can't skip it."""
    clip, info = plan.clip, plan.clip.info
    rate = f"{clip.rate.numerator}/{clip.rate.denominator}"
    words = []
    if info.kind == "raw":
        words += ["-f", "rawvideo", "-pixel_format", av_name(info.format)]
        words += ["-video_size", f"{info.width}x{info.height}", "-framerate", rate]
    elif info.kind == "images":
        words += ["-framerate", rate]
        if "%" not in clip.path:
            words += ["-pattern_type", "glob"]
    if part.start:
        words += ["-ss", f"{float((part.start - Fraction(1, 2)) / clip.rate):.6f}"]
    return [*words, "-i", clip.path]
