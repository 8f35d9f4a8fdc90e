"""The encodes of a command line: files, patterns, folders and lists, each once and never the reference."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from acuity.comparison.encodes import distinct, find_encodes, read_list
from acuity.comparison.request import ComparePair
from acuity.errors import InputError, MissingExtra


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("ref.mp4", "a_1.mp4", "a_2.mp4", "notes.txt", "out/b.mkv", "out/log.txt", "out/.hidden.mkv"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def distorted(*words: str) -> list[str]:
    return [pair.distorted for pair in find_encodes(words).pairs]


def test_files_patterns_and_folders(folder: Path) -> None:
    assert distorted("ref.mp4", "a_1.mp4", "a_?.mp4", "out") == ["a_1.mp4", "a_2.mp4", "out/b.mkv"]
    assert distorted("ref.mp4", "**/*.mkv") == ["out/b.mkv"]
    assert {pair.reference for pair in find_encodes(["ref.mp4", "out"]).pairs} == {"ref.mp4"}


def test_what_is_left_out_is_said(folder: Path) -> None:
    (folder / "out" / "deeper").mkdir()
    (folder / "out" / "dangling.mp4").symlink_to("nowhere")
    found = find_encodes(["ref.mp4", "*", "a_1.mp4", "out"])
    assert [pair.distorted for pair in found.pairs] == ["a_1.mp4", "a_2.mp4", "out/b.mkv"]
    assert found.notes == [
        "'*': 1 file is no video by name, and left out",
        "'out': 1 file is no video by name, and left out",
        "'out': folders in it are not searched: 'deeper'",
        "'out': links that lead to no file are left out: 'dangling.mp4'",
        "'a_1.mp4' is named more than once, and compared once",
        "'ref.mp4' is the reference, and is not compared with itself",
    ]


def test_files_that_are_named_one_by_one_are_compared_once(folder: Path) -> None:
    named = (("a_1.mp4", ""), ("a_2.mp4", "two"), ("./a_1.mp4", ""), ("a_1.mp4", "again"), ("ref.mp4", ""))
    found = distinct([ComparePair("ref.mp4", path, name) for path, name in named])
    assert [(pair.distorted, pair.name) for pair in found.pairs] == [*named[:2], named[3]]
    assert found.notes == [
        "'./a_1.mp4' is named more than once, and compared once",
        "'ref.mp4' is the reference, and is not compared with itself",
    ]


def test_the_reference_alone_is_compared_with_itself(folder: Path) -> None:
    assert distorted("ref.mp4", "./ref.mp4") == ["./ref.mp4"]


def test_patterns_and_folders_of_images_are_one_encode(folder: Path) -> None:
    (folder / "shots").mkdir()
    (folder / "shots" / "1.png").write_bytes(b"")
    images = ["shots/*.png", "shots", "shot.%04d.png"]
    assert distorted("ref.mp4", *images) == images


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
    assert [tuple(pair) for pair in found.pairs] == [
        ("ref.mp4", "a_1.mp4", "", None, None),
        ("other.mkv", "x.mp4", "same", "x264", 100.0),
        ("ref.mp4", "y.mp4", "same", "x265", None),
    ]
    assert found.notes == ["2 encodes have the name 'same': all but the first have a number"]


def written(folder: Path, name: str, text: str | bytes) -> str:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_csv_with_any_separator_mark_and_line_end(
    tmp_path: Path, separator: str, mark: str, end: str
) -> None:
    lines = [
        ["reference", "distorted", "name", "encoder", "bitrate", "crf"],
        ["a.mkv", "b.mp4", "first", "x264", "2500k", "23"],
        ["", "", "", "", "", ""],
        ["a.mkv", "/else/c.mp4", "", "", "2.5M", ""],
    ]
    text = mark + end.join(separator.join(cells) for cells in lines) + end
    path = written(tmp_path, "list.csv", text)
    assert read_list(path) == [
        (f"line 2 of '{path}'", (f"{tmp_path}/a.mkv", f"{tmp_path}/b.mp4", "first", "x264", 2500.0)),
        (f"line 4 of '{path}'", (f"{tmp_path}/a.mkv", "/else/c.mp4", "", None, 2500.0)),
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "names no encode"),
        ("distorted\n", "names no encode"),
        ("reference,name\na,b\n", "no column 'distorted'.*reference, distorted, name"),
        ("distorted,encodr\na,b\n", "'encodr', which is probably 'encoder'"),
        ("distorted,file\na,b\n", "two columns for the distorted"),
        ("distorted,name\n,b\n", "line 2 .* names no distorted video"),
        ("distorted,name\na,b,c\n", "line 2 .* 3 cells and the first line 2"),
        ("distorted,bitrate\na,fast\n", "line 2 .* the bitrate 'fast': write kbit/s"),
        ("distorted,bitrate\na,0\n", "the bitrate '0'"),
        ('distorted\n"a\n', "no CSV"),
        (b"distorted\n\xff\xfe\n", "no text in UTF-8"),
        ("distorted\na\0b\n", "NUL"),
    ],
)
def test_a_csv_that_can_not_be_used(tmp_path: Path, text: str | bytes, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_list(written(tmp_path, "list.csv", text))


def test_yaml_scalars_stay_text(tmp_path: Path) -> None:
    pytest.importorskip("yaml")
    path = written(
        tmp_path,
        "list.yaml",
        "reference: a.mkv\nencodes:\n- {distorted: b.mp4, name: no, encoder: 1e3, bitrate: 800}\n- c.mp4\n",
    )
    assert [entry for _, entry in read_list(path)] == [
        (f"{tmp_path}/a.mkv", f"{tmp_path}/b.mp4", "no", "1e3", 800.0),
        (f"{tmp_path}/a.mkv", f"{tmp_path}/c.mp4", "", None, None),
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no list"),
        ("just text", "no list"),
        ("distorted: a", "no list: begin each encode with '- distorted: FILE'"),
        ("[]", "names no encode"),
        ("- [a, b]", "entry 1 .* neither a path nor a mapping"),
        ("- {name: a}", "entry 1 .* names no distorted video"),
        ("- {distorted: [a, b]}", "several values as its distorted"),
        ("- {distorted: a", "no YAML"),
        ("- !!python/object/apply:os.system [id]", "entry 1|no YAML"),
        ("[" * 3000, "nested too deeply|no YAML"),
    ],
)
def test_a_yaml_that_can_not_be_used(tmp_path: Path, text: str, said: str) -> None:
    pytest.importorskip("yaml")
    with pytest.raises(InputError, match=said):
        read_list(written(tmp_path, "list.yml", text))


def test_without_pyyaml_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(MissingExtra, match=r"acuity-vmaf\[yaml\].* or write the list as CSV"):
        read_list(written(tmp_path, "list.yaml", "- a"))


def test_a_list_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="can't be opened: No such file"):
        read_list(str(tmp_path / "gone.csv"))
    with pytest.raises(InputError, match="can't be opened"):
        (tmp_path / "folder.csv").mkdir()
        read_list(str(tmp_path / "folder.csv"))
