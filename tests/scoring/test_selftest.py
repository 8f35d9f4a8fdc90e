"""The golden digits: the table is complete, and what is a bit off is noticed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from acuity.devices.cpu import CpuDevice
from acuity.devices.cuda.backend import CudaDevice
from acuity.scoring import selftest
from acuity.scoring.libvmaf import FILTER, Libvmaf, find_libvmaf
from acuity.scoring.selftest import (
    CLIPS,
    Engine,
    GoldenEntry,
    MadeClip,
    SelfTest,
    SelftestRow,
    measure,
    read_golden,
)
from acuity.video.picture import Picture
from emulated_card import needs_compiler
from fake_cuda import emulated_card
from golden_digits import expected, made
from off_device import OffDevice

CPU = Engine("cpu", [CpuDevice()])
GOLDEN = {entry.name: entry for entry in read_golden()}


@pytest.fixture(scope="module")
def pairs() -> list[tuple[Picture, Picture]]:
    return MadeClip(229, 181, "444", 8).pairs()[:2]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """The smallest clip alone."""
    monkeypatch.setattr(selftest, "CLIPS", CLIPS[1:2])


def entries(*names: str) -> list[GoldenEntry]:
    """Golden entries of the smallest clip."""
    found = [GOLDEN[name] for name in names]
    return [e._replace(figures={name: values[1:2] for name, values in e.figures.items()}) for e in found]


def check(engine: Engine, *wanted: GoldenEntry) -> list[SelftestRow]:
    return list(SelfTest(wanted).check(engine, lambda _: None))


def test_all_that_comes_with_acuity_has_golden_digits() -> None:
    required = {(entry.kind, entry.name) for entry in GOLDEN.values() if entry.required}
    assert {(kind, name) for kind, name, required in expected() if required} == required


def test_one_extractor_is_made_anew_alone_and_without_libvmaf_only_if_that_lacks_it() -> None:
    stored = {(one["kind"], one["name"]): one for one in json.loads(selftest.GOLDEN.read_text())["entries"]}
    without = {key: one for key, one in stored.items() if key != ("extractor", "ssimulacra2")}
    assert made({"ssimulacra2"}, without, None) == list(stored.values())
    for names in ({"psnr"}, {"vmaf_v0.6.1"}, set()):
        with pytest.raises(SystemExit, match="VMAF_REFERENCE_BIN"):
            made(names, stored, None)
    with pytest.raises(SystemExit, match="the name p"):
        made({"p"}, stored, None)


@pytest.mark.parametrize("name", [name for name, entry in GOLDEN.items() if entry.kind == "extractor"])
def test_every_figure_of_an_extractor_has_golden_digits(
    name: str, pairs: list[tuple[Picture, Picture]]
) -> None:
    assert set(measure(pairs, [name], [], CPU.devices)) == set(GOLDEN[name].figures)


def test_golden_digits_are_worth_comparing() -> None:
    """None is at the end of its range, where a wrong figure may be right by chance."""
    for entry in GOLDEN.values():
        for name, figures in entry.figures.items():
            assert len(figures) == len(CLIPS)
            assert len(set(figures)) == len(CLIPS), name
            assert not {0.0, 1.0, 100.0, float("inf")}.intersection(figures), name


@pytest.mark.usefixtures("small")
def test_a_unit_in_the_last_place_is_noticed() -> None:
    wanted = entries("vif", "psnr", "vmaf_v0.6.1")
    assert not any(row.differences for row in check(CPU, *wanted))
    rows = check(Engine("off", [OffDevice()]), *wanted)
    assert all(row.differences for row in rows)
    worst = rows[0].differences[0]
    assert 0 < worst.size < 1e-9
    assert worst.golden == GOLDEN["vif"].figures[worst.figure][1]


@pytest.mark.usefixtures("small")
def test_a_figure_that_is_not_there_is_a_difference() -> None:
    (psnr,) = entries("psnr")
    (row,) = check(CPU, psnr._replace(figures={"psnr_y": psnr.figures["psnr_y"], "psnr_z": [1.0]}))
    assert [(one.figure, one.found, one.size) for one in row.differences] == [("psnr_z", None, float("inf"))]


def test_models_that_cannot_be_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.json").write_text("{}")
    (tmp_path / "vmaf_b_v0.6.3.json").write_text("{}")
    monkeypatch.setenv("ACUITY_MODEL_PATH", str(tmp_path))
    float_model, broken, shipped = (
        GOLDEN[name] for name in ("vmaf_float_v0.6.1", "vmaf_b_v0.6.3", "vmaf_v0.6.1")
    )
    test = SelfTest([float_model, broken, shipped._replace(name="vmaf_v9")])
    assert [entry.name for entry in test.missing] == ["vmaf_b_v0.6.3", "vmaf_v9"]
    skipped = {entry.name: entry.reason for entry in test.skipped}
    assert skipped["vmaf_float_v0.6.1"] == "no package carries it"
    assert skipped["mine"] == "it has no golden digits"


@needs_compiler
@pytest.mark.usefixtures("small")
def test_a_card_is_checked_for_what_it_computes() -> None:
    card = Engine("cuda:0", [CudaDevice(emulated_card()), CpuDevice()])
    rows = check(card, *entries("psnr", "float_psnr"))
    assert [(row.entry.name, row.engine, row.differences) for row in rows] == [("psnr", "cuda:0", ())]


def test_a_libvmaf_that_lacks_some() -> None:
    """What it refuses is found by halving, and the rest is compared."""
    asked: list[list[str]] = []

    def ask(pairs: Any, wanted: Sequence[str], report: Path) -> bool:
        asked.append(list(wanted))
        if "adm=debug=true" in wanted or "model=vmaf_v0.6.1neg" in wanted:
            return False
        means = (
            {"psnr_y": 30.0} if "psnr=enable_mse=true:enable_apsnr=true" in wanted else {"vmaf_v0.6.1": None}
        )
        document = {
            "version": "2.0",
            "pooled_metrics": {key: {"mean": value} for key, value in means.items()},
        }
        report.write_text(json.dumps({**document, "aggregate_metrics": {}}))
        return True

    libvmaf = Libvmaf("here", "C", ask)
    test = SelfTest(
        [GOLDEN[name] for name in ("adm", "psnr", "ssimulacra2", "vmaf_v0.6.1", "vmaf_v0.6.1neg")]
    )
    found = selftest.compare_libvmaf(test, libvmaf, lambda _: None)
    assert libvmaf.version == "2.0"
    goldens = dict(zip((clip.name for clip in CLIPS), GOLDEN["psnr"].figures["psnr_y"], strict=True))
    assert list(found) == ["psnr"]
    assert found["psnr"].size == max(abs(golden - 30.0) for golden in goldens.values())
    assert goldens[found["psnr"].clip] == found["psnr"].golden
    assert not any("ssimulacra2" in wanted for wanted in asked)  # it is known to lack that


def test_the_libvmaf_of_pyav() -> None:
    import av.filter

    if FILTER not in av.filter.filters_available:
        pytest.skip("this PyAV has no libvmaf: release 19 is the first")
    libvmaf = find_libvmaf()
    assert libvmaf is not None
    found = libvmaf.figures(CLIPS[1].pairs(), {"psnr": {"enable_mse": True}, "xpsnr": {}}, ["vmaf_v0.6.1"])
    # libvmaf's SIMD isn't its C code: with AVX2 its VMAF of this clip is 0.022 less, with AVX-512 0.01.
    for name, within in (("psnr_y", 1e-2), ("mse_y", 1e-2), ("vmaf_v0.6.1", 0.05)):
        golden = GOLDEN[name if name[0] == "v" else "psnr"].figures[name][1]
        assert found[name] == pytest.approx(golden, abs=within)
