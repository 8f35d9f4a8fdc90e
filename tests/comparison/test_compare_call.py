"""acuity.compare(): encodes in every form, the digits of score(), and files of all formats."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import acuity
from scoring_clips import container, y4m


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("call")
    y4m(made / "ref.y4m", 9)
    (made / "encodes").mkdir()
    container(made / "encodes" / "good.mkv", 9, codec="libx264")
    container(made / "encodes" / "bad.mkv", 9, worse=True)
    (made / "encodes.csv").write_text("reference,distorted,name\nref.y4m,encodes/bad.mkv,worse one\n")
    return made


def test_every_form_of_encodes(folder: Path) -> None:
    ref, encodes = folder / "ref.y4m", folder / "encodes"
    names = ["good.mkv", "bad.mkv"]
    for given in (encodes, str(encodes / "*.mkv"), [encodes / "bad.mkv", encodes / "good.mkv"]):
        assert list(acuity.compare(ref, given, remember=False).scores) == names
    named = acuity.compare(ref, {"b": str(encodes / "bad.mkv")}, remember=False)
    assert list(named.scores) == ["b"]
    listed = acuity.compare(folder / "encodes.csv", remember=False)
    assert list(listed.scores) == ["worse one"]


def test_the_digits_of_score_and_errors(folder: Path, tmp_path: Path) -> None:
    encodes = [folder / "encodes" / "good.mkv", folder / "gone.mkv"]
    report = acuity.compare(
        folder / "ref.y4m", encodes, model="vmaf_v0.6.1neg", metrics="psnr", skip=1, remember=False
    )
    alone = acuity.score(folder / "ref.y4m", encodes[0], model="vmaf_v0.6.1neg", metrics="psnr", skip=1)
    assert report.scores == {"good.mkv": alone.score if alone.models else alone.metrics["psnr"]}
    assert list(report.errors) == ["gone.mkv"]
    assert "1 failed" in str(report)
    for name in ("out.json", "out.csv", "out.html"):
        report.write(tmp_path / name)
    assert json.loads((tmp_path / "out.json").read_text())["schema"] == "acuity.compare/1"
    with pytest.raises(acuity.OutputError, match=r"end it with \.html, \.json or \.csv, or pass format="):
        report.write(tmp_path / "out.txt")


def test_a_part_has_its_own_bitrate_and_not_that_of_a_list(tmp_path: Path) -> None:
    ref = container(tmp_path / "ref.mkv", 20)
    container(tmp_path / "dis.mkv", 20, worse=True)
    (tmp_path / "list.csv").write_text("distorted,bitrate\ndis.mkv,7\n")
    whole = acuity.compare(ref, tmp_path / "list.csv", remember=False)
    part = acuity.compare(ref, tmp_path / "list.csv", remember=False, frames=5)
    assert whole.rows[0].kbps == 7.0
    assert part.rows[0].kbps is not None
    assert part.rows[0].kbps > 7.0
    said = "bitrates are those of the frames that are scored, sizes are of whole files"
    assert said not in whole.all_notes
    assert said in part.all_notes
    nothing = acuity.compare(ref, tmp_path / "list.csv", remember=False, frames=5, align="auto")
    assert any(note.startswith("no bitrate of dis.mkv: ") for note in nothing.all_notes)
