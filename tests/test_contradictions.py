"""Requests that make no sense: one sentence with the remedy, in the spelling of each way in."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import acuity
from acuity.cli.main import main as acuity_command
from acuity.cli.vmaf import main as vmaf_command
from acuity.errors import AcuityError, to_set
from acuity.scoring.fronts import ACUITY, ENCODED, VMAF, Front
from misaligned_clips import HEIGHT, WIDTH, Luma, encode_luma, frames_of
from scoring_clips import GEOMETRY, raw
from scoring_room import ask_once

Capture = pytest.CaptureFixture[str]
COUNT = 40


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("clips")
    frames = frames_of("grain")[:COUNT]
    flat: list[Luma] = [np.full((HEIGHT, WIDTH), 90, np.uint8)] * COUNT
    encode_luma(made / "ref.mkv", frames, codec="ffv1")
    encode_luma(made / "dis.mp4", frames, crf="28")
    encode_luma(made / "twice.mp4", [frames[n // 2] for n in range(COUNT)], crf="28")
    encode_luma(made / "unrelated.mp4", frames_of("cuts")[:COUNT], crf="28")
    encode_luma(made / "backwards.mp4", frames[::-1], crf="28")
    encode_luma(made / "flat.mkv", flat, codec="ffv1")
    encode_luma(made / "flat.mp4", flat, crf="28")
    encode_luma(made / "one.mkv", frames[:1], codec="ffv1")
    encode_luma(made / "one.mp4", frames[:1], crf="28")
    raw(made / "one.yuv", 1)
    return made


# The two videos, the settings of the request, what is said, and the settings that would settle it.
CASES: dict[str, tuple[str, str, dict[str, Any], str, list[tuple[str, str]]]] = {
    "an offset longer than the clip": (
        "ref.mkv",
        "dis.mp4",
        {"skip_ref": 1000},
        "have no frame in common after skipping 1000 and 0 frames: skip fewer",
        [],
    ),
    "an offset longer than the clip, with auto": (
        "ref.mkv",
        "dis.mp4",
        {"skip_dis": 1000, "align": "auto"},
        "have no frame in common after skipping 0 and 1000 frames: skip fewer",
        [],
    ),
    "a reference of one colour": (
        "flat.mkv",
        "dis.mp4",
        {"align": "refuse"},
        "dis.mp4' shows other content than '.*flat.mkv' from frame 0 on",
        [("align", "off")],
    ),
    "two videos of one colour": (
        "flat.mkv",
        "flat.mp4",
        {"align": "auto"},
        "flat.mkv' shows next to nothing, so its frames cannot be aligned",
        [("align", "off")],
    ),
    "two unrelated films": (
        "ref.mkv",
        "unrelated.mp4",
        {"align": "refuse"},
        "unrelated.mp4' shows other content than '.*ref.mkv' from frame 0 on",
        [("align", "off")],
    ),
    "two unrelated films, with auto": (
        "ref.mkv",
        "unrelated.mp4",
        {"align": "auto"},
        "shows other content than .*, which cannot be put right by leaving out frames",
        [("align", "off")],
    ),
    "the frames backwards": (
        "ref.mkv",
        "backwards.mp4",
        {"align": "refuse"},
        "backwards.mp4' shows the frames of '.*ref.mkv' backwards .frame n matches frame 39 - n.",
        [("align", "off")],
    ),
    "every frame twice": (
        "ref.mkv",
        "twice.mp4",
        {"align": "refuse"},
        "twice.mp4' shows every frame of '.*ref.mkv' twice",
        [("align", "off")],
    ),
    "backwards, with auto": (
        "ref.mkv",
        "backwards.mp4",
        {"align": "auto"},
        "backwards.mp4' ",
        [("align", "off")],
    ),
    "nothing to align": (
        "one.mkv",
        "one.mp4",
        {"align": "auto"},
        "only one frame of '.*one.mp4' is compared with one of '.*one.mkv', so there is nothing to align",
        [("align", "off")],
    ),
    "two rules for pairing": (
        "ref.mkv",
        "dis.mp4",
        {"align": "auto", "rate": "by-index"},
        "compares frame n with frame n, and .* does not: pass one of them",
        [("align", "auto"), ("rate", "by-index")],
    ),
    "scaling and no scaling": (
        "ref.mkv",
        "dis.mp4",
        {"display": "1080p", "scale": "never"},
        "scales nothing, and .* scales both videos",
        [("display", "native"), ("scale", "auto")],
    ),
    "a crop beyond the picture": (
        "ref.mkv",
        "dis.mp4",
        {"crop": "320:200:0:0"},
        "reaches beyond the 320x180 of '.*ref.mkv': choose a smaller part",
        [("crop", "320:200:0:0")],
    ),
    "a crop that is none": (
        "ref.mkv",
        "dis.mp4",
        {"crop": "all"},
        "is no part of a picture: write auto, or WIDTH:HEIGHT:LEFT:TOP in pixels",
        [("crop", "all")],
    ),
}


def check(said: str, name: str, spell: Callable[..., str]) -> None:
    """One sentence, with the remedies spelled as this way in does."""
    _, _, _, words, remedies = CASES[name]
    assert re.search(words, said), said
    assert "\n" not in said.strip()
    for setting, value in remedies:
        assert spell(to_set(setting, value)) in said


def line(front: Front, name: str) -> list[str]:
    settings = CASES[name][2]
    return [word for key, value in settings.items() for word in (f"--{front.name(key)}", str(value))]


# One for each set of remedies: how they are spelled is what differs between the ways in.
SPELLED = [
    "an offset longer than the clip",
    "two unrelated films",
    "two rules for pairing",
    "scaling and no scaling",
    "a crop beyond the picture",
    "a crop that is none",
]


@pytest.mark.parametrize("name", SPELLED)
def test_acuity_score(name: str, folder: Path, capsys: Capture) -> None:
    ref, dis, settings, *_ = CASES[name]
    code = acuity_command(["score", str(folder / ref), str(folder / dis), *line(ACUITY, name)])
    printed = capsys.readouterr()
    assert (code, printed.out) == (101 if 1000 in settings.values() else 1, "")
    sentences = [text for text in printed.err.splitlines() if not text.startswith("  ")]
    assert len(sentences) == 1
    check(sentences[0], name, ACUITY.spell)


@pytest.mark.parametrize("name", [name for name in SPELLED if set(CASES[name][2]) <= {*VMAF.settings}])
def test_vmaf(name: str, folder: Path, capsys: Capture) -> None:
    ref, dis, *_ = CASES[name]
    code = vmaf_command(["-r", str(folder / ref), "-d", str(folder / dis), *line(VMAF, name)])
    printed = capsys.readouterr()
    assert (code in (101, 255), printed.out) == (True, "")
    check(printed.err.splitlines()[-1], name, VMAF.spell)


@pytest.mark.parametrize("name", CASES)
def test_python(name: str, folder: Path) -> None:
    ref, dis, settings, *_ = CASES[name]
    with pytest.raises(AcuityError) as caught:
        acuity.score(folder / ref, folder / dis, **settings)
    check(str(caught.value), name, str)


def test_the_tool_for_encoded_files(folder: Path) -> None:
    for name in SPELLED:
        ref, dis, settings, *_ = CASES[name]
        paths = {"reference_encoded": str(folder / ref), "distorted_encoded": str(folder / dis)}
        given = {ENCODED.name(setting): value for setting, value in settings.items()}
        found = ask_once(folder, "vmaf_score_encoded", **paths, **given)
        check(found["error"], name, ENCODED.spell)


def test_raw_video_of_one_frame(folder: Path, capsys: Capture) -> None:
    path, says = str(folder / "one.yuv"), "so there is nothing to align: pass "
    size = f"{GEOMETRY['width']}x{GEOMETRY['height']}"
    assert (
        acuity_command(["score", path, path, "--size", size, "-p", "420", "-b", "8", "--align", "auto"]) == 1
    )
    assert f"{says}--align off" in capsys.readouterr().err
    found = ask_once(folder, "vmaf_score", ref=path, dis=path, **GEOMETRY, align="auto")
    assert found["error"].endswith(f"{says}align=off")


# What `acuity score` prints, writes or reads, asked for in two ways.
LINES = {
    "--per-frame": "argument --per-frame: it adds to the JSON document: pass --json too",
    "--format csv": "argument --format: it is the report's: pass -o FILE too",
    "--precision 3": "argument --precision: it is the report's: pass -o FILE too",
    "--pool p5 -q": "argument --pool: --quiet prints the score alone: leave one of them out, or pass --json",
    "--size 320x180 --width 320": "argument --size: it is the width and the height: leave out --width and",
    "--viewing tv --model vmaf_v0.6.1": "argument --viewing: it chooses the model, and --model names one",
    "--viewing tv --scale never": "pass --display native or --scale auto",
    "--fps 30": "say their own frame rate: leave out --fps 30",
    "--worst=-1": "argument --worst: '-1' should be a whole number",
    "-o report.txt": "'report.txt' doesn't say its format: end it with .json, .xml, .csv, .sub, .html",
}


@pytest.mark.parametrize("options", LINES)
def test_command_lines(options: str, folder: Path, capsys: Capture) -> None:
    assert acuity_command(["score", str(folder / "ref.mkv"), str(folder / "dis.mp4"), *options.split()]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert LINES[options] in printed.err.splitlines()[0]


@pytest.mark.parametrize("options", ["--worst 0", "--json -q", "--filter lanczos", "--deinterlace bwdif"])
def test_options_that_only_look_contradictory(options: str, folder: Path, capsys: Capture) -> None:
    """Nothing is listed, JSON is quiet, nothing is to be scaled, and nothing is interlaced."""
    line = ["score", str(folder / "ref.mkv"), str(folder / "dis.mp4"), "--frames", "3", *options.split()]
    assert acuity_command(line) == 0
    assert "worst frames" not in capsys.readouterr().out or options != "--worst 0"
