"""Files are complete or as they were; nothing is left behind."""

from __future__ import annotations

import errno
import os
import stat
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from acuity.errors import OutputError
from acuity.report import check_output, write, write_report
from acuity.report.write import write_document, written_beside

needs_dev_full = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")


def refuse(act: Callable[[], None], path: str | Path) -> str:
    with pytest.raises(OutputError) as caught:
        act()
    message = str(caught.value)
    assert str(path) in message
    assert "\n" not in message
    return message


def test_written_and_replaced(figures: Any, tmp_path: Path) -> None:
    path = tmp_path / "report.csv"
    write_report(figures, path, "csv")
    first = path.read_bytes()
    assert first.startswith(b"Frame,integer_adm2,")
    assert b"\r" not in first
    path.write_text("old and longer " * 100)
    path.chmod(0o640)
    write_report(figures, str(path), "csv", "max")
    assert path.read_bytes() != first
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert os.listdir(tmp_path) == ["report.csv"]


def test_a_link_keeps_pointing_to_its_file(figures: Any, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    link = tmp_path / "link.csv"
    link.symlink_to(tmp_path / "folder" / "report.csv")
    write_report(figures, link, "csv")
    assert link.is_symlink()
    assert (tmp_path / "folder" / "report.csv").read_text().startswith("Frame,")
    assert os.listdir(tmp_path / "folder") == ["report.csv"]


@pytest.mark.parametrize("path", ["-", "/dev/stdout"])
def test_standard_output(path: str, figures: Any, capsys: pytest.CaptureFixture[str]) -> None:
    write_report(figures, path, "csv")
    assert capsys.readouterr().out.startswith("Frame,integer_adm2,")


def test_special_files_are_written_to(figures: Any, tmp_path: Path) -> None:
    write_report(figures, os.devnull, "json")
    assert not os.path.isfile(os.devnull)
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    received: list[str] = []
    reader = threading.Thread(target=lambda: received.append(fifo.read_text()))
    reader.start()
    write_report(figures, fifo, "csv")
    reader.join(10)
    assert received[0].startswith("Frame,")
    assert stat.S_ISFIFO(fifo.stat().st_mode)


@needs_dev_full
def test_full_device(figures: Any) -> None:
    assert "No space left" in refuse(lambda: write_report(figures, "/dev/full"), "/dev/full")


@pytest.mark.parametrize(
    ("error", "raised"), [(OSError(errno.ENOSPC, "No space"), OutputError), (KeyError(), KeyError)]
)
def test_failure_leaves_the_old_file_and_nothing_else(
    error: Exception, raised: type[Exception], figures: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "report.csv"
    path.write_text("old")

    def fail_midway(*arguments: Any) -> Iterator[str]:
        yield "new"
        raise error

    monkeypatch.setitem(write.WRITERS, "csv", fail_midway)
    with pytest.raises(raised):
        write_report(figures, path, "csv")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["report.csv"]


@pytest.mark.parametrize(
    "act", [lambda figures, path: write_report(figures, path), lambda _, path: check_output(path)]
)
def test_places_that_cannot_be_written(
    act: Callable[[Any, Path], None], figures: Any, tmp_path: Path
) -> None:
    for good in (tmp_path / "report.json", "-", os.devnull):
        check_output(good)
    assert os.listdir(tmp_path) == []
    assert "folder" in refuse(lambda: act(figures, tmp_path), tmp_path)
    assert "does not exist" in refuse(lambda: act(figures, tmp_path / "none" / "r.json"), tmp_path / "none")
    (tmp_path / "file").write_text("")
    refuse(lambda: act(figures, tmp_path / "file" / "r.json"), tmp_path / "file")
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_protected_places(figures: Any, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "report.json").write_text("old")
    (folder / "report.json").chmod(0o444)
    assert "write-protected" in refuse(lambda: check_output(folder / "report.json"), folder)
    folder.chmod(0o555)
    refuse(lambda: write_report(figures, folder / "new.json"), folder)
    folder.chmod(0o755)


@pytest.fixture(params=[True, False])
def nameless(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether the file system has files without names."""
    if not request.param:
        monkeypatch.delattr(os, "O_TMPFILE")
    return bool(request.param)


def test_a_file_appears_complete_or_not_at_all(tmp_path: Path, nameless: bool) -> None:
    """Of files without names even a killed process leaves none."""
    target = tmp_path / "new.bin"
    with written_beside(target) as temporary:
        Path(temporary).write_bytes(b"half")
        assert len(os.listdir(tmp_path)) == (0 if nameless else 1)
        Path(temporary).write_bytes(b"all of it")
    assert target.read_bytes() == b"all of it"
    target.chmod(0o600)
    with written_beside(target) as temporary:
        Path(temporary).write_bytes(b"newer")
    assert target.read_bytes() == b"newer"
    assert target.stat().st_mode & 0o777 == 0o600
    with pytest.raises(RuntimeError), written_beside(target) as temporary:
        Path(temporary).write_bytes(b"lost")
        raise RuntimeError
    assert target.read_bytes() == b"newer"
    assert os.listdir(tmp_path) == ["new.bin"]


@pytest.mark.usefixtures("nameless")
def test_a_new_file_replaces_nothing_and_follows_no_link(tmp_path: Path) -> None:
    """What appears after the path was checked is left alone: a file, a link, another folder."""
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    target = inside / "new.bin"

    def write(meanwhile: Callable[[], object]) -> None:
        with written_beside(target, "video", new=True) as temporary:
            Path(temporary).write_bytes(b"encode")
            meanwhile()

    write(lambda: None)
    assert target.read_bytes() == b"encode"
    target.unlink()
    with pytest.raises(OutputError, match="exists already"):
        write(lambda: target.write_bytes(b"precious"))
    assert target.read_bytes() == b"precious"
    target.unlink()
    with pytest.raises(OutputError, match="exists already"):
        write(lambda: target.symlink_to(outside / "elsewhere.bin"))
    target.unlink()
    assert list(outside.iterdir()) == []

    def swap() -> None:
        inside.rename(tmp_path / "moved")
        inside.symlink_to(outside)

    write(swap)  # into the folder that was checked, wherever it is now
    assert list(outside.iterdir()) == []
    assert (tmp_path / "moved" / "new.bin").read_bytes() == b"encode"
    with pytest.raises(OutputError, match="could not be written"):
        write(lambda: None)  # the folder is a link now
    assert list(outside.iterdir()) == []
    assert os.listdir(tmp_path / "moved") == ["new.bin"]


def test_what_is_no_utf_8_is_escaped_as_on_standard_output(tmp_path: Path) -> None:
    write_document(tmp_path / "names.html", "caf\udce9")
    assert (tmp_path / "names.html").read_text("utf-8") == r"caf\udce9"
