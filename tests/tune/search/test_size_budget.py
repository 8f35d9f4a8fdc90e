"""Searches with a final file of a size: what is copied counts, too."""

from __future__ import annotations

import os
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from acuity.errors import TuneError
from acuity.tune.clip import open_clip
from acuity.tune.encoders import beside, find_encoder
from acuity.tune.encoders.settings import Settings
from acuity.tune.points.point import measure
from acuity.tune.request import SearchRequest
from acuity.tune.run import run_search
from acuity.tune.search import search_run
from tune_clips import picture

SIZE = 160, 96


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A video with sound that has more bytes than the video needs, and a chapter."""
    path = tmp_path_factory.mktemp("sizes") / "source.mp4"
    with av.open(path, "w") as file:
        video = file.add_stream("libx264", rate=25, options={"crf": "8", "preset": "ultrafast"})
        video.width, video.height, video.pix_fmt = *SIZE, "yuv420p"
        sound = file.add_stream("aac", rate=48000, options={"b": "192k"})
        title = {"title": "One"}
        file.set_chapters(
            [{"id": 1, "start": 0, "end": 900, "time_base": Fraction(1, 1000), "metadata": title}]
        )
        noise = np.random.default_rng(1).normal(0, 0.1, (24, 1920)).astype(np.float32)
        for index in range(24):
            frame = av.VideoFrame.from_ndarray(np.vstack([picture(index, *SIZE)] * 2)[:144], "yuv420p")
            frame.pts, frame.time_base = index, Fraction(1, 25)
            file.mux(video.encode(frame))
            samples = av.AudioFrame("fltp", "stereo", 1920)
            samples.sample_rate, samples.pts = 48000, index * 1920
            for plane in samples.planes:
                plane.update(noise[index].tobytes())
            file.mux(sound.encode(samples))
        file.mux(video.encode(None))
        file.mux(sound.encode(None))
    return path


def sound_bytes(path: Path) -> int:
    with av.open(path) as file:
        return sum(packet.size for packet in file.demux(audio=0))


def searched(source: Path, size: int, out: Path) -> dict[str, Any]:
    return run_search(
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
    exact = measure(open_clip(source), Settings(find_encoder("x264"), preset="veryfast"), 20)
    monkeypatch.setattr(search_run, "weight", lambda *_: beside.Weight(sound_bytes(source), 0))
    size, out = exact.bytes + sound_bytes(source), tmp_path / "out.mp4"
    found = searched(source, size, out)
    assert found["crf"] == found["encode"]["crf"] == 21
    notes = " ".join(found["notes"])
    assert "so it was made with crf 21" in notes
    assert ("the file has" in notes) == (os.path.getsize(out) > size)
