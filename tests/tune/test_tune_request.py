"""Tuning requests: lists, sizes and targets from text, and documents that come back the same."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from acuity.errors import AcuityError, TuneError
from acuity.tune.clip import open_clip
from acuity.tune.encoders import ENCODERS
from acuity.tune.request import CompareRequest, LadderRequest, PerShotRequest, SearchRequest, TuneRequest
from acuity.tune.values import byte_count, qualities, scores, size, sizes
from tune_clips import write_y4m

KINDS: tuple[type[TuneRequest], ...] = (SearchRequest, CompareRequest, LadderRequest, PerShotRequest)


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (SearchRequest(src="a.mkv", encode="x.foo"), "'x.foo' doesn't say its format: end it with .mp4"),
        (PerShotRequest(src="a.mkv", output="x.webm"), "a .webm file can't hold the h264 of libx264"),
        (SearchRequest(src="a", metric="psnr"), "target of psnr is missing"),
    ],
)
def test_what_no_file_could_make_right_is_refused_before_the_work(request_: TuneRequest, words: str) -> None:
    with pytest.raises(AcuityError, match=words):
        request_.check()
    LadderRequest(src="a.mkv", encode="folder", resolutions="64x48", target_vmafs="90").check()


@pytest.mark.parametrize("kind", KINDS)
def test_a_document_makes_the_same_request(kind: type[TuneRequest]) -> None:
    request = kind(src="a.mkv", preset="fast", encoder_options=("bf=3", "x=y=z"), neg=True)
    document = json.loads(json.dumps(request.to_document()))
    assert kind.from_document(document) == request
    assert kind(src="b").to_document() == {"src": "b"}


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_but_the_source_is_described(kind: type[TuneRequest]) -> None:
    table = kind.settings_table()
    assert set(table) == set(kind.__dataclass_fields__) - {"src"}
    for about in table.values():
        assert about.help
        assert about.help[0].islower() or about.help.split()[0].isupper()
        assert not about.help.endswith(".")


@pytest.mark.parametrize(
    ("text", "count"),
    [("40M", 40_000_000), ("1.5GiB", 3 << 29), ("700k", 700_000), ("123", 123), ("2 MB", 2_000_000)],
)
def test_bytes(text: str, count: int) -> None:
    assert byte_count(text) == count


@pytest.mark.parametrize("text", ["", "M", "-3M", "40T", "1e6", "4 0M"])
def test_what_is_no_number_of_bytes(text: str) -> None:
    with pytest.raises(TuneError, match="write it as 40M"):
        byte_count(text)


def test_lists() -> None:
    assert sizes("1920x1080, 1280X720,1920x1080") == [(1920, 1080), (1280, 720)]
    assert qualities("20, 25,20,30.5") == [20, 25, 30.5]
    assert scores("95,90.5") == [95, 90.5]
    for wrong in ("1920", "0x5", "1920x1080x3", ""):
        with pytest.raises(TuneError, match="is no size"):
            size(wrong)
    for text in ("95,,90", "95;90", "nine", "nan", "1e999"):
        with pytest.raises(TuneError, match="is no number"):
            scores(text)
    for text in ("101", "-3"):
        with pytest.raises(TuneError, match="is no VMAF score"):
            scores(text)


def test_one_target() -> None:
    assert SearchRequest(src="a", neg=True).scoring().model == "version=vmaf_v0.6.1neg"
    assert SearchRequest(src="a").the_target().value == 92
    assert SearchRequest(src="a", target_bitrate=900).the_target().kind == "bitrate"
    assert SearchRequest(src="a", target_size="3M").the_target().value == 3_000_000
    assert SearchRequest(src="a", metric="psnr", target=40).the_target().column == "psnr_y"


def test_the_range_of_the_quality() -> None:
    x264 = ENCODERS["libx264"]
    assert SearchRequest(src="a").quality_range(x264) is None
    assert SearchRequest(src="a", crf_min=20).quality_range(x264) == (20, 51)
    with pytest.raises(TuneError, match="its crf goes from 0 to 51"):
        SearchRequest(src="a", crf_max=63).quality_range(x264)
    with pytest.raises(TuneError, match="40 to 30"):
        SearchRequest(src="a", crf_min=40, crf_max=30).quality_range(x264)


def test_options_of_the_encoder() -> None:
    request = SearchRequest(src="a", encoder_options=("x264-params=a=b:c=d", "bf=0"))
    assert request.settings(ENCODERS["libx264"]).options == (("x264-params", "a=b:c=d"), ("bf", "0"))
    with pytest.raises(TuneError, match="write it as name=value"):
        SearchRequest(src="a", encoder_options=("bf",)).check()


# ---- The digest of a clip's file: of its bytes, read once ----


FRAME = 1920 * 1080 * 3 // 2


class Memory(dict[str, Any]):
    """A memory that other processes would share."""

    document, remember = dict.get, dict.__setitem__


def large(path: Path, changed: float) -> Path:
    """A Y4M file of more than 64 MiB."""
    with open(path, "wb") as file:
        file.write(b"YUV4MPEG2 W1920 H1080 F25:1 C420\n")
        for _ in range(23):
            file.write(b"FRAME\n")
            file.seek(FRAME - 1, os.SEEK_CUR)
            file.write(b"\0")
    os.utime(path, (changed, changed))
    return path


def test_a_large_file_is_read_once_for_all_processes(tmp_path: Path) -> None:
    memory: Any = Memory()
    path = large(tmp_path / "large.y4m", 1e9)
    clip = open_clip(path)
    digest = clip.digest(memory)
    (key,) = memory
    assert str(path) in key
    # Another process would find it there; this one knows it by itself.
    memory.clear()
    assert clip.digest() == clip.digest(memory) == digest
    assert memory == {}


def test_small_and_fresh_files_are_read(tmp_path: Path) -> None:
    memory: Any = Memory()
    open_clip(write_y4m(tmp_path / "small.y4m", frames=2)).digest(memory)
    # Fresh however long this test takes.
    open_clip(large(tmp_path / "fresh.y4m", time.time() + 3600)).digest(memory)
    assert memory == {}
