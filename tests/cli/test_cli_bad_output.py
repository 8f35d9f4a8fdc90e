"""Reports that can't be written, for both commands: said early, and nothing left behind."""

from __future__ import annotations

import os
import resource
from collections.abc import Sequence
from pathlib import Path

import pytest

from cli_helpers import Runner, start


def test_output_in_no_folder(score: Runner, clips: Path, tmp_path: Path) -> None:
    target = tmp_path / "nowhere" / "report.json"
    ran = score(clips / "ref.y4m", clips / "dis.y4m", "-o", str(target))
    assert ran.code == 1
    assert "report.json" in ran.err


def test_output_is_known_to_fail_before_anything_is_read(score: Runner, tmp_path: Path) -> None:
    target = tmp_path / "nowhere" / "report.json"
    ran = score("no-such.y4m", "no-such.y4m", "-o", str(target))
    assert "report.json" in ran.err


def test_output_without_a_name(score: Runner, command: str, clips: Path) -> None:
    options = ["--format", "json"] if command == "acuity" else []
    assert score(clips / "ref.y4m", clips / "dis.y4m", *options, "-o", "").code == 1


def test_output_is_a_folder(score: Runner, clips: Path, tmp_path: Path) -> None:
    (tmp_path / "folder.json").mkdir()
    ran = score(clips / "ref.y4m", clips / "dis.y4m", "-o", str(tmp_path / "folder.json"))
    assert ran.code == 1
    assert "folder.json" in ran.err


def test_output_would_overwrite_an_input(score: Runner, clips: Path, tmp_path: Path) -> None:
    ref = tmp_path / "ref.json"
    ref.write_bytes((clips / "ref.y4m").read_bytes())
    ran = score(ref, clips / "dis.y4m", "-o", str(ref))
    assert ran.code == 1
    assert "overwrite" in ran.err
    assert ref.read_bytes() == (clips / "ref.y4m").read_bytes()


def _command_line(command: str, clips: Path, output: str) -> tuple[str, Sequence[str]]:
    ref, dis = str(clips / "ref.y4m"), str(clips / "dis.y4m")
    if command == "vmaf":
        return "vmaf", ["-q", "-r", ref, "-d", dis, "--json", "-o", output]
    return "main", ["score", ref, dis, "-q", "--format", "json", "-o", output]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_full_device(command: str, clips: Path) -> None:
    ran = start(*_command_line(command, clips, "/dev/full"))
    assert ran.returncode == 1
    assert ran.stderr.startswith(f"{command}: ")
    assert "No space left" in ran.stderr
    assert len(ran.stderr.splitlines()) == 1


def test_full_disk_leaves_no_file(command: str, clips: Path, tmp_path: Path) -> None:
    """A limit on the size of files makes writes fail halfway, as a full disk does."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    kept = tmp_path / "report.json"
    kept.write_text("yesterday's")
    ran = start(*_command_line(command, clips, str(kept)), preexec_fn=limit)
    assert ran.returncode == 1
    assert len(ran.stderr.splitlines()) == 1
    assert "report.json" in ran.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["report.json"]
    assert kept.read_text() == "yesterday's"
