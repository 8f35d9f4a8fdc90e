"""Pairs of real files: the right frames together, notes for people, nothing left behind."""

from __future__ import annotations

import json
import os
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from acuity.errors import InputError, NoFramesError, PairingError
from acuity.video.pairs.clock import PairTimes
from acuity.video.pairs.pairing import Pairing, pair_videos
from acuity.video.picture import PixelFormat
from acuity.video.readers.open import open_video
from misaligned_clips import encode_luma, frames_of
from video_clips import encode, gray_y4m, number_of, numbered_luma, pair, paired, piped

pytestmark = pytest.mark.usefixtures("no_threads_left")


def numbers(pairing: Pairing) -> list[tuple[int, int]]:
    return [(number_of(ref), number_of(dis)) for ref, dis in pairing]


def codes(pairing: Pairing) -> set[str]:
    return {note.code for note in pairing.notes}


def numbered_y4m(path: Path, count: int) -> Path:
    return gray_y4m(path, [numbered_luma(n) for n in range(count)])


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lossless source and encodes of it."""
    folder = tmp_path_factory.mktemp("clips")
    encode(folder / "src.mkv", codec="ffv1", frames=30)
    encode(folder / "enc.mp4", frames=30, options={"crf": "30"})
    encode(folder / "small.mp4", frames=30, size=(72, 48))
    encode(folder / "fast.mp4", frames=60, rate=50)
    numbered_y4m(folder / "src.y4m", 30)
    return folder


def test_frames_stay_together(clips: Path) -> None:
    with pair(clips / "src.mkv", clips / "enc.mp4") as pairing:
        assert (pairing.width, pairing.height, pairing.format) == (96, 64, PixelFormat("420", 8))
        assert (pairing.length, pairing.length_exact, pairing.rate) == (30, False, 25)
        assert numbers(pairing) == [(n, n) for n in range(30)]
        assert pairing.notes == []
        with pytest.raises(InputError, match="only once"):
            next(iter(pairing))


def test_y4m_against_a_container(clips: Path) -> None:
    assert numbers(pair(clips / "src.y4m", clips / "enc.mp4")) == [(n, n) for n in range(30)]


def test_skips_and_limits(clips: Path) -> None:
    skipped = pair(clips / "src.mkv", clips / "enc.mp4", skip_ref=7, skip_dis=7, frames=5)
    assert skipped.length == 5
    assert numbers(skipped) == [(n, n) for n in range(7, 12)]
    assert [note.code for note in skipped.notes] == ["skipped", "frame-limit"]
    apart = pair(clips / "src.y4m", clips / "src.y4m", skip_ref=20, skip_dis=3, align="off")
    assert apart.length == 10
    assert numbers(apart) == [(20 + n, 3 + n) for n in range(10)]
    assert "frame-count" in codes(apart)


def test_rates_that_differ(clips: Path) -> None:
    # The fast one has twice the content, so its frames are others.
    with pytest.raises(PairingError, match="rate='match'"):
        pair(clips / "src.mkv", clips / "fast.mp4")
    with pair(clips / "src.mkv", clips / "fast.mp4", rate="match", align="off") as pairing:
        assert pairing.length == 30
        assert numbers(pairing) == [(n, 2 * n) for n in range(30)]
    with pair(clips / "fast.mp4", clips / "src.mkv", rate="match", align="off") as pairing:
        assert pairing.rate == 25
        assert numbers(pairing) == [(2 * n, n) for n in range(30)]
    with pair(clips / "src.mkv", clips / "fast.mp4", rate="by-index", align="off") as pairing:
        assert numbers(pairing) == [(n, n) for n in range(30)]


@pytest.mark.parametrize("rate", [30, 24])
def test_other_rates_are_followed_where_the_advice_is_taken(tmp_path: Path, rate: int) -> None:
    frames = frames_of("fast")
    ref = encode_luma(tmp_path / "ref.mkv", frames, codec="ffv1")
    shown = [frames[n * 25 // rate] for n in range(len(frames) * rate // 25)]
    dis = encode_luma(tmp_path / "dis.mp4", shown, rate=rate)
    with pytest.raises(PairingError, match="frames a second: pass align='auto' to find out"):
        pair(ref, dis)
    with pair(ref, dis, align="auto") as pairing:
        errors = [float(np.abs(one.luma - 1.0 * other.luma).mean()) for one, other in pairing]
    assert "rate" in codes(pairing)
    assert len(errors) == min(len(frames), len(shown))
    assert max(errors) < 2 * np.median(errors)


def test_variable_rate_is_paired_by_time(tmp_path: Path, clips: Path) -> None:
    ticks = [0, 1, 2, 5, 6, 9, 10, 11, 15, 16]
    ref = encode(tmp_path / "ref.mkv", codec="ffv1", ticks=ticks)
    dis = encode(tmp_path / "dis.mp4", ticks=ticks)
    pairing = pair(ref, dis)
    assert pairing.description["pair_by"] == "time"
    assert numbers(pairing) == [(n, n) for n in range(10)]
    with pytest.raises(PairingError, match="vfr='by-index'"):
        numbers(pair(clips / "src.mkv", dis))
    assert len(numbers(pair(clips / "src.mkv", dis, vfr="by-index"))) == 10
    with pytest.raises(PairingError, match="no times to pair by"):
        pair(clips / "src.y4m", dis)


def test_a_frame_missing_on_the_way_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("acuity.video.readers.container._PROBE_PACKETS", 20)
    ref = encode(tmp_path / "ref.mkv", codec="ffv1", frames=60)
    dis = encode(tmp_path / "dis.mkv", frames=59, ticks=[*range(45), *range(46, 60)])
    pairing = pair(ref, dis)
    said = r"frame 45 is shown at 1\.800 s .* 1\.840 s .*align='auto'.*, if .*by-index"
    with pytest.raises(PairingError, match=said):
        numbers(pairing)
    assert "time-gap" in codes(pairing)
    assert len(numbers(pair(ref, dis, rate="by-index"))) == 59


def test_a_message_about_times_tells_them_apart(tmp_path: Path) -> None:
    """The videos start apart, and are at the same time again where their steps differ."""
    ticks = [2, 4, 7, 8, 11, 12, 14, 17, 18]
    ref = encode(tmp_path / "ref.mkv", codec="ffv1", frames=10, ticks=[0, *ticks])
    dis = encode(tmp_path / "dis.mkv", frames=10, ticks=[1, *ticks])
    said = r"frame 1 comes 0\.080 s after the one before it in .*ref.mkv' but 0\.040 s after it in .*dis.mkv'"
    with pytest.raises(PairingError, match=said):
        numbers(pair(ref, dis))


def test_avi_with_b_frames_is_paired_by_index(tmp_path: Path, clips: Path) -> None:
    """AVI has the times of decoding only, which are no times of frames that are shown in another order."""
    options = {"x264-params": "bframes=3:b-adapt=0:scenecut=0", "crf": "20"}  # B-frames, whatever the content
    dis = encode(tmp_path / "b.avi", frames=30, options=options)
    pairing = pair(clips / "src.mkv", dis)
    assert numbers(pairing) == [(n, n) for n in range(30)]
    assert "time-gap" not in codes(pairing)
    assert numbers(pair(clips / "src.mkv", dis, skip_ref=15, skip_dis=15)) == [(n, n) for n in range(15, 30)]


def test_one_video_ends_first(tmp_path: Path, clips: Path) -> None:
    short = numbered_y4m(tmp_path / "short.y4m", 12)
    with pair(clips / "src.y4m", short) as pairing:
        assert "frame-count" in codes(pairing)  # known before the first frame
        assert (pairing.length, pairing.length_exact) == (12, True)
        assert len(numbers(pairing)) == 12
        assert [note.text for note in pairing.notes if note.code == "frame-count"] == [
            f"'{short}' ended before '{clips / 'src.y4m'}': the first 12 pairs are scored; if a frame is "
            "missing on the way, those after it don't match"
        ]
    cut = encode(tmp_path / "cut.mkv", frames=12)
    pairing = pair(cut, clips / "src.y4m")
    assert len(numbers(pairing)) == 12
    assert "frame-count" in codes(pairing)
    limited = pair(clips / "src.y4m", short, frames=12)
    assert len(numbers(limited)) == 12
    assert limited.notes == []


def test_no_frame_in_common(tmp_path: Path, clips: Path) -> None:
    with pytest.raises(NoFramesError, match="no frame in common after skipping 0 and 30"):
        pair(clips / "src.y4m", clips / "src.y4m", skip_dis=30)
    with pytest.raises(NoFramesError):
        numbers(pair(clips / "src.mkv", clips / "enc.mp4", skip_dis=31))
    with pytest.raises(NoFramesError, match="no frame in common"):
        numbers(pair(clips / "src.mkv", clips / "enc.mp4", skip_dis=30))
    short = numbered_y4m(tmp_path / "short.y4m", 2).read_bytes()
    with piped(tmp_path, short) as pipe, pytest.raises(NoFramesError, match="no frame in common"):
        numbers(pair(clips / "src.y4m", pipe, skip_dis=5))


def test_swapped_files_get_a_warning(tmp_path: Path, clips: Path) -> None:
    assert "swapped" in codes(pair(clips / "enc.mp4", clips / "src.mkv"))
    fine = encode(tmp_path / "fine.mp4", frames=30, options={"qp": "1"})
    poor = encode(tmp_path / "poor.mp4", frames=30, options={"qp": "45"})
    assert "swapped" in codes(pair(poor, fine))
    assert codes(pair(fine, poor)) == set()


def test_identical_files_get_a_warning(tmp_path: Path, clips: Path) -> None:
    copy = tmp_path / "copy.y4m"
    copy.write_bytes((clips / "src.y4m").read_bytes())
    link = tmp_path / "link.y4m"
    link.symlink_to(clips / "src.y4m")
    for other, says in ((clips / "src.y4m", "same file"), (link, "same file"), (copy, "same content")):
        [note] = pair(clips / "src.y4m", other).notes
        assert (note.level, note.code) == ("warning", "identical")
        assert says in note.text
    data = bytearray(copy.read_bytes())
    data[-1] ^= 1
    copy.write_bytes(bytes(data))
    assert pair(clips / "src.y4m", copy).notes == []


def test_leaving_early_stops_the_threads(tmp_path: Path, clips: Path) -> None:
    with pair(clips / "src.mkv", clips / "enc.mp4") as pairing:
        next(iter(pairing))
    for _ in pair(clips / "src.mkv", clips / "enc.mp4"):
        break
    pairing = pair(clips / "src.mkv", clips / "enc.mp4")
    pictures = iter(pairing)
    next(pictures)
    pairing.close()
    pairing.close()
    assert list(pictures) == []
    del pairing, pictures
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    keeper = os.open(pipe, os.O_RDWR)  # a writer that stops in the middle of a frame
    os.write(keeper, numbered_y4m(tmp_path / "short.y4m", 1).read_bytes() + b"FRAME\nxx")
    with pair(clips / "src.y4m", pipe) as waiting:
        next(iter(waiting))
    os.close(keeper)


def test_readers_are_closed_even_when_the_pair_is_refused(tmp_path: Path) -> None:
    ref, dis = (open_video(gray_y4m(tmp_path / f"{w}.y4m", [numbered_luma(0, w, 16)])) for w in (16, 32))
    with pytest.raises(PairingError, match="dimensions"):
        pair_videos(ref, dis)
    for reader in (ref, dis):
        with pytest.raises(InputError, match="closed"):
            next(iter(reader))


def test_both_from_one_pipe_is_refused(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    keeper = os.open(pipe, os.O_RDWR)
    geometry: dict[str, Any] = {"width": 16, "height": 16, "pixel_format": "420", "bitdepth": 8}
    with pytest.raises(PairingError, match="pass a file for one of them"):
        pair_videos(open_video(pipe, **geometry), open_video(pipe, **geometry))
    os.close(keeper)


def test_the_description_says_what_pairing_did(clips: Path) -> None:
    pairing = pair(clips / "src.mkv", clips / "fast.mp4", rate="match", align="off", skip_ref=4, skip_dis=9)
    pairs = len(numbers(pairing))
    told = json.loads(json.dumps(pairing.description))
    assert (told["reference"]["codec"], told["distorted"]["width"], told["width"]) == ("ffv1", 96, 96)
    assert told["pairs"] == pairs > 0
    assert (told["frame_skip_ref"], told["frame_skip_dis"]) == (4, 9)
    assert (told["frame_step_ref"], told["frame_step_dis"]) == (1, 2)
    assert told["time_offset"] == pytest.approx(9 / 50 - 4 / 25, abs=0.002)  # Matroska rounds to milliseconds
    raw = pair(clips / "src.y4m", clips / "src.y4m")
    numbers(raw)
    assert raw.description["time_offset"] is None


def test_an_even_rate_needs_no_times() -> None:
    timeline = PairTimes(Fraction(25), Fraction(2), variable=False)
    timeline.note(99.0)
    assert (timeline.at(0), timeline.at(50)) == (2.0, 4.0)
    assert PairTimes(None, None, variable=False).at(3) is None


def test_uneven_times_count_from_the_first() -> None:
    timeline = PairTimes(Fraction(25), None, variable=True)
    for time in (10.0, 10.5, None, 12.0):
        timeline.note(time)
    assert [timeline.at(pair) for pair in range(5)] == [0.0, 0.5, None, 2.0, 2.0]


def test_the_times_of_a_pair(tmp_path: Path) -> None:
    slow, fast = encode(tmp_path / "slow.mkv", frames=10), encode(tmp_path / "fast.mkv", frames=20, rate=50)
    assert paired(slow, slow, skip_ref=5, skip_dis=5).timeline.at(1) == pytest.approx(6 / 25)
    assert paired(fast, slow, rate="match").timeline.at(2) == pytest.approx(2 / 25)
    ticks = [0, 1, 2, 5, 6, 9, 10, 14, 15, 20]
    uneven = encode(tmp_path / "uneven.mkv", frames=10, ticks=ticks)
    timeline = paired(uneven, uneven).timeline
    assert [timeline.at(n) for n in range(10)] == pytest.approx([tick / 25 for tick in ticks], abs=0.002)
