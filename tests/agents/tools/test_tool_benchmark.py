"""run_benchmark, on fixtures that take no time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from acuity.agents.tools import backends
from acuity.devices import BACKENDS
from scoring_room import Asked
from vmaf_binary import make_binary

SMALL = (
    {"width": 96, "height": 64, "frames": 6, "rounds": 3},
    {"width": 64, "height": 64, "frames": 2, "rounds": 2},
)


WITHOUT_CUPY = "CuPy is not installed: pip install 'acuity-vmaf[cuda]'"


@pytest.fixture(autouse=True)
def small_fixtures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends, "FIXTURES", SMALL)


@pytest.mark.usefixtures("without_cuda")
def test_every_backend_has_a_row_for_every_size() -> None:
    found = Asked(backends.tools).ask("run_benchmark")
    assert found["exit_code"] == 0
    rows = found["rows"]
    assert [(row["fixture"], row["backend"]) for row in rows] == [
        (size, backend) for size in ("96x64", "64x64") for backend in BACKENDS
    ]
    for row in rows:
        if row["backend"] != "cpu":
            why = WITHOUT_CUPY if row["backend"] == "cuda" else "not in this version"
            assert (row["verdict"], row["reason"], row["fps"]) == ("SKIP", why, None)
            continue
        assert (row["verdict"], row["engine"]) == ("BASE", "acuity")
        assert 0 < row["fps"]["min"] <= row["fps"]["median"] <= row["fps"]["max"]
        assert row["seconds"]["min"] == pytest.approx(row["frames"] / row["fps"]["max"], rel=0.01)
        assert 40 < row["vmaf"] < 100
    assert [(row["frames"], row["rounds"]) for row in rows if row["backend"] == "cpu"] == [(6, 3), (2, 2)]
    assert "96x64, 6 frames" in found["stdout"]
    assert "BASE" in found["stdout"]
    assert "96x64 acuity sycl: SKIP: not in this version" in found["stderr"].splitlines()


@pytest.fixture
def one_fixture(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each round of a binary starts it."""
    monkeypatch.setattr(backends, "FIXTURES", ({**SMALL[0], "rounds": 2},))


@pytest.mark.usefixtures("one_fixture")
def test_the_binary_is_compared_with_the_cpu(tmp_path: Path) -> None:
    found = Asked(backends.tools, binary=make_binary(tmp_path)).ask("run_benchmark")
    rows = {(row["fixture"], row["engine"], row["backend"]): row for row in found["rows"]}
    row = rows["96x64", "external", "cpu"]
    assert (row["verdict"], row["reason"], row["rounds"]) == ("PASS", None, 2)
    assert row["max_diff"] < 1e-6
    # The script advertises cuda, and Acuity, which it really is, refuses it.
    assert (rows["96x64", "external", "cuda"]["verdict"], found["exit_code"]) == ("FAIL", 1)
    assert rows["96x64", "external", "hip"]["verdict"] == "SKIP"


def test_a_binary_that_is_not_there_is_skipped(tmp_path: Path) -> None:
    found = Asked(backends.tools, binary=str(tmp_path / "nowhere")).ask("run_benchmark")
    row = next(row for row in found["rows"] if row["engine"] == "external")
    assert (row["verdict"], found["exit_code"]) == ("SKIP", 0)
    assert "nowhere" in row["reason"]


def test_the_sizes_of_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    sizes = [(f["width"], f["height"]) for f in backends.FIXTURES]
    assert sizes == [(576, 324), (1920, 1080), (3840, 2160)]
    assert [f["frames"] for f in backends.FIXTURES][:2] == [48, 5]
    assert all(f["rounds"] >= 3 for f in backends.FIXTURES)


def test_rows_are_files_too_where_the_operator_wants_them(tmp_path: Path) -> None:
    (tmp_path / "96x64_acuity_cpu.json").write_text("of an earlier run")
    found = Asked(backends.tools, bench_output=str(tmp_path)).ask("run_benchmark")
    measured = [row for row in found["rows"] if row["verdict"] != "SKIP"]
    files = {path.name: json.loads(path.read_text()) for path in tmp_path.iterdir()}
    assert set(files) == {"96x64_acuity_cpu.json", "64x64_acuity_cpu.json"}  # nothing half-written beside
    for row in measured:
        assert files[f"{row['fixture']}_acuity_cpu.json"] == {**row, "machine": found["machine"]}


def test_a_folder_that_is_not_there_costs_no_figures(tmp_path: Path) -> None:
    missing = tmp_path / "none"
    found = Asked(backends.tools, bench_output=str(missing)).ask("run_benchmark")
    assert f"VMAF_BENCH_OUTDIR is '{missing}', which is no folder" in found["stderr"]
    assert (found["exit_code"], missing.exists()) == (0, False)
    (tmp_path / "96x64_acuity_cpu.json").mkdir()
    found = Asked(backends.tools, bench_output=str(tmp_path)).ask("run_benchmark")
    assert "could not be written" in found["stderr"]
    assert found["rows"]
