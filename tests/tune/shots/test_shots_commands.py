"""The script of a plan, run by a real ffmpeg: it makes the file that encode_shots() makes, frame by frame."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import av
import numpy as np
import pytest
from shot_pictures import pan, still, texture
from shot_plans import plan_of, settings_of

from acuity.tune.clip import open_clip
from acuity.tune.shots.plan import concat_command, shell_script
from acuity.tune.shots.stitch import encode_shots

needs_ffmpeg = pytest.mark.skipif(
    shutil.which("ffmpeg") is None, reason="ffmpeg, to run the script with, is not installed here"
)

# Shots of one and two frames among them, in which encoders delay less.
CUTS, QUALITIES = (5, 10, 11, 13), (12, 20, 14, 16, 18)
RATE = Fraction(24)


def write_source(path: Path, *, start: float = 0.0, sound: bool = False, words: bool = False) -> None:
    """Three unlike shots at 24 frames a second, of which the first frame is shown at `start`."""
    planes = still(texture(1), 5) + pan(40, 8, 7) + pan(60, 7, 5)
    with av.open(str(path), "w") as file:
        video: Any = file.add_stream("libx264", rate=RATE, options={"preset": "ultrafast", "qp": "4"})
        height, width = planes[0].shape
        video.width, video.height, video.pix_fmt = width, height, "yuv420p"
        video.codec_context.time_base = Fraction(1, 12000)
        speech: Any = file.add_stream("aac", rate=8000) if sound else None
        if words:
            file.add_mux_stream("subrip")
        for number, plane in enumerate(planes):
            luma = np.clip(np.rint(plane), 16, 235).astype(np.uint8)
            colour = np.full((height // 2, width), 110 + number, np.uint8)
            frame = av.VideoFrame.from_ndarray(np.vstack([luma, colour]), format="yuv420p")
            frame.pts, frame.time_base = round(start * 12000) + 500 * number, Fraction(1, 12000)
            file.mux(video.encode(frame))
        file.mux(video.encode(None))
        if speech is not None:
            for _ in range(8):
                noise = np.random.default_rng(3).random((1, 1024), np.float32) / 9
                wave = av.AudioFrame.from_ndarray(noise, format="fltp", layout="mono")
                wave.sample_rate = 8000
                file.mux(speech.encode(wave))
            file.mux(speech.encode(None))


class Seen(NamedTuple):
    """What a player would show and play of a file."""

    times: list[float]  # of frames
    pictures: list[np.ndarray]
    sound: list[float]  # times of packets


def seen(path: Path) -> Seen:
    with av.open(str(path)) as file:
        frames = list(file.decode(video=0))
    sound = []
    with av.open(str(path)) as file:
        for stream in file.streams.audio:
            sound += [float(p.pts * p.time_base) for p in file.demux(stream) if p.pts is not None and p.size]
    return Seen(
        [float(frame.time or 0) for frame in frames],
        [frame.to_ndarray()[: frame.height].astype(float) for frame in frames],
        sound,
    )


@needs_ffmpeg
@pytest.mark.parametrize(
    ("name", "start", "sound"),
    [
        ("even.mp4", 0.0, False),
        ("milliseconds.mkv", 0.0, False),
        ("sound.mkv", 0.021, True),
        ("late.mkv", 0.521, True),
        ("transport.ts", 0.521, True),
    ],
)
def test_the_script_makes_the_file_that_is_promised(
    name: str, start: float, sound: bool, tmp_path: Path
) -> None:
    source = tmp_path / name
    write_source(source, start=start, sound=sound)
    clip = open_clip(source)
    clip = replace(clip, info=replace(clip.info, frames=20))  # what a container claims counts its sound
    plan = plan_of(clip, settings_of("libx264"), QUALITIES, CUTS)
    encode_shots(plan, tmp_path / "ours.mp4")
    (tmp_path / "script.sh").write_text(shell_script(plan))
    run = ["sh", "script.sh"]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    ours, theirs = seen(tmp_path / "ours.mp4"), seen(tmp_path / "per_shot_encode.mp4")
    assert len(ours.times) == 20
    begin = theirs.times[0] - ours.times[0]
    assert abs(begin) < 0.0011, "MP4 says the beginning in milliseconds"
    assert theirs.times == pytest.approx([time + begin for time in ours.times], abs=1e-5)
    assert theirs.sound == pytest.approx(ours.sound, abs=1e-3)
    assert bool(ours.sound) == sound
    for number, picture in enumerate(theirs.pictures):
        errors = [float(np.mean((picture - other) ** 2)) for other in ours.pictures]
        near = errors[number]
        assert near <= min(errors) + 1e-9 or near < 4, f"frame {number} is another one: {errors}"


def test_text_subtitles_are_converted_for_an_mp4(tmp_path: Path) -> None:
    write_source(tmp_path / "words.mkv", words=True)
    plan = plan_of(open_clip(tmp_path / "words.mkv"), settings_of("libx264"), QUALITIES, CUTS)
    command = concat_command(plan)
    assert command[-1] == "per_shot_encode.mp4"
    assert command[command.index("-c:s:0") + 1] == "mov_text"
