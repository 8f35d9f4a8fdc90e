"""Comparisons of encoders on a small clip: the three documents, rows that fail, BD-rates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from acuity.errors import TuneError
from acuity.tune.request import CompareRequest
from acuity.tune.run import run
from tune_clips import IN_PROCESS, write_y4m

ROW = {
    *("codec", "adapter", "runtime_variant", "ffmpeg_bin", "encoder_version", "best_crf", "bitrate_kbps"),
    *("encode_time_ms", "vmaf_score", "target_vmaf", "ok", "error"),
}


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_y4m(tmp_path_factory.mktemp("compare") / "clip.y4m", 20)


@pytest.fixture(autouse=True)
def own_cache(clip: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACUITY_CACHE", str(clip.parent / "cache"))


def compared(clip: Path, **fields: Any) -> dict[str, Any]:
    return run(CompareRequest(src=str(clip), preset="ultrafast", **fields))


def test_one_target_has_the_oldest_document(clip: Path) -> None:
    found = compared(clip, target_vmaf=75.0)
    assert list(found)[:5] == ["src", "target_vmaf", "tool_version", "wall_time_ms", "rows"]
    assert "schema_version" not in found
    rows = found["rows"]
    assert {row["codec"] for row in rows} == set(IN_PROCESS)
    assert all(row["ok"] and row["vmaf_score"] >= 75 for row in rows)
    assert [row["bitrate_kbps"] for row in rows] == sorted(row["bitrate_kbps"] for row in rows)
    for row in rows:
        assert set(row) == ROW | {"bisect_samples", "encodes", "nearest"}
        assert row["codec"] in row["encoder_version"]
        assert row["best_crf"] in [sample["crf"] for sample in row["bisect_samples"]]
    again = compared(clip, target_vmaf=75.0)
    assert again["encodes"] == 0
    for name in ("best_crf", "bitrate_kbps", "vmaf_score"):
        assert [row[name] for row in again["rows"]] == [row[name] for row in rows]


def test_several_targets_and_rows_that_fail(clip: Path) -> None:
    found = compared(clip, target_vmafs="75,60,100", encoders="libx264,nope", crf_min=20)
    assert (found["schema_version"], found["target_vmafs"]) == (2, [75, 60, 100])
    good, bad = found["rows"][:2], found["rows"][2:]
    assert [(row["ok"], row["target_vmaf"]) for row in good] == [(True, 75), (True, 60)]
    assert not any(row["ok"] for row in bad)
    unreachable = next(row for row in bad if row["codec"] == "libx264")
    assert unreachable["target_vmaf"] == 100
    assert unreachable["best_crf"] is unreachable["vmaf_score"] is None, "nothing was chosen"
    assert unreachable["nearest"]["crf"] == 20
    assert unreachable["nearest"]["vmaf_score"] < 100
    assert "100" in unreachable["error"]
    nope = [row for row in bad if row["codec"] == "nope"]
    assert [row["target_vmaf"] for row in nope] == [100, 75, 60]
    assert all("there is no encoder 'nope'" in row["error"] for row in nope)


def test_a_sweep(clip: Path) -> None:
    found = compared(
        clip, no_bisect=True, crf_sweep="20,26,32,38,60", encoders="libx264,libx265", target_vmaf=70.0
    )
    about = found["schema_version"], found["mode"], found["crf_sweep"]
    assert about == (3, "crf_sweep", [20, 26, 32, 38, 60])
    for codec in ("libx264", "libx265"):
        rows = {row["best_crf"]: row for row in found["rows"] if row["codec"] == codec}
        scores = [rows[crf]["vmaf_score"] for crf in (20, 26, 32, 38)]
        assert scores == sorted(scores, reverse=True)
        assert rows[20]["ok"]
        assert "crf 60 is outside the range" in rows[60]["error"]
        assert not rows[60]["ok"]
        missed = [row for row in rows.values() if row["vmaf_score"] is not None and row["vmaf_score"] < 70]
        assert all("isn't reached" in row["error"] for row in missed)
    (saving,) = found["bd_rate"]
    assert (saving["codec"], saving["against"], saving["reason"]) == ("libx265", "libx264", None)
    assert -90 < saving["percent"] < 20
    swapped = compared(clip, no_bisect=True, crf_sweep="20,26,32,38", encoders="libx265,libx264")
    assert swapped["encodes"] == 0
    back = swapped["bd_rate"][0]["percent"]
    assert (1 + back / 100) * (1 + saving["percent"] / 100) == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"target_vmaf": 90.0, "target_vmafs": "90,95"}, "leave one of them out"),
        ({"no_bisect": True}, "needs the values to encode with"),
        ({"crf_sweep": "20,30"}, "are for a sweep"),
        ({"encoders": " , "}, "no encoder is named"),
        ({"no_bisect": True, "crf_sweep": "20,x"}, "'x' is no number"),
        ({"sample": 1.0, "subsample": 2}, "both leave frames out"),
    ],
)
def test_what_contradicts_itself(clip: Path, fields: dict[str, Any], sentence: str) -> None:
    with pytest.raises(TuneError, match=sentence):
        compared(clip, **fields)
