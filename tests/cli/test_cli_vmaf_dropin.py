"""`vmaf` in the place of libvmaf 3.2.0's: what that takes it takes, and it writes what that writes."""

from __future__ import annotations

import json
import os
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from acuity import __version__
from cli_helpers import FRAMES, GEOMETRY, Cli, moving, y4m

# As VmafexecQualityRunner writes it, whatever the model is.
ENCODED = ":cambi.enc_width=576:cambi.enc_height=324:cambi.enc_bitdepth=8"
LIMITS = (
    ":vif.vif_enhn_gain_limit=1.0:float_vif.vif_enhn_gain_limit=1.0"
    ":adm.adm_enhn_gain_limit=1.0:float_adm.adm_enhn_gain_limit=1.0"
)


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


def test_gain_limits_for_both_kinds_of_model(cli: Cli, pair: list[str]) -> None:
    neg = cli.vmaf(*pair, "-m", "version=vmaf_v0.6.1neg", "-q").err.partition(": ")[2]
    ran = cli.vmaf(*pair, "-m", f"version=vmaf_v0.6.1{LIMITS}", "-q")
    warning, score = ran.err.splitlines(keepends=True)
    assert score == f"vmaf_v0.6.1: {neg}"  # those that the model uses are used
    assert warning.endswith(": float_vif.vif_enhn_gain_limit, float_adm.adm_enhn_gain_limit\n")


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


def test_one_warning_for_several_models_and_features(cli: Cli, pair: list[str]) -> None:
    models = ["-m", "version=vmaf_v0.6.1:a.b=1", "-m", "version=vmaf_v0.6.1neg:a.b=1:c.d=1:name=neg"]
    ran = cli.vmaf(*pair, *models, "--feature", "vif=debug=true:x=1", "-q")
    assert [line for line in ran.err.splitlines() if "warning" in line] == [
        "vmaf: warning: ignored, as libvmaf does, because the model or extractor has no such option: "
        "a.b, c.d, vif=x"
    ]


@pytest.mark.parametrize(
    "mask", [["--cpumask", "-1"], ["-c", "-1"], ["--cpumask=-1"], ["-c", "-2"], ["--cpumask", "99999999999"]]
)
def test_masks_as_scripts_write_them(cli: Cli, pair: list[str], mask: list[str]) -> None:
    assert cli.vmaf(*pair, *mask, "--gpumask", "-1").err == cli.vmaf(*pair).err


def test_a_device_that_gives_everybody_the_same(cli: Cli, tmp_path: Path) -> None:
    zeros = ["-r", "/dev/zero", "-d", "/dev/zero", *GEOMETRY]
    ran = cli.vmaf(*zeros, "--frame_cnt", "3", "--csv", "-o", str(tmp_path / "out"))
    assert ran.code == 0
    assert len((tmp_path / "out").read_text().splitlines()) == 1 + 3


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


def test_cambis_older_name_of_an_option_is_not_looked_at(cli: Cli, tmp_path: Path) -> None:
    large = tmp_path / "large.y4m"
    large.write_bytes(y4m(moving(2, width=320, height=240), width=320, height=240))
    out = tmp_path / "out.csv"

    def figures(options: str) -> list[str]:
        line = [
            "-r",
            str(large),
            "-d",
            str(large),
            "-n",
            "--feature",
            f"cambi={options}",
            "--csv",
            "-o",
            str(out),
        ]
        assert cli.vmaf(*line).code == 0
        return out.read_text().splitlines()

    both, newer = figures("eotf=xxx:cambi_eotf=pq"), figures("cambi_eotf=pq")
    assert both[0] == "Frame,cambi_ceot_pq_eotf_xxx,"
    assert both[1:] == newer[1:]
    for alone in ("eotf=xxx", "cambi_eotf=xxx", "eotf=xxx:cambi_eotf=bt1886", "eotf=<x>:cambi_eotf=pq"):
        ran = cli.vmaf("-r", str(large), "-d", str(large), "-n", "--feature", f"cambi={alone}")
        assert ran.code == 255
        assert "must be one of bt1886, pq" in ran.err


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


def test_all_figures_of_a_sequential_extractor_come_first(cli: Cli, pair: list[str], tmp_path: Path) -> None:
    """The late ones too, as libvmaf has it where no other thread is faster."""
    out = tmp_path / "out"
    features = [f"--feature={name}" for name in ("float_motion", "psnr", "float_vif")]
    cli.vmaf(*pair, "-n", *features, "--threads", "2", "--csv", "-q", "-o", str(out))
    scales = [f"vif_scale{scale}" for scale in range(4)]
    assert columns(out) == ["motion2", "motion", *SEQUENTIAL, "motion3", *scales]


def test_without_threads_only_their_derived_figures_come_earlier(
    cli: Cli, pair: list[str], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    cli.vmaf(*pair, "--feature", "float_motion", "--csv", "-q", "-o", str(out))
    assert columns(out)[-6:] == ["motion2", "motion", "motion3", "integer_motion2", "integer_motion3", "vmaf"]


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


def test_both_end_together_after_skipping(cli: Cli, pair: list[str], tmp_path: Path) -> None:
    skipping = ["--frame_skip_ref", "2", "--frame_skip_dist", "2"]
    assert cli.vmaf(*pair, *skipping, "-q", "-o", str(tmp_path / "out")).err == ""


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
