"""ShotPlan: which quality each shot of a clip is encoded with, what that gives, and its documents."""

from __future__ import annotations

import os
import shlex
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, Final, Literal

import av
import numpy as np

from acuity.errors import TuneError, to_give, to_omit
from acuity.measure.pooling import pool
from acuity.report.tables import to_csv
from acuity.tune.clip import Clip, Part
from acuity.tune.encoders.beside import beside, opened, text_codec
from acuity.tune.encoders.encode import PictureForm, job_of
from acuity.tune.encoders.encoder import FORMATS, EncoderSettings
from acuity.tune.encoders.encoding import Job
from acuity.tune.encoders.external import encoder_words, tag_filters
from acuity.tune.material import covered
from acuity.tune.points.point import Point, PointScoring
from acuity.tune.search.target import Target
from acuity.video.readers.avframes import av_name

# Frames by which decoding is ahead of showing, at most: the levels of the B-frames' pyramid. Codecs that are
# not here hide frames in the packets of others, so that packets are in the order of showing.
_REORDERED: Final = {"h264": 2, "hevc": 2, "vvc": 6}
Division = Literal["each", "mean", "bitrate"]

# How each division of bits is named in documents.
PREDICATES: Final[dict[Division, str]] = {
    "each": "search: the largest value with which each shot meets the target",
    "mean": "equal slope: the fewest bits with which the mean of all frames meets the target",
    "bitrate": "equal slope: the highest mean of all frames that the bitrate allows",
}


@dataclass(frozen=True, slots=True)
class PlannedShot:
    """One shot, the point measured of it with the quality that is planned, and whether that is enough."""

    part: Part
    point: Point
    figure: float  # what the target is about, of this shot
    met: bool  # whether this shot alone meets the target

    @property
    def quality(self) -> float:
        return self.point.quality

    def document(self) -> dict[str, Any]:
        return {
            "start_frame": self.part.start,
            "end_frame": self.part.end,
            "crf": self.quality,
            "predicted_vmaf": round(self.point.pool("vmaf"), 6) if "vmaf" in self.point.scores else None,
            "bitrate_kbps": round(self.point.bitrate_kbps, 3),
            "bytes": self.point.bytes,
            "met": self.met,
        }


@dataclass(frozen=True, slots=True)
class Stitched:
    path: str
    bytes: int  # of the file
    video_bytes: int  # of the video's packets in it
    bitrate_kbps: float  # of the video
    figure: float
    frames: int
    keyframes: tuple[int, ...]  # frames that a player can seek to; every shot's first is among them
    notes: tuple[str, ...] = ()

    def document(self) -> dict[str, Any]:
        about = asdict(self)
        score = round(about.pop("figure"), 6)
        return {**about, "score": score, "bitrate_kbps": round(self.bitrate_kbps, 3)}


@dataclass(frozen=True, slots=True)
class ShotPlan:
    """The shots of a clip with a quality for each, without gaps."""

    clip: Clip
    settings: EncoderSettings
    scoring: PointScoring
    division: Division
    target: Target  # with a bitrate to keep, only its column and pool count
    limit_kbps: float | None
    shots: tuple[PlannedShot, ...]
    encodes: int  # made for the plan; points from the cache aren't counted
    points: int  # measured for the plan, those from the cache included
    met: bool
    notes: tuple[str, ...] = ()
    stitched: Stitched | None = None

    @property
    def frames(self) -> int:
        return sum(shot.point.frames for shot in self.shots)

    @property
    def bytes(self) -> int:
        return sum(shot.point.bytes for shot in self.shots)

    @property
    def bitrate_kbps(self) -> float:
        return float(self.bytes * 8 * self.clip.rate / self.frames / 1000)

    @property
    def predicted(self) -> float:
        """The target's figure of the whole clip: of all frames of all shots."""
        scores = [shot.point.scores[self.target.column] for shot in self.shots]
        return pool(np.concatenate(scores), self.target.pool)

    def document(self) -> dict[str, Any]:
        """The plan as plain values: the entries that vmaf-tune's users know, and then the others."""
        by_vmaf = self.target.column == "vmaf" and self.division != "bitrate"
        figure = {"column": self.target.column, "pool": self.target.pool}
        return {
            "encoder": self.settings.encoder.name,
            "framerate": float(self.clip.rate),
            "predicate": PREDICATES[self.division],
            "target_vmaf": self.target.value if by_vmaf else None,
            "shots": [shot.document() for shot in self.shots],
            "segment_commands": segment_commands(self),
            "concat_command": concat_command(self),
            "allocation": self.division,
            "target": None if self.division == "bitrate" else {"value": self.target.value, **figure},
            "bitrate_limit_kbps": self.limit_kbps,
            "met": self.met,
            "predicted": {
                "score": round(self.predicted, 6),
                **figure,
                "bitrate_kbps": round(self.bitrate_kbps, 3),
                "bytes": self.bytes,
                "frames": self.frames,
            },
            "measured": None if self.stitched is None else self.stitched.document(),
            "knob": self.settings.encoder.knob,
            "settings": {**self.settings.document(), "options": self._options()},
            "encoder_version": self.shots[0].point.encoder_version,
            "model": self.shots[0].point.model,
            "encodes": self.encodes,
            "points": self.points,
            "range": covered(self.clip, self.frames),
            "notes": list(self.notes),
        }

    def _options(self) -> list[list[str]]:
        """The options that all shots' encoders get, those that they always get included."""
        encoder = self.settings.encoder
        options = self.settings.encoder_options(self.shots[0].quality)
        apart = (encoder.knob, *encoder.also, encoder.preset_option)
        return [[name, value] for name, value in options.items() if name not in apart]

    def csv(self) -> str:
        rows = [{"shot": number, **shot.document()} for number, shot in enumerate(self.shots, 1)]
        return to_csv([*rows[0]], [[*row.values()] for row in rows])


def delay(codec: str) -> int:
    """Frames by which the first packet's time of decoding precedes that of showing."""
    return _REORDERED.get(codec, 0)


# ---- commands of ffmpeg ----------------------------------------------------------------------------


_SEGMENTS: Final = "segments"  # the folder of the shots' files
_LIST: Final = f"{_SEGMENTS}/concat.txt"
_DEFAULT_OUTPUT: Final = "per_shot_encode"
_MICROSECONDS: Final = 1_000_000  # in which lists of files say how long each lasts


def check_script(clip: Clip) -> None:
    """Refuse a source whose frames the commands couldn't give their times; raises TuneError."""
    if clip.info.variable_rate:
        why = f"the frame rate of '{clip.path}' varies, and a script's frames are even: "
        instead = to_give("output"), ", which makes the file with their times"
        raise TuneError(why, to_omit("format"), " and ", *instead)


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
    output = f"{_DEFAULT_OUTPUT}{plan.settings.encoder.containers[0]}"
    output = plan.stitched.path if plan.stitched else output
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
    command += ["-f", "concat", "-safe", "0", "-i", _LIST]
    # Shots that are short are decoded with less delay: all get the same, so that times rise at the joins.
    lead = delay(plan.settings.encoder.codec)
    times = f"setts=pts=PTS:dts=(N-{lead})/TB/({clip.rate})+STARTPTS"
    converted = [word for at, codec in enumerate(texts) if codec for word in (f"-c:s:{at}", codec)]
    return [*command, *copied, "-c", "copy", *converted, "-bsf:v", times, output]


def shell_script(plan: ShotPlan) -> str:
    check_script(plan.clip)
    # Words that stay within a comment's line.
    path, version = (" ".join(text.split()) for text in (plan.clip.path, plan.shots[0].point.encoder_version))
    lines = [
        "#!/bin/sh",
        f"# {len(plan.shots)} shots of {path}, each with a {plan.settings.encoder.knob}.",
        f"# Needs an ffmpeg with {plan.settings.encoder.name} on PATH.",
        f"# Planned with {version}: predicted {plan.target.column} {plan.predicted:.3f} "
        f"at {plan.bitrate_kbps:.1f} kbit/s.",
        "set -e",
        f"mkdir -p {_SEGMENTS}",
        *(shlex.join(command) for command in segment_commands(plan)),
        f"cat > {_LIST} <<'END'",
        *(line for number, shot in enumerate(plan.shots) for line in _entry(plan, number, shot)),
        "END",
        shlex.join(concat_command(plan)),
    ]
    return "\n".join(lines) + "\n"


def _name(plan: ShotPlan, number: int) -> str:
    return f"shot_{number:04d}{plan.settings.encoder.containers[0]}"


def _entry(plan: ShotPlan, number: int, shot: PlannedShot) -> tuple[str, str]:
    """A shot in the list of files, with how long it lasts: rounded so that no error adds up."""
    start, end = (round(frame / plan.clip.rate * _MICROSECONDS) for frame in shot.part)
    return f"file '{_name(plan, number)}'", f"duration {(end - start) / _MICROSECONDS:.6f}"


def _begins(clip: Clip) -> Fraction:
    with clip.reader() as reader:
        reader.read()
        return reader.times.at(0)


def _segment_command(plan: ShotPlan, number: int, shot: PlannedShot) -> list[str]:
    job = job_of(plan.settings, shot.quality, PictureForm.of(plan.clip, plan.settings))
    stream = "0:V:0" if plan.clip.stream is None else f"0:v:{plan.clip.stream}"
    return [
        *("ffmpeg", "-y", *_input(plan.clip), "-map", stream),
        *("-vf", ",".join(_filters(plan, shot, job)), *encoder_words(job)),
        f"{_SEGMENTS}/{_name(plan, number)}",
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
