"""The pictures that are compared: display, crop, colour and deinterlacing in both commands and Python."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from av.video.reformatter import Interpolation

import acuity
from acuity.video.readers.open import open_video
from cli_helpers import HEIGHT, WIDTH, Cli

EXACT = Interpolation.ACCURATE_RND | Interpolation.BITEXACT


@pytest.fixture
def pair(clips: Path) -> list[str]:
    return [str(clips / "ref.y4m"), str(clips / "dis.y4m")]


def document(cli: Cli, *argv: str) -> dict[str, Any]:
    ran = cli.acuity("score", *argv, "--json")
    assert (ran.code, ran.err) == (0, "")
    parsed: dict[str, Any] = json.loads(ran.out)
    return parsed


def frames(path: str) -> list[av.VideoFrame]:
    made = []
    with open_video(path) as reader:
        for picture in reader:
            planes = [plane.reshape(-1, WIDTH) for plane in picture.planes]
            made.append(av.VideoFrame.from_ndarray(np.concatenate(planes), "yuv420p"))
    return made


def raw(path: Path, pictures: list[np.ndarray]) -> Path:
    path.write_bytes(b"".join(np.ascontiguousarray(picture).tobytes() for picture in pictures))
    return path


@pytest.mark.parametrize("filter", ["bicubic", "lanczos"])
def test_a_display_is_filled_by_both(cli: Cli, pair: list[str], tmp_path: Path, filter: str) -> None:
    size = 1620, 1080
    flags = Interpolation[filter.upper()] | EXACT
    paths = [
        raw(
            tmp_path / f"{i}.yuv", [f.reformat(*size, interpolation=flags).to_ndarray() for f in frames(path)]
        )
        for i, path in enumerate(pair)
    ]
    truth = acuity.score(*paths, width=size[0], height=size[1], pixel_format="420", bitdepth=8).score
    found = document(cli, *pair, "--display", "1080p", "--filter", filter)
    assert found["score"] == truth
    assert (found["width"], found["height"]) == size
    assert (found["input"]["display"], found["input"]["filter"]) == ("1080p", filter)
    assert acuity.score(*pair, display="1080p", filter=filter).score == truth
    assert found["model_reason"] == "the default for pictures of 1620x1080, the size of a 1080p display"
    assert "display" not in [note["code"] for note in found["notes"]]


def test_the_summary_says_the_display_and_names_the_option(cli: Cli, pair: list[str]) -> None:
    shown = cli.acuity("score", *pair)
    assert "pass --display 1080p to score both videos as they fill it" in shown.out
    shown = cli.acuity("score", *pair, "--display", "auto")
    assert "vmaf_v0.6.1, scored at 8 bit, filling a 1080p display" in shown.out
    assert "both are compared at 1620x1080" in shown.err


def test_a_crop_is_cut_from_both(cli: Cli, pair: list[str], tmp_path: Path) -> None:
    lumas = [[f.to_ndarray()[:HEIGHT][2:36, 8:48] for f in frames(path)] for path in pair]
    paths = [raw(tmp_path / f"{i}.yuv", pictures) for i, pictures in enumerate(lumas)]
    truth = acuity.score(*paths, width=40, height=34, pixel_format="400", bitdepth=8).score
    found = document(cli, *pair, "--crop", "40:34:8:2")
    assert found["score"] == truth
    assert found["input"]["crop"] == [40, 34, 8, 2]
    assert acuity.score(*pair, crop="40:34:8:2").score == truth
    ran = cli.vmaf("-r", pair[0], "-d", pair[1], "--crop", "40:34:8:2")
    assert float(ran.err.splitlines()[-1].split()[-1]) == pytest.approx(truth, abs=1e-6)


def test_vmaf_compares_y4m_as_libvmaf_does(cli: Cli, pair: list[str], tmp_path: Path) -> None:
    tagged = []
    for path, tag in zip(pair, ("LIMITED", "FULL"), strict=True):
        head, body = Path(path).read_bytes().split(b"\n", 1)
        tagged.append(str(tmp_path / f"{tag}.y4m"))
        Path(tagged[-1]).write_bytes(head + f" XCOLORRANGE={tag}".encode() + b"\n" + body)
    plain = cli.vmaf("-r", pair[0], "-d", pair[1]).err.splitlines()
    told = cli.vmaf("-r", tagged[0], "-d", tagged[1]).err.splitlines()
    assert told[-1] == plain[-1]
    assert [line for line in told if "the samples are compared as they are" in line]
    assert not [line for line in plain if "display" in line]
    converted = cli.vmaf("-r", tagged[0], "-d", tagged[1], "--colour", "convert").err.splitlines()
    assert converted[-1] != plain[-1]
    found = document(cli, *tagged)
    assert converted[-1] == f"vmaf_v0.6.1: {found['score']:.6f}"
    assert found["input"]["conversions"] == [f"'{tagged[1]}' is taken from full to limited range"]
