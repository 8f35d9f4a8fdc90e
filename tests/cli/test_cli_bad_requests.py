"""Models, features and options that make no sense, for both commands; refused as bad input is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli_helpers import Cli, Runner
from small_model import small_document

REFUSED = None  # the code of the command for what it refuses


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        ("-m version=vmaf_v0.6.9", REFUSED, "vmaf_v0.6.1"),
        ("-m version=vmaf_v0.6.1:adm.adm_csf_mode=7", REFUSED, "adm_csf_mode cannot be '7': it must be"),
        ("--feature vifff", REFUSED, "vifff"),
        ("--feature vif=vif_enhn_gain_limit=1000", REFUSED, "1000"),
        ("--feature vif=vif_enhn_gain_limit=many", REFUSED, "many"),
        ("--feature psnr=min_sse=-1", REFUSED, "min_sse cannot be '-1': it must be 0 or more"),
        ("--feature psnr=enable_mse=2", REFUSED, "enable_mse cannot be '2': it must be true or false"),
        ("--feature=", REFUSED, "feature"),
        ("--feature vif=debug", 1, "'debug' is no option=value"),
        ("--threads 4000000000", REFUSED, "threads 4000000000"),
        ("--backend cuda", 100, "cuda"),
        *((option, 1, "--help") for option in ("--frobnicate", "--threads=many", "--threads=-1")),
        *((option, 1, "--help") for option in ("--subsample=x", "--width=x", "--backend")),
    ],
)
def test_wrong_options(score: Runner, clips: Path, options: str, code: int | None, words: str) -> None:
    ran = score(clips / "ref.y4m", clips / "dis.y4m", *options.split())
    assert ran.refused if code is REFUSED else ran.code == code
    assert words in ran.err


@pytest.mark.parametrize("spec", ["", "version=", "path=", ":", "name=only", "version=vmaf_v0.6.1:what=ever"])
def test_malformed_model_option(score: Runner, clips: Path, spec: str) -> None:
    assert score(clips / "ref.y4m", clips / "dis.y4m", "-m", spec).code == 1


def _changed(**changes: object) -> str:
    document = small_document()
    document["model_dict"].update(changes)
    return json.dumps(document)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--feature", "vif=vif_gain=1"], "vif_gain"),
        (["--feature", "vif=vif_enhn_gain_limi=2"], "did you mean vif_enhn_gain_limit?"),
        (["--feature", "vif=adm_csf_mode=2"], "vif has no option 'adm_csf_mode', which "),
        (
            ["-m", "version=vmaf_v0.6.1:cambi.enc_width=640"],
            "does not use the extractor 'cambi'; it uses adm, ",
        ),
        (["-m", "version=vmaf_v0.6.1:vif.vif_gain=1"], "cannot be measured: vif has no option 'vif_gain'"),
    ],
)
def test_acuity_refuses_options_that_do_nothing(
    cli: Cli, clips: Path, options: list[str], words: str
) -> None:
    """`vmaf` ignores them as libvmaf does: see test_cli_vmaf_dropin.py."""
    ran = cli.acuity("score", str(clips / "ref.y4m"), str(clips / "dis.y4m"), *options)
    assert ran.refused
    assert words in ran.err


def test_a_model_that_needs_what_no_extractor_gives(score: Runner, clips: Path, tmp_path: Path) -> None:
    model = tmp_path / "odd.json"
    model.write_text(_changed(feature_names=["VMAF_feature_magic_score", "VMAF_integer_feature_adm2_score"]))
    ran = score(clips / "ref.y4m", clips / "dis.y4m", "-m", f"path={model}")
    assert "odd.json' needs VMAF_feature_magic_score, which this version cannot measure" in ran.err


@pytest.mark.parametrize(
    ("options", "code"), [(("--device", "9" * 5000), 1), (("--backend", f"cuda:{'9' * 5000}"), 100)]
)
def test_the_number_of_a_card_has_few_digits(
    score: Runner, clips: Path, options: tuple[str, ...], code: int
) -> None:
    ran = score(clips / "ref.y4m", clips / "dis.y4m", *options)
    assert ran.code == code
    assert "99999…99999" in ran.err
    assert len(ran.err) < 300
