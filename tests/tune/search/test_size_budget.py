"""Searches with a final file of a size: what is copied counts, too."""

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
from tune_clips import fast, write_video


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


def searched(source: Path, size: int, out: Path) -> dict[str, Any]:
    return run(
        SearchRequest(
            src=str(source), preset="veryfast", target_size=str(size), encode=str(out), no_cache=True
        )
    )


@pytest.mark.parametrize("suffix", [".mp4", ".mkv"])
def test_a_file_of_a_size_has_at_most_that_size_with_its_sound(
    suffix: str, source: Path, tmp_path: Path
) -> None:
    size, out = sound_bytes(source) + 25_000, tmp_path / f"out{suffix}"
    found = searched(source, size, out)
    assert 0.8 * size < os.path.getsize(out) <= size
    assert found["target"]["value"] == size
    room = found["target"]["video_bytes"]
    assert found["bytes"] <= room < size - sound_bytes(source)
    assert [note for note in found["notes"] if "are for the video" in note]
    assert not [note for note in found["notes"] if "more than the" in note]


def test_a_size_without_room_for_video_is_refused_with_its_numbers(source: Path, tmp_path: Path) -> None:
    size = sound_bytes(source) - 1
    with pytest.raises(TuneError, match=f"no room for the video .* copied has {sound_bytes(source):,} bytes"):
        searched(source, size, tmp_path / "out.mp4")
    assert os.listdir(tmp_path) == []


def test_a_file_that_became_larger_is_made_again_and_that_is_said(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exact = measure(open_clip(source), fast("libx264"), 20)
    monkeypatch.setattr(search_run, "weight", lambda *_: beside.Weight(sound_bytes(source), 0))
    size, out = exact.bytes + sound_bytes(source), tmp_path / "out.mp4"
    found = searched(source, size, out)
    assert found["crf"] == found["encode"]["crf"] == 21
    notes = " ".join(found["notes"])
    assert "so it was made with crf 21" in notes
    assert ("the file has" in notes) == (os.path.getsize(out) > size)
