"""`vmaf` in the place of libvmaf 3.2.0's: what that takes it takes, and it writes what that writes."""

from __future__ import annotations

import json
import os
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from acuity import __version__
from cli_helpers import FRAME_BYTES, FRAMES, GEOMETRY, Cli, moving, y4m
from misaligned_clips import encode_luma, frames_of

# As VmafexecQualityRunner writes it, whatever the model is.
ENCODED = ":cambi.enc_width=576:cambi.enc_height=324:cambi.enc_bitdepth=8"


def columns(path: Path) -> list[str]:
    return path.read_text().splitlines()[0].split(",")[1:-1]


# ---- what it takes --------------------------------------------------------------------------


def test_options_that_the_model_has_no_use_for(cli: Cli, pair: list[str]) -> None:
    plain = cli.vmaf(*pair)
    ran = cli.vmaf(*pair, "-m", f"version=vmaf_v0.6.1{ENCODED}")
    assert ran.code == 0
    warning, *rest = ran.err.splitlines(keepends=True)
    assert "".join(rest) == plain.err
    assert warning.startswith("vmaf: warning: ignored, as libvmaf does, ")
    assert warning.endswith(": cambi.enc_width, cambi.enc_height, cambi.enc_bitdepth\n")


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["-m", "version=vmaf_v0.6.1:foo.bar=1"], "foo.bar"),
        (["-m", "version=vmaf_v0.6.1:cambi.enc_width=abc"], "cambi.enc_width"),
        (["-m", "version=vmaf_v0.6.1:adm.nonsense=1"], "adm.nonsense"),
        (["--feature", "motion=nonsense=1"], "motion=nonsense"),
    ],
)
def test_one_warning_names_what_is_ignored(
    cli: Cli, pair: list[str], tmp_path: Path, options: list[str], named: str
) -> None:
    ran = cli.vmaf(*pair, *options, "-q", "-o", str(tmp_path / "out"))
    assert ran.code == 0
    assert ran.err.endswith(f": {named}\n")
    assert ran.err.count("\n") == 1


def test_a_pipe_has_its_bytes_only_once(cli: Cli, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    keep = os.open(pipe, os.O_RDWR)
    try:
        ran = cli.vmaf("-r", str(pipe), "-d", str(pipe), *GEOMETRY)
    finally:
        os.close(keep)
    assert ran.code == 255
    assert "both videos are to come from" in ran.err


# ---- what it writes -------------------------------------------------------------------------

SEQUENTIAL = ["psnr_y", "psnr_cb", "psnr_cr"]


@pytest.mark.parametrize("threads", ["1", "3"])
def test_with_threads_libvmafs_sequential_figures_come_first(
    cli: Cli, pair: list[str], tmp_path: Path, threads: str
) -> None:
    out = tmp_path / "out"
    line = [*pair, "--feature", "float_ssim", "--feature", "psnr", "-q", "-o", str(out)]
    cli.vmaf(*line, "--csv")
    usual = columns(out)
    assert usual[-6:] == ["float_ssim", *SEQUENTIAL, "integer_motion2", "integer_motion3", "vmaf"][-6:]
    expected = SEQUENTIAL + [name for name in usual if name not in SEQUENTIAL]
    cli.vmaf(*line, "--csv", "--threads", threads)
    assert columns(out) == expected
    cli.vmaf(*line, "--json", "--threads", threads)
    document = json.loads(out.read_text())
    assert list(document["frames"][0]["metrics"]) == list(document["pooled_metrics"]) == expected
    cli.vmaf(*line, "--csv", "--threads", "0")  # which is none in libvmaf
    assert columns(out) == usual


def test_reports_say_whose_format_they_have_and_who_wrote_them(
    cli: Cli, pair: list[str], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    cli.vmaf(*pair, "-q", "-o", str(out))
    root = ET.parse(out).getroot()
    assert root.get("version") == "3.2.0"
    written_by = root.find("acuity")
    assert written_by is not None
    assert dict(written_by.attrib) == {"version": __version__}
    cli.vmaf(*pair, "-q", "--json", "-o", str(out))
    document = json.loads(out.read_text())
    assert document["version"] == "3.2.0"
    command = f"vmaf {' '.join(pair)} -q --json -o {out}"
    assert document["acuity"] == {"version": __version__, "notes": [], "command": command}
    cli.acuity("score", *pair[1::2], "-q", "-o", str(tmp_path / "ours.xml"))
    ours = ET.parse(tmp_path / "ours.xml").getroot()
    assert ours.get("version") == __version__


# ---- what it says ---------------------------------------------------------------------------


@pytest.mark.parametrize(("skips", "first"), [(("2", "1"), "ref"), (("1", "2"), "dis"), (("0", "3"), "dis")])
def test_a_video_that_ends_first_is_named_also_when_quiet(
    cli: Cli, pair: list[str], tmp_path: Path, skips: tuple[str, str], first: str
) -> None:
    out = tmp_path / "out"
    skipping = ["--frame_skip_ref", skips[0], "--frame_skip_dist", skips[1]]
    ran = cli.vmaf(*pair, *skipping, "-q", "--csv", "-o", str(out))
    left = FRAMES - max(map(int, skips))
    assert len(out.read_text().splitlines()) == 1 + left  # as many as libvmaf has
    assert ran.err.startswith("vmaf: warning: '")
    assert f"{first}.y4m' ended before '" in ran.err
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize("name", ["vmaf_b_v0.6.3", "vmaf_float_v0.6.1neg", "vmaf_float_4k_v0.6.1"])
def test_a_model_that_only_libvmaf_carries(
    cli: Cli, pair: list[str], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.delenv("ACUITY_MODEL_PATH", raising=False)
    ran = cli.vmaf(*pair, "-m", f"version={name}")
    assert ran.code == 255
    assert ran.err.count(f"{name}.json") == 1
    for words in ("https://github.com/Netflix/vmaf/tree/master/model", "path=FILE", "ACUITY_MODEL_PATH"):
        assert ran.err.count(words) == 1


# ---- Warnings: where both commands say them, what reports hold of them, and --strict ----


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


def test_strict_is_an_exit_code_and_nothing_is_lost(
    cli: Cli, short: tuple[str, str], whole: tuple[str, str], tmp_path: Path, command: str
) -> None:
    def code(pair: tuple[str, str], *options: str) -> int:
        out = tmp_path / f"{command}.json"
        out.unlink(missing_ok=True)
        ran = cli.score(command, *pair, "-o", str(out), *options)
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
def late_pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """A source, and an encode that lost its first frame."""
    folder, frames = tmp_path_factory.mktemp("pair"), frames_of("grain")[:40]
    ref = encode_luma(folder / "src.mkv", frames, codec="ffv1")
    return str(ref), str(encode_luma(folder / "x.mp4", frames[1:], crf="28"))


def test_acuity_refuses_with_its_own_options(cli: Cli, late_pair: tuple[str, str]) -> None:
    ran = cli.acuity("score", *late_pair)
    assert ran.code == 1
    assert ran.err.endswith(
        "is 1 frame ahead of "
        f"'{late_pair[0]}' from frame 0 on (frames 0 to 7 match frames 1 to 8 far better):"
        " pass --skip-ref 1, or --align auto\n"
    )
    assert ran.out == ""


def test_vmaf_scores_and_warns(cli: Cli, late_pair: tuple[str, str]) -> None:
    for quiet in ([], ["-q"]):
        ran = cli.vmaf("-r", late_pair[0], "-d", late_pair[1], *quiet)
        assert ran.code == 0
        assert "vmaf: warning: " in ran.err
        assert "is 1 frame ahead of" in ran.err
    off = cli.vmaf("-r", late_pair[0], "-d", late_pair[1], "--align", "off")
    assert (off.code, "ahead" in off.err) == (0, False)
    refused = cli.vmaf("-r", late_pair[0], "-d", late_pair[1], "--align", "refuse")
    assert refused.code == 255
    assert refused.err.endswith("pass --frame_skip_ref 1, or --align auto\n")
