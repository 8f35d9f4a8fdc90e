"""--align: the same sentence in each command's own spelling, and what `vmaf` does instead of refusing."""

from __future__ import annotations

import json

import pytest

from cli_helpers import Cli
from misaligned_clips import encode_luma, frames_of


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


def test_its_advice_works_and_gives_the_same_score(cli: Cli, pair: tuple[str, str]) -> None:
    skipped = json.loads(cli.acuity("score", *pair, "--skip-ref", "1", "--json").out)
    aligned = json.loads(cli.acuity("score", *pair, "--align", "auto", "--json").out)
    assert aligned["score"] == skipped["score"]
    assert [decision["leave_out_ref"] for decision in aligned["input"]["alignment"]["decisions"]] == [1]
    assert "alignment" in {note["code"] for note in aligned["notes"]}


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
