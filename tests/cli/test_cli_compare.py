"""`acuity compare`: its table on any terminal, CSV, JSON and page, its exit codes, and what it refuses."""

from __future__ import annotations

import csv
import io
import json
import os
from pathlib import Path
from typing import Any

import pytest

from acuity.cli.compare import fitted
from acuity.cli.terminal.style import Style
from acuity.report.tables import Table
from cli_helpers import Cli, Ran, Terminal
from scoring_clips import container, y4m

FRAMES = 10


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("compare")
    y4m(made / "ref.y4m", FRAMES)
    container(made / "good_1000k.mkv", FRAMES, codec="libx264")
    container(made / "bad_500k.mkv", FRAMES, worse=True)
    (made / "broken.mkv").write_bytes(b"no video")
    (made / "encodes").mkdir()
    return made


@pytest.fixture(autouse=True)
def _here(folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def compare(cli: Cli, *words: str) -> Ran:
    return cli.acuity("compare", *words)


def score(cli: Cli, name: str) -> float:
    return float(cli.acuity("score", "ref.y4m", name, "-q").out)


def document(cli: Cli, *words: str, code: int = 0) -> dict[str, Any]:
    ran = compare(cli, *words, "--json")
    assert ran.code == code, ran.err
    found: dict[str, Any] = json.loads(ran.out)
    return found


def test_the_table_has_the_digits_of_score(cli: Cli) -> None:
    ran = compare(cli, "ref.y4m", "bad_500k.mkv", "good_1000k.mkv")
    assert ran.code == 0
    lines = [line.split() for line in ran.out.splitlines() if "_" in line and ".mkv" in line]
    assert [line[:3] for line in lines] == [["1", "good_1000k.mkv", "good"], ["2", "bad_500k.mkv", "bad"]]
    for line in lines:
        assert line[3] == f"{score(cli, line[1]):.2f}"
    assert "comparing 2 encodes with 'ref.y4m'" in ran.err


def test_a_failing_file_is_a_row_and_the_code_is_1(cli: Cli) -> None:
    ran = compare(cli, "ref.y4m", "good_1000k.mkv", "broken.mkv", "gone.mkv")
    assert ran.code == 1
    assert ran.out.count(" failed\n") + ran.out.count(" failed ") >= 2
    assert "broken.mkv failed: " in ran.out
    assert "gone.mkv failed: " in ran.out
    assert f"{score(cli, 'good_1000k.mkv'):.2f}" in ran.out
    found = document(cli, "ref.y4m", "good_1000k.mkv", "broken.mkv", code=1)
    assert found["ranking"] == ["good_1000k.mkv", "broken.mkv"]
    assert [entry["error"] is None for entry in found["pairs"]] == [True, False]


def test_json_csv_and_quiet_say_the_same(cli: Cli) -> None:
    words = ("ref.y4m", "*_*.mkv", "--metrics", "vmaf,psnr", "--pool", "p10")
    found = document(cli, *words, "--per-frame")
    assert found["schema"] == "acuity.compare/1"
    assert found["command"].startswith(("acuity", "pytest", "__main__", "main"))
    scores = {entry["name"]: entry["score"] for entry in found["pairs"]}
    rows = list(csv.DictReader(io.StringIO(compare(cli, *words, "--csv").out)))
    assert {row["name"]: float(row["score"]) for row in rows} == scores
    assert [row["name"] for row in rows] == found["ranking"]
    assert float(rows[0]["psnr_y_mean"]) > float(rows[1]["psnr_y_mean"])
    assert {"vmaf_p10", "vmaf_harmonic_mean"} <= rows[0].keys()
    assert len(found["pairs"][0]["per_frame"]["vmaf"]) == FRAMES
    quiet = compare(cli, *words[:2], "-q")
    assert quiet.out.splitlines() == [f"{scores[name]:.6f} {name}" for name in found["ranking"]]
    assert quiet.err == ""


def test_pages_show_frames_unless_none_are_wanted(cli: Cli, tmp_path: Path) -> None:
    asked = ["ref.y4m", "bad_500k.mkv", "good_1000k.mkv", "-q", "-o", str(tmp_path / "page.html")]
    assert compare(cli, *asked).code == 0
    page = (tmp_path / "page.html").read_text()
    assert page.count('"distorted":"data:image/webp;base64,') == 4
    assert page.count('class="fallback"><svg') == 2  # over time and over bitrate, for readers without scripts
    assert compare(cli, *asked, "--pictures", "0").code == 0
    page = (tmp_path / "page.html").read_text()
    assert "data:image/webp" not in page
    assert "No pictures were asked for" in page


def test_a_list_with_names_and_bitrates(cli: Cli, tmp_path: Path, folder: Path) -> None:
    path = tmp_path / "list.csv"
    evil = "<script>alert(1)</script>"
    path.write_text(
        "reference;distorted;name;encoder;bitrate\n"
        f"{folder}/ref.y4m;{folder}/good_1000k.mkv;{evil};x264;2M\n"
        f"{folder}/ref.y4m;{folder}/bad_500k.mkv;same;x265;700\n"
        f"{folder}/ref.y4m;{folder}/good_1000k.mkv;same;x265;800\n"
    )
    page = tmp_path / "page.html"
    found = document(cli, str(path), "-o", str(page))
    assert [entry["name"] for entry in found["pairs"]] == [evil, "same", "same (2)"]
    assert [entry["kbps"] for entry in found["pairs"]] == [2000.0, 700.0, 800.0]
    assert [entry["encoder"] for entry in found["pairs"]] == ["x264", "x265", "x265"]
    assert found["notes"] == ["2 encodes have the name 'same': all but the first have a number"]
    assert "alert(1)" in page.read_text()
    assert "<script>alert" not in page.read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "nothing to compare"),
        (["ref.y4m"], "nothing to compare"),
        (["ref.y4m", "none/*.mkv"], "matches nothing"),
        (["ref.y4m", "encodes"], "has no videos"),
        (["ref.y4m", "good_1000k.mkv", "--pictures", "3"], "pass -o FILE.html too"),
        (["ref.y4m", "x.mkv", "--pictures", "99", "-o", "x.html"], "'99' should be a whole number from 0 to"),
        (["ref.y4m", "good_1000k.mkv", "-o", "gone/out.html"], "the folder 'gone' does not exist"),
        (["ref.y4m", "good_1000k.mkv", "-o", "out.txt"], "end it with .html, .json or .csv"),
        (["ref.y4m", "good_1000k.mkv", "-o", "ref.y4m", "--format", "csv"], "would overwrite the video"),
        (["ref.y4m", "good_1000k.mkv", "--json", "--csv"], "leave one of them out"),
        (["ref.y4m", "good_1000k.mkv", "--per-frame"], "pass --json too"),
        (["ref.y4m", "good_1000k.mkv", "--format", "csv"], "pass -o FILE too"),
        (["ref.y4m", "good_1000k.mkv", "--encoder-from", "guess"], "'guess' says no encoder"),
        (["ref.y4m", "good_1000k.mkv", "--pool", "best"], "--pool"),
        (["ref.y4m", "good_1000k.mkv", "--metrics", "vmav"], "vmav"),
        (["ref.y4m", "-"], "standard input"),
        (["gone.csv"], "the list 'gone.csv' can't be opened"),
    ],
)
def test_what_is_refused_before_any_work(cli: Cli, words: list[str], said: str) -> None:
    ran = compare(cli, *words)
    assert ran.code == 1
    assert said in ran.err
    assert ran.out == ""
    assert "Traceback" not in ran.err


def test_a_list_is_not_overwritten(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "list.csv"
    path.write_text("distorted\nbad_500k.mkv\n")
    ran = compare(cli, "ref.y4m", str(path), "-o", str(path))
    assert ran.code == 1
    assert "would overwrite the list" in ran.err
    assert path.read_text() == "distorted\nbad_500k.mkv\n"


def test_strict_is_about_warnings(cli: Cli) -> None:
    assert compare(cli, "ref.y4m", "good_1000k.mkv", "--strict").code == 0
    ran = compare(cli, "ref.y4m", "ref.y4m", "--strict")  # identical files are worth a warning
    assert ran.code == 3
    assert "warning: " in ran.out


@pytest.mark.parametrize("columns", [24, 40, 60, 80, 200])
def test_tables_fit_terminals(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    names = [f"a-rather-long-name-of-an-encode-{number}.mp4" for number in (1, 2)]
    rows = [["1", name, "x264", "93.21", "1,234"] for name in names]
    titles = ["place", "encode", "encoder", "VMAF", "kbit/s"]
    table = Table(titles, rows, [False] * 3 + [True] * 2, ("encoder", "kbit/s"))
    lines = fitted(table, Style(Terminal()))
    assert max(map(len, lines)) <= max(columns, 25)
    assert all("93.21" in line for line in lines[1:])


def test_a_set_width_counts_in_a_pipe_and_pools_that_were_asked_for_stay(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "44")
    ran = compare(cli, "ref.y4m", "good_1000k.mkv", "--metrics", "psnr", "--pool", "p5")
    assert max(map(len, ran.out.splitlines())) <= 44
    assert "p5 psnr (dB)" in ran.out
    monkeypatch.delenv("COLUMNS")
    wide = compare(cli, "ref.y4m", "good_1000k.mkv", "--metrics", "psnr", "--pool", "p5").out
    assert "worst 5 %" not in wide
    assert "1 encode remembered, nothing to score" in wide


def test_what_is_wrong_with_all_is_one_sentence(cli: Cli) -> None:
    ran = compare(cli, "gone.y4m", "good_1000k.mkv", "bad_500k.mkv", "-q")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == "acuity: the reference 'gone.y4m' does not exist: check the path\n"
    ran = compare(cli, "ref.y4m", "good_1000k.mkv", "bad_500k.mkv", "-q", "--against", "x266")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == "acuity: no encode is of the encoder 'x266': there are good, bad\n"
    ran = compare(cli, "ref.y4m", "good_1000k.mkv", "bad_500k.mkv", "broken.mkv", "-q", "--against", "x266")
    # One name says no encoder, so all go by what is in the files.
    said = "no encode is of the encoder 'x266': BD-rates are against h264, the first of h264 and ffv1"
    assert said in ran.err
    assert compare(cli, "ref.y4m", "broken.mkv", "-q").out == ""


@pytest.mark.parametrize("format", ["csv", "html", "json"])
def test_no_report_is_lost_for_a_name_that_is_no_utf_8(
    cli: Cli, tmp_path: Path, folder: Path, format: str
) -> None:
    name, reference = os.fsdecode(b"caf\xe9.mkv"), os.fsdecode(b"th\xe9.y4m")
    (tmp_path / name).write_bytes((folder / "good_1000k.mkv").read_bytes())
    (tmp_path / reference).write_bytes((folder / "ref.y4m").read_bytes())
    target = tmp_path / f"out.{format}"
    assert compare(cli, str(tmp_path / reference), str(tmp_path / name), "-o", str(target)).code == 0
    assert "caf" in target.read_text("utf-8")


def test_names_in_a_csv_do_nothing_to_a_terminal(cli: Cli, tmp_path: Path) -> None:
    name = "a\x1b[31m\r\x9b\u202e.mkv"
    (tmp_path / name).write_bytes(b"")
    compare(cli, "ref.y4m", str(tmp_path / name), "-o", str(tmp_path / "out.csv"))
    text = (tmp_path / "out.csv").read_text("utf-8")
    assert r"a\x1b[31m\r\x9b\u202e.mkv" in text
    assert text.replace("\n", "").isprintable()
