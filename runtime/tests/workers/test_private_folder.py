"""Folders of one process: for this user alone, and not left behind."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from longwire.workers.private_folder import PrivateFolder


@pytest.fixture(autouse=True)
def _own_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def test_a_folder_is_private_and_removed(tmp_path: Path) -> None:
    folder = PrivateFolder()
    assert folder.path.parent == tmp_path
    assert folder.path.stat().st_mode & 0o777 == 0o700
    (folder.path / "a").write_text("x")
    folder.remove()
    folder.remove()
    assert not folder.path.exists()


def test_the_next_process_removes_what_a_killed_one_left(tmp_path: Path) -> None:
    program = (
        "import os, tempfile\n"
        f"tempfile.tempdir = {str(tmp_path)!r}\n"
        "from longwire.workers.private_folder import PrivateFolder\n"
        "print(PrivateFolder().path, flush=True)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    left = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    folder = Path(left.stdout.strip())
    assert folder.is_dir()
    mine, other = PrivateFolder(), PrivateFolder()
    assert not folder.exists()
    assert mine.path.exists()
    mine.remove()
    other.remove()
