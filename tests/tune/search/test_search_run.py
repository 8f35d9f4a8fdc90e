"""The document of a search: what it says of answers that aren't the last word."""

from __future__ import annotations

import os
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import pytest

from acuity.errors import TuneError
from acuity.tune.clip import open_clip
from acuity.tune.encoders import beside
from acuity.tune.points.point import measure
from acuity.tune.request import SearchRequest
from acuity.tune.run import run
from acuity.tune.search import search_run
from tune_clips import fast, write_video, write_y4m


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_y4m(tmp_path_factory.mktemp("search_run") / "clip.y4m", 12)


@pytest.fixture(autouse=True)
def own_cache(clip: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACUITY_CACHE", str(clip.parent / "cache"))


def searched(clip: Path, **fields: Any) -> dict[str, Any]:
    return run(SearchRequest(**{"src": str(clip), "preset": "ultrafast", **fields}))


def test_encodes_that_ran_out_are_noted(clip: Path) -> None:
    hasty = searched(clip, target_vmaf=60.0, tolerance=0.0, max_iterations=2, no_cache=True)
    assert hasty["ok"]
    assert "2 encodes weren't enough to rule out a cheaper value: raise max_iterations" in hasty["notes"]
    patient = searched(clip, target_vmaf=60.0, tolerance=0.0, no_cache=True)
    assert patient["crf"] >= hasty["crf"]
    assert not [note for note in patient["notes"] if "encodes" in note]


def test_a_target_out_of_reach_says_that_no_file_was_written(clip: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.mkv"
    found = searched(clip, target_vmaf=99.9999, crf_min=30, crf_max=40, encode=str(out))
    assert not found["ok"]
    assert [found[name] for name in ("crf", "bitrate_kbps", "bytes", "vmaf_score", "figure")] == [None] * 5
    assert found["nearest"]["crf"] == 30
    assert found["encode"] is None
    assert "can't reach VMAF 99.9999 of" in found["error"]
    assert found["error"].endswith(f"'{out}' was not written")
    assert not out.exists()


def test_a_part_of_the_source_is_said(clip: Path) -> None:
    part = searched(clip, target_vmaf=60.0, duration=0.2)
    places = {"start_frame": 0, "end_frame": 5, "start_seconds": 0.0, "end_seconds": 0.2}
    assert part["range"] == {**places, "whole": False}
    said = f"only the first 0.2 s of '{clip}' were encoded and scored, frames 0 to 4 of 12: figures of the"
    assert [note for note in part["notes"] if note.startswith(said)]
    whole = searched(clip, target_vmaf=60.0)
    assert (whole["range"]["end_frame"], whole["range"]["whole"]) == (12, True)
    assert not [note for note in whole["notes"] if "only the first" in note]


def test_a_size_that_does_not_suit_the_model_is_said(clip: Path) -> None:
    found = searched(clip, target_vmaf=60.0)
    assert [note for note in found["notes"] if "vmaf_v0.6.1 is made for a 1080p display" in note]
    assert not [note for note in searched(clip, display="1080p")["notes"] if "display" in note]


def test_a_quality_may_have_decimals_where_the_encoder_takes_them(clip: Path) -> None:
    whole = searched(clip, target_vmaf=70.0, tolerance=0.0, crf_max=51)
    finer = searched(clip, target_vmaf=70.0, tolerance=0.0, crf_step=0.25, max_iterations=16)
    assert isinstance(whole["crf"], int)
    assert finer["crf"] * 4 == int(finer["crf"] * 4)
    assert whole["crf"] <= finer["crf"] < whole["crf"] + 1
    assert any(point["crf"] != int(point["crf"]) for point in finer["points"])
    between = searched(clip, target_vmaf=1.0, crf_min=23.5, crf_max=23.75)
    assert (between["ok"], between["crf"]) == (True, 23.75)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"crf_min": 23.5, "encoder": "libsvtav1"}, "libsvtav1 takes whole values of crf only"),
        ({"crf_min": 23.6}, "crf 23.6 of libx264 is not in steps of 0.25"),
        ({"crf_min": 23.25, "crf_step": 0.5}, "crf 23.25 of libx264 is not in steps of 0.5"),
        ({"crf_step": 0.3}, "crf_step='0.3' should be 0.25, 0.5 or 1"),
    ],
)
def test_decimals_that_an_encoder_does_not_take_are_refused(
    clip: Path, fields: dict[str, Any], said: str
) -> None:
    with pytest.raises(TuneError, match=said):
        run(SearchRequest(src=str(clip), target_vmaf=60.0, **fields))


def test_a_target_that_the_worst_quality_meets_is_noted(clip: Path) -> None:
    found = searched(clip, metric="psnr", target=5.0)
    assert found["crf"] == 51
    said = "even the worst quality, crf 51, meets PSNR 5 dB: that says little of how it looks (VMAF "
    assert [note for note in found["notes"] if note.startswith(said)]


def children() -> set[str]:
    """The processes started here, with those that ended and were not reaped."""
    return {pid for file in Path("/proc/self/task").glob("*/children") for pid in file.read_text().split()}


def test_no_encoder_process_is_left_when_a_run_ends(tmp_path: Path) -> None:
    source = write_y4m(tmp_path / "source.y4m", 12)
    before = children()
    found = run(SearchRequest(src=str(source), preset="ultrafast", target_vmaf=70, no_cache=True))
    assert found["encodes"] > 0
    assert children() <= before


# ---- Searches with a final file of a size: what is copied counts, too ----


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A video with sound that has more bytes than the video needs, and a chapter."""
    chapter = {"id": 1, "start": 0, "end": 900, "time_base": Fraction(1, 1000), "metadata": {"title": "One"}}
    return write_video(
        tmp_path_factory.mktemp("sizes") / "source.mp4",
        24,
        sound="aac",
        sound_options={"b": "192k"},
        also=lambda file: file.set_chapters([chapter]),
    )


def sound_bytes(path: Path) -> int:
    with av.open(path) as file:
        return sum(packet.size for packet in file.demux(audio=0))


def searched_by_size(source: Path, size: int, out: Path) -> dict[str, Any]:
    return searched(source, preset="veryfast", target_size=str(size), encode=str(out), no_cache=True)


@pytest.mark.parametrize("suffix", [".mp4", ".mkv"])
def test_a_file_of_a_size_has_at_most_that_size_with_its_sound(
    suffix: str, source: Path, tmp_path: Path
) -> None:
    size, out = sound_bytes(source) + 25_000, tmp_path / f"out{suffix}"
    found = searched_by_size(source, size, out)
    assert 0.8 * size < os.path.getsize(out) <= size
    assert found["target"]["value"] == size
    room = found["target"]["video_bytes"]
    assert found["bytes"] <= room < size - sound_bytes(source)
    assert [note for note in found["notes"] if "are for the video" in note]
    assert not [note for note in found["notes"] if "more than the" in note]


def test_a_size_without_room_for_video_is_refused_with_its_numbers(source: Path, tmp_path: Path) -> None:
    size = sound_bytes(source) - 1
    with pytest.raises(TuneError, match=f"no room for the video .* copied has {sound_bytes(source):,} bytes"):
        searched_by_size(source, size, tmp_path / "out.mp4")
    assert os.listdir(tmp_path) == []


def test_a_file_that_became_larger_is_made_again_and_that_is_said(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exact = measure(open_clip(source), fast("libx264"), 20)
    monkeypatch.setattr(search_run, "weight", lambda *_: beside.Weight(sound_bytes(source), 0))
    size, out = exact.bytes + sound_bytes(source), tmp_path / "out.mp4"
    found = searched_by_size(source, size, out)
    assert found["crf"] == found["encode"]["crf"] == 21
    notes = " ".join(found["notes"])
    assert "so it was made with crf 21" in notes
    assert ("the file has" in notes) == (os.path.getsize(out) > size)
