"""The file of a plan: all frames, a keyframe at each shot, the predicted score, one configuration."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import av
import numpy as np
import pytest
from shot_plans import plan_of, settings_of, write_shots

from acuity import score
from acuity.errors import EncoderError, OutputError, TuneError
from acuity.tune.clip import Clip, open_clip
from acuity.tune.encoders import find_encoder
from acuity.tune.encoders.encode import PictureForm, open_encoding
from acuity.tune.encoders.encoder import EncoderSettings
from acuity.tune.shots.one_stream import (
    check_one_configuration,
    essential,
    for_stitching,
    stitchable_range,
)
from acuity.tune.shots.stitch import encode_shots
from tune_clips import write_video

# Shots of one and of two frames are among them: encoders delay less in those, and x265 gives no time at all.
CUTS = (13, 14, 16, 28)
STARTS = [0, *CUTS]
CASES = [
    ("libx264", ".mp4", (24, 30, 38, 20, 33)),
    ("libx265", ".mkv", (24, 30, 38, 20, 33)),
    ("libx265", ".mp4", (24, 30, 38, 20, 33)),
    ("libsvtav1", ".mp4", (30, 40, 50, 25, 45)),
    ("libvpx-vp9", ".webm", (30, 40, 50, 25, 45)),
]


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Clip:
    return write_shots(tmp_path_factory.mktemp("clips") / "shots.y4m")


@pytest.mark.parametrize(("name", "suffix", "qualities"), CASES)
def test_the_file_is_what_was_planned(
    name: str, suffix: str, qualities: tuple[int, ...], clip: Clip, tmp_path: Path
) -> None:
    out = tmp_path / f"out{suffix}"
    plan = encode_shots(plan_of(clip, settings_of(name), qualities, CUTS), out)
    assert plan.stitched is not None
    assert plan.stitched.video_bytes == plan.bytes, "the packets are those of the probes"
    assert plan.stitched.bytes == out.stat().st_size > plan.bytes, "the file has a container, too"
    assert plan.stitched.figure == pytest.approx(plan.predicted, abs=1e-9)
    assert score(clip.path, out).score == pytest.approx(plan.predicted, abs=1e-9), "of the file itself"
    assert set(STARTS) <= set(plan.stitched.keyframes)
    assert plan.stitched.notes == ()
    with av.open(str(out)) as file:
        stream = file.streams.video[0]
        packets = [packet for packet in file.demux(stream) if packet.size]
        base = packets[0].time_base * 24
        assert sorted(round(packet.pts * base) for packet in packets) == list(range(42))
        if suffix != ".mkv":  # Matroska has no times of decoding
            assert all(one.dts < other.dts <= other.pts for one, other in pairwise(packets))
        assert set(STARTS) <= {round(packet.pts * base) for packet in packets if packet.is_keyframe}
    assert list(tmp_path.iterdir()) == [out]


def test_what_cannot_be_one_stream_is_refused(clip: Clip, tmp_path: Path) -> None:
    plan = plan_of(clip, settings_of("libx264"), (24, 30), (14,))
    unlike = replace(plan, settings=settings_of("libx264"))  # without what makes it one stream
    with pytest.raises(TuneError, match="can't be in one stream"):
        encode_shots(unlike, tmp_path / "out.mp4")
    with pytest.raises((OutputError, TuneError), match="webm"):
        encode_shots(plan, tmp_path / "out.webm")
    with pytest.raises(OutputError):
        encode_shots(plan, tmp_path / "missing" / "out.mp4")
    assert list(tmp_path.iterdir()) == []


def test_uneven_times_are_kept_across_shots(tmp_path: Path) -> None:
    source, out = tmp_path / "source.mkv", tmp_path / "out.mkv"
    stamps = np.cumsum([0] + [33, 50, 33, 84] * 6).tolist()
    write_video(source, size=(64, 48), rate=20, stamps=stamps, options={"preset": "ultrafast", "bf": "0"})
    clip = open_clip(source)
    assert clip.info.variable_rate
    plan = plan_of(replace(clip, info=replace(clip.info, frames=25)), settings_of("libx264"), (24, 34), (12,))
    encode_shots(plan, out)
    with av.open(str(out)) as file:
        packets = [packet for packet in file.demux(file.streams.video[0]) if packet.size]
        assert sorted(round(packet.pts * packet.time_base * 1000) for packet in packets) == stamps


def configurations(clip: Clip, settings: EncoderSettings, *qualities: int) -> dict[int, bytes]:
    found = {}
    for quality in qualities:
        encoding = open_encoding(settings, quality, PictureForm.of(clip, settings))
        found[quality] = encoding.extradata
        encoding.close()
        encoding.dispose()
    return found


@pytest.mark.parametrize("name", ["libx264", "libx265", "libsvtav1", "libvpx-vp9"])
def test_the_configuration_is_the_same_at_every_quality(name: str, clip: Clip) -> None:
    settings = for_stitching(settings_of(name))
    best, worst = stitchable_range(settings.encoder, None)
    check_one_configuration(settings, configurations(clip, settings, best, 28, worst))


def test_lossless_is_left_out() -> None:
    assert stitchable_range(find_encoder("libx264"), None) == (1, 51)
    assert stitchable_range(find_encoder("libx264"), (0, 0)) == (1, 1)
    assert stitchable_range(find_encoder("libx264"), (30, 20)) == (20, 30)
    assert stitchable_range(find_encoder("libx265"), None) == (0, 51)
    with pytest.raises(EncoderError):
        stitchable_range(find_encoder("libx265"), (20, 99))


def test_remarks_are_no_part_of_a_configuration() -> None:
    sets = b"\0\0\0\1\x67abc\0\0\0\1\x68de"
    assert essential("h264", sets + b"\0\0\1\x06hello") == essential("h264", sets)
    assert essential("h264", sets + b"\0\0\1\x68xy") != essential("h264", sets)
    assert essential("av1", b"\x0a\x0b") == b"\x0a\x0b"
