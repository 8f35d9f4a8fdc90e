"""`acuity score`, for people and for their scripts."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from av.video.reformatter import Interpolation

import acuity
from acuity.models.choose import VIEWINGS, models_for_viewing
from acuity.scoring.report import SCHEMA
from acuity.video.readers.open import open_video
from cli_helpers import FRAMES, HEIGHT, WIDTH, Cli, encode, environment, moving, y4m
from prepared_programs import starter
from small_model import SVM_TEXT, small_document


@pytest.fixture
def pair(clips: Path) -> list[str]:
    return ["score", str(clips / "ref.y4m"), str(clips / "dis.y4m")]


def document(cli: Cli, *argv: str) -> dict[str, Any]:
    ran = cli.acuity(*argv, "--json")
    assert ran.code == 0, ran.err
    assert ran.err == ""
    parsed: dict[str, Any] = json.loads(ran.out)
    return parsed


def test_the_summary(cli: Cli, pair: list[str], clips: Path) -> None:
    ran = cli.acuity(*pair, "--worst", "2")
    assert ran.code == 0
    score = cli.vmaf("-r", pair[1], "-d", pair[2]).err.split()[1]
    assert f"VMAF  {float(score):.2f}" in ran.out
    assert "vmaf_v0.6.1, scored at 8 bit" in ran.out
    why = "vmaf_v0.6.1  the default for pictures of 54x36; --viewing tv, phone or 4k-tv chooses VMAF v1"
    assert why in ran.err
    for word in ("p1 ", "p50 ", "harmonic mean", "lowest", "worst frames", "fps on"):
        assert word in ran.out
    assert ran.out.count(" at 0:00.") == 2
    assert "\033" not in ran.out + ran.err


def test_the_json_document(cli: Cli, pair: list[str]) -> None:
    found = document(cli, *pair)
    assert found["schema"] == SCHEMA == "acuity.score/1"
    assert found["frames"] == FRAMES
    assert found["model"] == "vmaf_v0.6.1"
    assert found["model_chosen_by"] == "resolution"
    assert found["model_reason"] == "the default for pictures of 54x36"
    assert found["bitdepth"] == 8
    assert found["metrics"] == []
    assert found["score"] == found["models"][0]["mean"] == found["features"]["vmaf"]["mean"]
    assert found["models"][0]["min"] == found["worst"][0]["score"]
    assert found["worst"][0]["time"] == found["worst"][0]["frame"] / 25
    assert found["input"]["reference"]["width"] == WIDTH
    assert "per_frame" not in found


def test_pools(cli: Cli, pair: list[str]) -> None:
    found = document(cli, *pair, "--pool", "p5", "--pool", "harmonic_mean")["models"][0]
    assert found["pools"] == {"p5": found["percentiles"]["p5"], "harmonic_mean": found["harmonic_mean"]}
    ran = cli.acuity(*pair, "--pool", "p33")
    assert "p33 " in ran.out


def test_a_bootstrap_model_shows_its_interval(cli: Cli, pair: list[str], tmp_path: Path) -> None:
    file = tmp_path / "bootstrap.json"
    members = {"1": "rho -0.25", "2": "rho -0.26", "3": "rho -0.27"}
    models: dict[str, Any] = {"0": small_document()}
    for key, rho in members.items():
        models[key] = small_document("BOOTSTRAP_LIBSVMNUSVR", SVM_TEXT.replace("rho -0.25", rho))
        models[key]["model_dict"]["score_clip"] = [-1e6, 1e6]
    file.write_text(json.dumps(models))
    interval = document(cli, *pair, "-m", str(file))["models"][0]["bootstrap"]
    assert interval["ci_p95_lo"] < interval["bagging"] < interval["ci_p95_hi"]
    assert "95 %" in cli.acuity(*pair, "-m", str(file)).out
    ran = cli.vmaf("-r", pair[1], "-d", pair[2], "-m", f"path={file}")
    expected = f"{file}: {interval['bagging']:.6f}, ci.p95: [{interval['ci_p95_lo']:.6f}, "
    assert ran.err.splitlines()[1].startswith(expected)


def test_a_report_of_unknown_format(cli: Cli, pair: list[str], tmp_path: Path) -> None:
    ran = cli.acuity(*pair, "-o", str(tmp_path / "report.pdf"))
    assert ran.code == 1
    assert "--format" in ran.err
    assert cli.acuity(*pair, "-o", str(tmp_path / "report.pdf"), "--format", "csv").code == 0


def test_raw_video_by_its_name(cli: Cli, clips: Path, tmp_path: Path) -> None:
    ref = tmp_path / f"ref_{WIDTH}x{HEIGHT}_420p8.yuv"
    ref.write_bytes((clips / "ref.yuv").read_bytes())
    encoded = encode(tmp_path / "dis.mkv", moving(noise=25), codec="ffv1")
    found = document(cli, "score", str(ref), str(encoded))
    assert found["score"] == document(cli, "score", str(clips / "ref.y4m"), str(clips / "dis.y4m"))["score"]
    assert "guessed" in [note["code"] for note in found["notes"]]


def test_skipping(cli: Cli, pair: list[str]) -> None:
    found = document(cli, *pair, "--skip", "1", "--frames", "2")
    assert found["frames"] == 2
    assert found["worst"][0]["time"] >= 1 / 25
    both = json.loads(cli.acuity(*pair, "--skip", "1", "--skip-dis", "2", "--json").out)
    assert (both["input"]["frame_skip_ref"], both["input"]["frame_skip_dis"]) == (1, 2)


def test_notes_reach_people_and_machines(cli: Cli, clips: Path, tmp_path: Path) -> None:
    small = tmp_path / "small.y4m"
    small.write_bytes(y4m(moving(width=24, height=16), width=24, height=16))
    line = ["score", str(clips / "ref.y4m"), str(small), "--scale", "force"]
    assert "bicubic" in cli.acuity(*line).out
    assert "scaled" in [note["code"] for note in document(cli, *line)["notes"]]


@pytest.mark.parametrize("module", ["vmaf", "main"])
def test_progress_on_a_terminal(module: str, clips: Path) -> None:
    """stderr is a pseudo-terminal, so the bar and the meter are drawn; stdout stays clean."""
    ref, dis = str(clips / "ref.y4m"), str(clips / "dis.y4m")
    line = {"vmaf": ["-r", ref, "-d", dis], "main": ["score", ref, dis]}[module]
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*starter(), "-m", f"acuity.cli.{module}", *line],
        stdout=subprocess.PIPE,
        stderr=theirs,
        env={**environment(), "TERM": "xterm", "COLUMNS": "100"},
    )
    os.close(theirs)
    out, _ = process.communicate(timeout=60)
    screen = _read_all(ours)
    assert process.returncode == 0
    assert ("FPS" if module == "vmaf" else f"{FRAMES}/{FRAMES} frames  100%") in screen
    assert b"\r" not in out


def _read_all(descriptor: int) -> str:
    pieces = []
    with suppress(OSError):  # Linux's way to say that the other end is closed
        while piece := os.read(descriptor, 4096):
            pieces.append(piece)
    os.close(descriptor)
    return b"".join(pieces).decode()


# ---- `acuity score --viewing` and `--metrics` ----


@pytest.fixture
def version_1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small models under the names of the real ones, which need pictures larger than these."""
    folder = tmp_path / "models"
    folder.mkdir()
    for viewing in VIEWINGS:
        for name in models_for_viewing(viewing):
            (folder / f"{name}.json").write_text(json.dumps(small_document()))
    monkeypatch.setenv("ACUITY_MODEL_PATH", str(folder))


@pytest.mark.usefixtures("version_1")
def test_the_way_of_watching_chooses_the_model(cli: Cli, pair: list[str]) -> None:
    found = document(cli, *pair, "--viewing", "phone")
    assert found["model"] == "vmaf_v1.0.16_5d0h"
    assert found["model_chosen_by"] == "viewing"
    assert found["model_reason"] == (
        "VMAF v1 for a phone seen from 5 times the height of its display, at the 1620x1080 of a 1080p"
        " display, at 25 frames a second, a usual rate"
    )
    ran = cli.acuity(*pair, "--viewing", "phone")
    assert "vmaf_v1.0.16_5d0h, scored at 8 bit, filling a 1080p display" in ran.out
    assert f"vmaf_v1.0.16_5d0h  {found['model_reason']}" in ran.err


@pytest.mark.usefixtures("version_1")
def test_a_way_of_watching_takes_the_display_of_its_model(cli: Cli, pair: list[str]) -> None:
    found = document(cli, *pair, "--viewing", "tv")
    assert (found["width"], found["height"], found["input"]["display"]) == (1620, 1080, "1080p")
    assert [text.endswith("from 54x36 to 1620x1080 with a bicubic filter")
            for text in found["input"]["conversions"]] == [True, True]  # fmt: skip
    found = document(cli, *pair, "--viewing", "tv", "--display", "native")
    assert (found["width"], found["height"], found["input"]["display"]) == (54, 36, "native")
    notes = {note["code"]: note for note in found["notes"]}
    assert notes["display"] == {
        "level": "info",
        "code": "display",
        "text": "vmaf_v1.0.16_3d0h is made for a 1080p display, and 54x36 is scored as if it took 3 % of its"
        " height, pixel for pixel: pass display=1080p to score both videos as they fill it",
    }


# ---- --metrics ------------------------------------------------------------------------------


def test_metrics_come_in_one_table(cli: Cli, pair: list[str]) -> None:
    found = {m["name"]: m for m in document(cli, *pair, "--metrics", "vmaf,psnr")["metrics"]}
    table = cli.acuity(*pair, "--metrics", "vmaf,psnr").out
    head, vmaf, psnr = (line.split() for line in table.splitlines() if line.split()[:1] in NAMES)
    assert head == ["metric", "mean", "harmonic", "worst", "5", "%", "worst"]
    figures = ("mean", "harmonic_mean", "p5", "min")
    values = [{**found["vmaf"], **found["vmaf"]["percentiles"]}[name] for name in figures]
    assert vmaf == ["vmaf", *(f"{value:.2f}" for value in values), "higher", "is", "better"]
    assert psnr[0] == "psnr"
    assert psnr[1] == f"{found['psnr']['mean']:.2f}"
    assert psnr[4:] == ["dB,", "higher", "is", "better"]  # no harmonic mean


NAMES = (["metric"], ["vmaf"], ["psnr"])


def test_the_document_has_every_metric(cli: Cli, pair: list[str]) -> None:
    found = document(cli, *pair, "--metrics", "psnr", "--metrics", "vmaf,psnr", "--pool", "p33")
    psnr, vmaf = found["metrics"]
    about = ["name", "key", "label", "unit", "better"]
    assert list(psnr) == [*about, "clip", "min", "max", "mean", "harmonic_mean", "percentiles", "pools"]
    assert (psnr["name"], psnr["key"], psnr["label"]) == ("psnr", "psnr_y", "psnr")
    assert (psnr["unit"], psnr["better"], psnr["harmonic_mean"]) == ("dB", "higher", None)
    assert psnr["mean"] == found["features"]["psnr_y"]["mean"]
    assert (vmaf["key"], vmaf["label"], vmaf["unit"]) == ("vmaf", "vmaf_v0.6.1", None)
    assert vmaf["mean"] == found["score"] == found["models"][0]["mean"]
    assert vmaf["pools"] == found["models"][0]["pools"]
    assert vmaf["percentiles"] == found["models"][0]["percentiles"]


def test_without_vmaf_no_model_is_measured(cli: Cli, pair: list[str]) -> None:
    found = document(cli, *pair, "--metrics", "psnr", "--per-frame")
    assert (found["score"], found["models"], found["model"]) == (None, [], None)
    assert set(found["per_frame"]) == {"frame", "psnr_y", "psnr_cb", "psnr_cr"}
    assert len(found["per_frame"]["psnr_y"]) == FRAMES
    named = document(cli, *pair, "--metrics", "psnr", "-m", "vmaf_v0.6.1neg")
    assert [model["label"] for model in named["models"]] == ["vmaf_v0.6.1neg"]


# ---- The pictures that are compared: display, crop, colour and deinterlacing in both  ----


EXACT = Interpolation.ACCURATE_RND | Interpolation.BITEXACT


@pytest.fixture
def videos(clips: Path) -> list[str]:
    return [str(clips / "ref.y4m"), str(clips / "dis.y4m")]


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
def test_a_display_is_filled_by_both(cli: Cli, videos: list[str], tmp_path: Path, filter: str) -> None:
    size = 1620, 1080
    flags = Interpolation[filter.upper()] | EXACT
    filled = [[f.reformat(*size, interpolation=flags).to_ndarray() for f in frames(p)] for p in videos]
    paths = [raw(tmp_path / f"{i}.yuv", pictures) for i, pictures in enumerate(filled)]
    truth = acuity.score(*paths, width=size[0], height=size[1], pixel_format="420", bitdepth=8).score
    found = document(cli, "score", *videos, "--display", "1080p", "--filter", filter)
    assert found["score"] == truth
    assert (found["width"], found["height"]) == size
    assert (found["input"]["display"], found["input"]["filter"]) == ("1080p", filter)
    assert acuity.score(*videos, display="1080p", filter=filter).score == truth
    assert found["model_reason"] == "the default for pictures of 1620x1080, the size of a 1080p display"
    assert "display" not in [note["code"] for note in found["notes"]]


def test_the_summary_says_the_display_and_names_the_option(cli: Cli, videos: list[str]) -> None:
    shown = cli.acuity("score", *videos)
    assert "pass --display 1080p to score both videos as they fill it" in shown.out
    shown = cli.acuity("score", *videos, "--display", "auto")
    assert "vmaf_v0.6.1, scored at 8 bit, filling a 1080p display" in shown.out
    assert "both are compared at 1620x1080" in shown.err


def test_a_crop_is_cut_from_both(cli: Cli, videos: list[str], tmp_path: Path) -> None:
    lumas = [[f.to_ndarray()[:HEIGHT][2:36, 8:48] for f in frames(path)] for path in videos]
    paths = [raw(tmp_path / f"{i}.yuv", pictures) for i, pictures in enumerate(lumas)]
    truth = acuity.score(*paths, width=40, height=34, pixel_format="400", bitdepth=8).score
    found = document(cli, "score", *videos, "--crop", "40:34:8:2")
    assert found["score"] == truth
    assert found["input"]["crop"] == [40, 34, 8, 2]
    assert acuity.score(*videos, crop="40:34:8:2").score == truth
    ran = cli.vmaf("-r", videos[0], "-d", videos[1], "--crop", "40:34:8:2")
    assert float(ran.err.splitlines()[-1].split()[-1]) == pytest.approx(truth, abs=1e-6)


def test_vmaf_compares_y4m_as_libvmaf_does(cli: Cli, videos: list[str], tmp_path: Path) -> None:
    tagged = []
    for path, tag in zip(videos, ("LIMITED", "FULL"), strict=True):
        head, body = Path(path).read_bytes().split(b"\n", 1)
        tagged.append(str(tmp_path / f"{tag}.y4m"))
        Path(tagged[-1]).write_bytes(head + f" XCOLORRANGE={tag}".encode() + b"\n" + body)
    plain = cli.vmaf("-r", videos[0], "-d", videos[1]).err.splitlines()
    told = cli.vmaf("-r", tagged[0], "-d", tagged[1]).err.splitlines()
    assert told[-1] == plain[-1]
    assert [line for line in told if "the samples are compared as they are" in line]
    assert not [line for line in plain if "display" in line]
    converted = cli.vmaf("-r", tagged[0], "-d", tagged[1], "--colour", "convert").err.splitlines()
    assert converted[-1] != plain[-1]
    found = document(cli, "score", *tagged)
    assert converted[-1] == f"vmaf_v0.6.1: {found['score']:.6f}"
    assert found["input"]["conversions"] == [f"'{tagged[1]}' is taken from full to limited range"]
