"""Requests that make no sense: one sentence with the remedy, in the spelling of each way in."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

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


class Case(NamedTuple):
    """A request that makes no sense."""

    settings: dict[str, Any]
    said: str
    remedies: tuple[tuple[str, str], ...] = (("align", "off"),)  # the settings that would settle it
    ref: str = "ref.mkv"
    dis: str = "dis.mp4"


REFUSE, AUTO = {"align": "refuse"}, {"align": "auto"}
CASES = {
    "an offset longer than the clip": Case(
        {"skip_ref": 1000}, "have no frame in common after skipping 1000 and 0 frames: skip fewer", ()
    ),
    "an offset longer than the clip, with auto": Case(
        {"skip_dis": 1000, **AUTO}, "have no frame in common after skipping 0 and 1000 frames: skip fewer", ()
    ),
    "a reference of one colour": Case(
        REFUSE, "dis.mp4' shows other content than '.*flat.mkv' from frame 0 on", ref="flat.mkv"
    ),
    "two videos of one colour": Case(
        AUTO,
        "flat.mkv' shows next to nothing, so its frames cannot be aligned",
        ref="flat.mkv",
        dis="flat.mp4",
    ),
    "two unrelated films": Case(
        REFUSE, "unrelated.mp4' shows other content than '.*ref.mkv' from frame 0 on", dis="unrelated.mp4"
    ),
    "two unrelated films, with auto": Case(
        AUTO,
        "shows other content than .*, which cannot be put right by leaving out frames",
        dis="unrelated.mp4",
    ),
    "the frames backwards": Case(
        REFUSE,
        "backwards.mp4' shows the frames of '.*ref.mkv' backwards .frame n matches frame 39 - n.",
        dis="backwards.mp4",
    ),
    "every frame twice": Case(REFUSE, "twice.mp4' shows every frame of '.*ref.mkv' twice", dis="twice.mp4"),
    "backwards, with auto": Case(AUTO, "backwards.mp4' ", dis="backwards.mp4"),
    "nothing to align": Case(
        AUTO,
        "only one frame of '.*one.mp4' is compared with one of '.*one.mkv', so there is nothing to align",
        ref="one.mkv",
        dis="one.mp4",
    ),
    "two rules for pairing": Case(
        {**AUTO, "rate": "by-index"},
        "compares frame n with frame n, and .* does not: pass one of them",
        (("align", "auto"), ("rate", "by-index")),
    ),
    "scaling and no scaling": Case(
        {"display": "1080p", "scale": "never"},
        "scales nothing, and .* scales both videos",
        (("display", "native"), ("scale", "auto")),
    ),
    "a crop beyond the picture": Case(
        {"crop": "320:200:0:0"},
        "reaches beyond the 320x180 of '.*ref.mkv': choose a smaller part",
        (("crop", "320:200:0:0"),),
    ),
    "a crop that is none": Case(
        {"crop": "all"},
        "is no part of a picture: write auto, or WIDTH:HEIGHT:LEFT:TOP in pixels",
        (("crop", "all"),),
    ),
}


def check(said: str, name: str, spell: Callable[..., str]) -> None:
    """One sentence, with the remedies spelled as this way in does."""
    assert re.search(CASES[name].said, said), said
    assert "\n" not in said.strip()
    for setting, value in CASES[name].remedies:
        assert spell(to_set(setting, value)) in said


def line(front: Front, name: str) -> list[str]:
    settings = CASES[name].settings.items()
    return [word for key, value in settings for word in (f"--{front.name(key)}", str(value))]


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
    case = CASES[name]
    code = acuity_command(["score", str(folder / case.ref), str(folder / case.dis), *line(ACUITY, name)])
    printed = capsys.readouterr()
    assert (code, printed.out) == (1 if case.remedies else 101, "")
    sentences = [text for text in printed.err.splitlines() if not text.startswith("  ")]
    assert len(sentences) == 1
    check(sentences[0], name, ACUITY.spell)


@pytest.mark.parametrize("name", [name for name in SPELLED if set(CASES[name].settings) <= {*VMAF.settings}])
def test_vmaf(name: str, folder: Path, capsys: Capture) -> None:
    case = CASES[name]
    code = vmaf_command(["-r", str(folder / case.ref), "-d", str(folder / case.dis), *line(VMAF, name)])
    printed = capsys.readouterr()
    assert (code in (101, 255), printed.out) == (True, "")
    check(printed.err.splitlines()[-1], name, VMAF.spell)


@pytest.mark.parametrize("name", CASES)
def test_python(name: str, folder: Path) -> None:
    case = CASES[name]
    with pytest.raises(AcuityError) as caught:
        acuity.score(folder / case.ref, folder / case.dis, **case.settings)
    check(str(caught.value), name, str)


def test_the_tool_for_encoded_files(folder: Path) -> None:
    for name in SPELLED:
        case = CASES[name]
        paths = {"reference_encoded": str(folder / case.ref), "distorted_encoded": str(folder / case.dis)}
        given = {ENCODED.name(setting): value for setting, value in case.settings.items()}
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
