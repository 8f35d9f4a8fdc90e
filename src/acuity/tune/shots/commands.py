"""The commands of ffmpeg that carry out a plan, for people who encode elsewhere.

They need an `ffmpeg` with the same encoder; Acuity needs none for encode_shots(). The shots come out as in
the plan if that ffmpeg has the same build of the encoder.

Frames are counted from the beginning of the source, because times can be told in too many ways: containers
round them, begin anywhere, and are sought inexactly. So every command reads the source up to its shot's end.
"""

from __future__ import annotations

import os
import shlex
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import av

from acuity.errors import TuneError, to_give, to_omit
from acuity.tune.encoders.beside import beside, opened, text_codec
from acuity.tune.encoders.encode import Target, job_of
from acuity.tune.encoders.encoder import FORMATS
from acuity.tune.encoders.external import encoder_words, tag_filters
from acuity.tune.shots.one_stream import delay
from acuity.video.readers.avframes import av_name

if TYPE_CHECKING:
    from acuity.tune.clip import Clip
    from acuity.tune.encoders.encoding import Job
    from acuity.tune.shots.plan import PlannedShot, ShotPlan

SEGMENTS: Final = "segments"  # the folder of the shots' files
LIST: Final = f"{SEGMENTS}/concat.txt"
_DEFAULT_OUTPUT: Final = "per_shot_encode"
_MICROSECONDS: Final = 1_000_000  # in which lists of files say how long each lasts


def check_script(clip: Clip) -> None:
    """Refuse a source whose frames the commands couldn't give their times; raises TuneError."""
    if clip.info.variable_rate:
        raise TuneError(
            f"the frame rate of '{clip.path}' varies, and a script's frames are even: ",
            to_omit("format"),
            " and ",
            to_give("output"),
            ", which makes the file with their times",
        )


def segment_commands(plan: ShotPlan) -> list[list[str]]:
    """For each shot the words of the command that encodes it; none if the frame rate varies."""
    if plan.clip.info.variable_rate:
        return []
    return [_segment_command(plan, number, shot) for number, shot in enumerate(plan.shots)]


def concat_command(plan: ShotPlan) -> list[str]:
    """The words of the command that joins the shots, with all that the file can hold of the source."""
    clip = plan.clip
    if clip.info.variable_rate:
        return []
    output = plan.stitched.path if plan.stitched else f"{_DEFAULT_OUTPUT}{_suffix(plan)}"
    command = ["ffmpeg", "-y"]
    copied: list[str] = []
    texts: list[str | None] = []  # what each stream of subtitles is converted to
    if clip.info.kind == "container":
        with opened(clip) as source:
            format = FORMATS[os.path.splitext(output)[1].lower()]
            kept = beside(source, clip, format).kept
            texts = [text_codec(format, stream) for stream in kept if stream.type == "subtitle"]
            maps = [word for stream in kept for word in ("-map", f"1:{stream.index}")]
            zero = Fraction(source.start_time or 0, av.time_base)
        # Times are moved by what is said here alone: programs differ in where they think a source begins.
        start = float(_begins(clip) - zero)
        command += ["-copyts", "-itsoffset", f"{start:.6f}"]
        copied += ["-itsoffset", f"{float(-zero):.6f}", "-i", clip.path, "-map", "0:v"]
        copied += [*maps, "-map_metadata", "1", "-map_chapters", "1"]
        copied += [] if clip.seconds is None or clip.parts is None else ["-t", f"{start + clip.seconds:.6f}"]
    command += ["-f", "concat", "-safe", "0", "-i", LIST]
    # Shots that are short are decoded with less delay: all get the same, so that times rise at the joins.
    lead = delay(plan.settings.encoder.codec)
    times = f"setts=pts=PTS:dts=(N-{lead})/TB/({clip.rate})+STARTPTS"
    converted = [word for at, codec in enumerate(texts) if codec for word in (f"-c:s:{at}", codec)]
    return [*command, *copied, "-c", "copy", *converted, "-bsf:v", times, output]


def shell_script(plan: ShotPlan) -> str:
    """A script that encodes the shots and joins them; raises TuneError if the frame rate varies."""
    check_script(plan.clip)
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
        *(line for number, shot in enumerate(plan.shots) for line in _entry(plan, number, shot)),
        "END",
        shlex.join(concat_command(plan)),
    ]
    return "\n".join(lines) + "\n"


def _comment(text: str) -> str:
    """Text that stays within a comment's line."""
    return " ".join(text.split())


def _suffix(plan: ShotPlan) -> str:
    return plan.settings.encoder.containers[0]


def _name(plan: ShotPlan, number: int) -> str:
    return f"shot_{number:04d}{_suffix(plan)}"


def _entry(plan: ShotPlan, number: int, shot: PlannedShot) -> tuple[str, str]:
    """A shot in the list of files, with how long it lasts: rounded so that no error adds up."""
    start, end = (round(frame / plan.clip.rate * _MICROSECONDS) for frame in shot.part)
    return f"file '{_name(plan, number)}'", f"duration {(end - start) / _MICROSECONDS:.6f}"


def _begins(clip: Clip) -> Fraction:
    """When the first frame is shown, by the source's clock."""
    with clip.reader() as reader:
        reader.read()
        return reader.times.at(0)


def _segment_command(plan: ShotPlan, number: int, shot: PlannedShot) -> list[str]:
    job = job_of(plan.settings, shot.quality, Target.of(plan.clip, plan.settings))
    stream = "0:V:0" if plan.clip.stream is None else f"0:v:{plan.clip.stream}"
    return [
        *("ffmpeg", "-y", *_input(plan.clip), "-map", stream),
        *("-vf", ",".join(_filters(plan, shot, job)), *encoder_words(job)),
        f"{SEGMENTS}/{_name(plan, number)}",
    ]


def _filters(plan: ShotPlan, shot: PlannedShot, job: Job) -> list[str]:
    """The shot's frames, counted, as the encoder gets them."""
    found = ["trim=start_frame={}:end_frame={}".format(*shot.part), "setpts=PTS-STARTPTS"]
    if plan.settings.size is not None or plan.clip.info.rgb:
        matrix = ":out_color_matrix=bt709:out_range=tv" if plan.clip.info.rgb else ""
        found.append(f"scale={job.width}:{job.height}:flags=lanczos{matrix}")
    return [*found, f"format={job.pixel_format}", *tag_filters(job)]


def _input(clip: Clip) -> list[str]:
    """The source, whose frames are given even times from 0 on."""
    info, rate = clip.info, str(clip.rate)
    if info.kind == "raw":
        words = ["-f", "rawvideo", "-pixel_format", av_name(info.format)]
        words += ["-video_size", f"{info.width}x{info.height}", "-framerate", rate]
    elif info.kind == "images":
        words = ["-framerate", rate, *(() if "%" in clip.path else ("-pattern_type", "glob"))]
    else:
        words = ["-r", rate]
    return [*words, "-i", clip.path]
