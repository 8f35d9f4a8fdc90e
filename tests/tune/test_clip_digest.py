"""The digest of a clip's file: of its bytes, read once."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from acuity.tune.clip import open_clip
from tune_clips import write_y4m

FRAME = 1920 * 1080 * 3 // 2


class Memory:
    """A memory that counts what it is asked."""

    def __init__(self) -> None:
        self.documents: dict[str, Any] = {}
        self.answered = 0

    def document(self, key: str) -> Any:
        self.answered += key in self.documents
        return self.documents.get(key)

    def remember(self, key: str, document: Any) -> None:
        self.documents[key] = document


def large(path: Path) -> Path:
    """A Y4M file of more than 64 MiB, changed a while ago."""
    with open(path, "wb") as file:
        file.write(b"YUV4MPEG2 W1920 H1080 F25:1 C420\n")
        for _ in range(23):
            file.write(b"FRAME\n")
            file.seek(FRAME - 1, os.SEEK_CUR)
            file.write(b"\0")
    os.utime(path, (1e9, 1e9))
    return path


def test_a_large_file_is_read_once_for_all_processes(tmp_path: Path) -> None:
    memory = Memory()
    path = large(tmp_path / "large.y4m")
    clip = open_clip(path)
    digest = clip.digest(memory)
    assert len(memory.documents) == 1
    # Another process would find it there; this one knows it by itself.
    (key,) = memory.documents
    assert clip.digest() == clip.digest(memory) == digest
    assert memory.answered == 0
    assert str(path) in key


def test_small_and_fresh_files_are_read(tmp_path: Path) -> None:
    memory = Memory()
    open_clip(write_y4m(tmp_path / "small.y4m", frames=2)).digest(memory)
    fresh = large(tmp_path / "fresh.y4m")
    soon = time.time() + 3600
    os.utime(fresh, (soon, soon))  # fresh however long this test takes
    open_clip(fresh).digest(memory)
    assert memory.documents == {}
