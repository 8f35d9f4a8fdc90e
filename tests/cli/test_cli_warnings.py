"""Warnings: where both commands say them, what reports hold of them, and --strict."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from cli_helpers import FRAME_BYTES, Cli, moving, y4m
from misaligned_clips import encode_luma, frames_of

ENDED = "ended before"


@pytest.fixture
def short(clips: Path, tmp_path: Path) -> tuple[str, str]:
    """A pair with a warning: the encode lacks its last frame."""
    path = tmp_path / "short.y4m"
    path.write_bytes(y4m(moving(noise=25)[: 4 * FRAME_BYTES]))
    return str(clips / "ref.y4m"), str(path)


@pytest.fixture
def whole(clips: Path) -> tuple[str, str]:
    return str(clips / "ref.y4m"), str(clips / "dis.y4m")


@pytest.mark.parametrize("option", ["-q", "--json"])
def test_where_there_is_no_summary_stderr_has_warnings(cli: Cli, short: tuple[str, str], option: str) -> None:
    ran = cli.acuity("score", *short, "--subsample", "2", option)
    assert ran.code == 0
    (line,) = ran.err.splitlines()
    assert line.startswith("acuity: warning: ")
    assert ENDED in line


@pytest.mark.parametrize("command", ["vmaf", "acuity"])
def test_strict_is_an_exit_code_and_nothing_is_lost(
    cli: Cli, short: tuple[str, str], whole: tuple[str, str], tmp_path: Path, command: str
) -> None:
    def code(pair: tuple[str, str], *options: str) -> int:
        out = tmp_path / f"{command}.json"
        out.unlink(missing_ok=True)
        if command == "acuity":
            ran = cli.acuity("score", *pair, "-o", str(out), *options)
        else:
            ran = cli.vmaf("-r", pair[0], "-d", pair[1], "--json", "-o", str(out), *options)
        assert out.exists()
        return ran.code

    assert code(short) == 0
    assert code(short, "--strict") == 3
    assert code(whole, "--strict") == 0
    assert code(whole, "--strict", "--subsample", "2") == 0  # asked for, so no warning


def test_reports_of_vmaf_have_notes(cli: Cli, short: tuple[str, str], tmp_path: Path) -> None:
    ref, dis = short
    out = tmp_path / "out"
    line = ["-r", ref, "-d", dis, "--subsample", "2", "--frame_cnt", "3", "-q", "-o", str(out)]
    cli.vmaf(*line, "--json")
    notes = json.loads(out.read_text())["acuity"]["notes"]
    assert [note["code"] for note in notes] == ["frame-limit", "subsampled"]
    cli.vmaf(*line[:4], "--frame_skip_ref", "1", "--align", "off", *line[-3:])
    found = ET.parse(out).getroot().findall("acuity/note")
    assert [(note.get("level"), note.get("code")) for note in found] == [("info", "skipped")]
    assert found[0].text is not None
    assert found[0].text.startswith("left out: the first frame of '")
    cli.vmaf(*line[:4], *line[-3:])
    (note,) = ET.parse(out).getroot().findall("acuity/note")
    assert note.get("level") == "warning"
    assert note.text is not None
    assert ENDED in note.text


@pytest.mark.parametrize(("width", "height", "warned"), [(48, 32, True), (32, 48, True), (34, 34, False)])
def test_pictures_that_libvmaf_measures_by_chance(
    cli: Cli, tmp_path: Path, width: int, height: int, warned: bool
) -> None:
    size = {"width": width, "height": height}
    pair = [tmp_path / "ref.y4m", tmp_path / "dis.y4m"]
    for path, noise in zip(pair, (0, 25), strict=True):
        path.write_bytes(y4m(moving(2, noise=noise, **size), **size))
    text = "libvmaf's adm reads memory that isn't the picture's"
    said = cli.acuity("score", *map(str, pair), "-q").err
    assert (text in said) == warned
    assert text not in cli.acuity("score", *map(str, pair), "--metrics", "psnr", "-q").err


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """A source, and an encode that lost its first frame."""
    folder, frames = tmp_path_factory.mktemp("pair"), frames_of("grain")[:40]
    ref = encode_luma(folder / "src.mkv", frames, codec="ffv1")
    return str(ref), str(encode_luma(folder / "x.mp4", frames[1:], crf="28"))


def test_acuity_refuses_with_its_own_options(cli: Cli, pair: tuple[str, str]) -> None:
    ran = cli.acuity("score", *pair)
    assert ran.code == 1
    assert ran.err.endswith(
        "is 1 frame ahead of "
        f"'{pair[0]}' from frame 0 on (frames 0 to 7 match frames 1 to 8 far better):"
        " pass --skip-ref 1, or --align auto\n"
    )
    assert ran.out == ""


def test_vmaf_scores_and_warns(cli: Cli, pair: tuple[str, str]) -> None:
    for quiet in ([], ["-q"]):
        ran = cli.vmaf("-r", pair[0], "-d", pair[1], *quiet)
        assert ran.code == 0
        assert "vmaf: warning: " in ran.err
        assert "is 1 frame ahead of" in ran.err
    off = cli.vmaf("-r", pair[0], "-d", pair[1], "--align", "off")
    assert (off.code, "ahead" in off.err) == (0, False)
    refused = cli.vmaf("-r", pair[0], "-d", pair[1], "--align", "refuse")
    assert refused.code == 255
    assert refused.err.endswith("pass --frame_skip_ref 1, or --align auto\n")
