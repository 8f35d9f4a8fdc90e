"""`vmaf` in the place of libvmaf 3.2.0's: what that takes it takes, and it writes what that writes."""

from __future__ import annotations

import json
import os
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from acuity import __version__
from cli_helpers import FRAMES, GEOMETRY, Cli

# As VmafexecQualityRunner writes it, whatever the model is.
ENCODED = ":cambi.enc_width=576:cambi.enc_height=324:cambi.enc_bitdepth=8"


@pytest.fixture
def pair(clips: Path) -> list[str]:
    return ["-r", str(clips / "ref.y4m"), "-d", str(clips / "dis.y4m")]


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


@pytest.mark.parametrize("name", ["psnr_y", "integer_adm2", "frameNum", "VMAF_integer_feature_adm2_score"])
@pytest.mark.parametrize("program", ["vmaf", "acuity"])
def test_a_model_labelled_like_a_column(cli: Cli, pair: list[str], program: str, name: str) -> None:
    options = ["-m", f"version=vmaf_v0.6.1:name={name}", "--feature", "psnr"]
    ran = cli.score(program, *pair[1::2], *options)
    assert ran.code == 1
    assert f"would be reported as '{name}', which is the name of another column" in ran.err
