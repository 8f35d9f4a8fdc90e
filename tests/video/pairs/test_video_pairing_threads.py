"""Pairs that several threads read: the same pictures, notes and refusals as of one thread for each video."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from acuity.errors import AcuityError, TruncatedError
from acuity.video.pairs import producer
from acuity.video.readers.file_reads import FileReads
from acuity.video.readers.prefetch import Prefetch, ReadAhead
from acuity.video.readers.y4m import Y4mReader
from video_clips import gray_y4m, number_of, numbered_luma, pair

pytestmark = pytest.mark.usefixtures("no_threads_left")

WIDTH, HEIGHT = 384, 216  # large enough for several threads
COUNT = 40


def clip(path: Path, first: int = 0, *, tags: str = "F25:1", width: int = WIDTH) -> Path:
    return gray_y4m(path, [numbered_luma(number, width, HEIGHT) for number in range(first, COUNT)], tags)


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clips")
    clip(folder / "ref.y4m")
    clip(folder / "dis.y4m")
    clip(folder / "late.y4m", 3)
    clip(folder / "fast.y4m", tags="F50:1")
    clip(folder / "small.y4m", width=WIDTH - 48)
    return folder


def everything(ref: Path, dis: Path, **options: Any) -> tuple[list[Any], ...]:
    """The pairs, the notes and the refusal, of one pairing."""
    pairs, said = [], []
    pairing = pair(ref, dis, **options)
    try:
        for one, other in pairing:
            pairs.append((number_of(one), number_of(other), len(one.planes), other.luma.tobytes()))
    except AcuityError as error:
        said.append(repr(error))
    return pairs, [(note.code, str(note)) for note in pairing.notes], said, [pairing.description]


@pytest.mark.parametrize(
    ("dis", "options"),
    [
        ("dis.y4m", {}),
        ("dis.y4m", {"luma_only": True}),
        ("dis.y4m", {"align": "off", "frames": 17}),
        ("dis.y4m", {"skip_ref": 5, "skip_dis": 5}),
        ("dis.y4m", {"align": "off", "skip_ref": 39}),
        ("dis.y4m", {"ahead": 1}),
        ("dis.y4m", {"ahead": 30}),
        ("dis.y4m", {"crop": "256:128:32:16"}),
        ("late.y4m", {}),
        ("late.y4m", {"align": "warn"}),
        ("late.y4m", {"align": "auto"}),
        ("late.y4m", {"skip_ref": 3}),
        ("fast.y4m", {"rate": "match", "align": "off"}),
        ("small.y4m", {"scale": "force"}),
    ],
)
def test_as_one_thread_reads(
    clips: Path, dis: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[ReadAhead] = []

    def watched(kind: Any) -> Any:
        def start(*given: Any, **more: Any) -> Any:
            started.extend(one for one in given if isinstance(one, ReadAhead))
            return kind(*given, **more)

        return start

    def in_turn(produce: Any, reading: ReadAhead, *, name: str) -> Prefetch:
        return Prefetch(produce.__self__.next, ReadAhead(reading.ahead), name=name)

    monkeypatch.setattr(producer, "FileReads", watched(FileReads))
    monkeypatch.setattr(producer, "Prefetch", watched(Prefetch))
    found = everything(clips / "ref.y4m", clips / dis, **options)
    assert options.get("ahead") == 1 or min(reading.threads for reading in started) > 1
    monkeypatch.setattr(Y4mReader, "places", None)  # by threads of Python
    assert found == everything(clips / "ref.y4m", clips / dis, **options)
    monkeypatch.setattr(producer, "Prefetch", in_turn)
    assert found == everything(clips / "ref.y4m", clips / dis, **options)


def test_a_file_that_is_cut_on_the_way(tmp_path: Path, clips: Path) -> None:
    path = clip(tmp_path / "cut.y4m")
    pairing = pair(clips / "ref.y4m", path, ahead=2)
    os.truncate(path, path.stat().st_size - 100)
    pairs = 0
    with pytest.raises(TruncatedError, match="in the middle of frame 39"):
        for one, other in pairing:
            assert number_of(one) == number_of(other) == pairs
            pairs += 1
    assert pairs == COUNT - 1


@pytest.mark.parametrize("after", [0, 1, 11])
def test_leaving_in_the_middle(clips: Path, after: int) -> None:
    pairing = pair(clips / "ref.y4m", clips / "dis.y4m")
    iterator = iter(pairing)
    for _ in range(after):
        next(iterator)
    pairing.close()
    pairing.close()


def test_a_pairing_that_is_forgotten(clips: Path) -> None:
    pairing = pair(clips / "ref.y4m", clips / "dis.y4m")
    assert pairing.ready(30.0)
    del pairing


def test_buffers_are_as_many_as_are_needed(clips: Path) -> None:
    pairing = pair(clips / "ref.y4m", clips / "dis.y4m")
    addresses = {picture.luma.ctypes.data for pictures in pairing for picture in pictures}
    # For each video those ahead, the one in use, and what the other threads have just let go of.
    assert len(addresses) <= 2 * (8 + 1 + 4)
