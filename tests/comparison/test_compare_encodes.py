"""The encodes of a command line: files, patterns, folders and lists, each once and never the reference."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from acuity.comparison.encodes import distinct, find_encodes
from acuity.comparison.request import ComparePair
from acuity.errors import InputError


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    for name in ("ref.mp4", "a_1.mp4", "a_2.mp4", "notes.txt", "out/b.mkv", "out/log.txt", "out/.hidden.mkv"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"")
    before = Path.cwd()
    os.chdir(tmp_path)
    yield tmp_path
    os.chdir(before)


def distorted(*words: str) -> list[str]:
    return [pair.distorted for pair in find_encodes(words).pairs]


def test_files_patterns_and_folders(folder: Path) -> None:
    assert distorted("ref.mp4", "a_1.mp4", "a_?.mp4", "out") == ["a_1.mp4", "a_2.mp4", "out/b.mkv"]
    assert distorted("ref.mp4", "**/*.mkv") == ["out/b.mkv"]
    assert {pair.reference for pair in find_encodes(["ref.mp4", "out"]).pairs} == {"ref.mp4"}


def test_what_is_left_out_is_said(folder: Path) -> None:
    found = find_encodes(["ref.mp4", "*", "a_1.mp4", "out"])
    assert [pair.distorted for pair in found.pairs] == ["a_1.mp4", "a_2.mp4", "out/b.mkv"]
    assert found.notes == [
        "'*': 1 file is no video by name, and left out",
        "'a_1.mp4' is named more than once, and compared once",
        "'out': 1 file is no video by name, and left out",
        "'ref.mp4' is the reference, and is not compared with itself",
    ]


def test_a_folder_says_what_it_holds_besides_files(folder: Path) -> None:
    (folder / "out" / "deeper").mkdir()
    (folder / "out" / "dangling.mp4").symlink_to("nowhere")
    found = find_encodes(["ref.mp4", "out"])
    assert [pair.distorted for pair in found.pairs] == ["out/b.mkv"]
    assert found.notes[1:] == [
        "'out': folders in it are not searched: 'deeper'",
        "'out': links that lead to no file are left out: 'dangling.mp4'",
    ]


def test_files_that_are_named_one_by_one_are_compared_once(folder: Path) -> None:
    named = [ComparePair("ref.mp4", path, name) for path, name in _NAMED]
    found = distinct(named)
    assert [(pair.distorted, pair.name) for pair in found.pairs] == [
        ("a_1.mp4", ""),
        ("a_2.mp4", "two"),
        ("a_1.mp4", "again"),
    ]
    assert found.kbps == [None, None, None]
    assert found.notes == [
        "'./a_1.mp4' is named more than once, and compared once",
        "'ref.mp4' is the reference, and is not compared with itself",
    ]


_NAMED = (("a_1.mp4", ""), ("a_2.mp4", "two"), ("./a_1.mp4", ""), ("a_1.mp4", "again"), ("ref.mp4", ""))


def test_the_reference_alone_is_compared_with_itself(folder: Path) -> None:
    assert distorted("ref.mp4", "./ref.mp4") == ["./ref.mp4"]


def test_patterns_and_folders_of_images_are_one_encode(folder: Path) -> None:
    (folder / "shots").mkdir()
    (folder / "shots" / "1.png").write_bytes(b"")
    assert distorted("ref.mp4", "shots/*.png", "shots", "shot.%04d.png") == [
        "shots/*.png",
        "shots",
        "shot.%04d.png",
    ]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "nothing to compare"),
        (["ref.mp4"], "nothing to compare: name a reference and at least one encode, or a list"),
        (["ref.mp4", "none*.mp4"], "the pattern 'none.*' matches nothing"),
        (["ref.mp4", "not*"], "the pattern 'not.*' matches no video"),
        (["ref.mp4", "empty"], "the folder 'empty' has no videos"),
        (["list.csv"], r"line 2 of 'list.csv' names no reference: add the column, or name one before"),
    ],
)
def test_nothing_found(folder: Path, words: list[str], said: str) -> None:
    (folder / "empty").mkdir()
    (folder / "list.csv").write_text("distorted\na_1.mp4\n")
    with pytest.raises(InputError, match=said):
        find_encodes(words)


def test_lists_and_files_together(folder: Path) -> None:
    (folder / "list.csv").write_text(
        "reference,distorted,name,encoder,bitrate\nother.mkv,x.mp4,same,x264,100\n,y.mp4,same,x265,\n"
    )
    found = find_encodes(["ref.mp4", "list.csv", "a_1.mp4"])
    assert [tuple(pair[:4]) for pair in found.pairs] == [
        ("ref.mp4", "a_1.mp4", "", None),
        ("other.mkv", "x.mp4", "same", "x264"),
        ("ref.mp4", "y.mp4", "same", "x265"),
    ]
    assert found.kbps == [None, 100.0, None]
    assert found.notes == ["2 encodes have the name 'same': all but the first have a number"]
