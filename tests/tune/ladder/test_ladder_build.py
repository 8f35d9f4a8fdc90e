"""Ladders of real encodes: rungs, playlists and documents of them."""

from __future__ import annotations

import json

import pytest

from acuity.errors import EncoderError, TuneError
from acuity.tune.clip import Clip, open_clip
from acuity.tune.encoders import find_encoder
from acuity.tune.encoders.encoder import EncoderSettings
from acuity.tune.ladder.ladder import Ladder, build_ladder
from acuity.tune.points.point import PointScoring, measure
from acuity.tune.points.workbench import Workbench
from tune_clips import write_y4m

SIZES = [(192, 112), (128, 72), (96, 56)]
TARGETS = [90.0, 70.0]
FAST = EncoderSettings(find_encoder("libx264"), preset="ultrafast")


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Clip:
    return open_clip(write_y4m(tmp_path_factory.mktemp("ladder") / "a.y4m", 26, 192, 112))


@pytest.fixture(scope="module")
def bench() -> Workbench:
    return Workbench(PointScoring())


@pytest.fixture(scope="module")
def ladder(clip: Clip, bench: Workbench) -> Ladder:
    return build_ladder(bench, clip, FAST, [*SIZES, (384, 224)], TARGETS, segment_seconds=0.4, min_step=1.0)


def test_rungs_rise_and_reach_the_targets(ladder: Ladder) -> None:
    scores = [rung.vmaf for rung in ladder.renditions]
    rates = [rung.bitrate_kbps for rung in ladder.renditions]
    assert scores == sorted(scores)
    assert rates == sorted(rates)
    assert scores[0] >= 70.0
    assert scores[-1] >= 90.0
    assert len(scores) >= 2


def test_fewer_encodes_than_three_fifths_of_a_sweep_for_each_target(ladder: Ladder) -> None:
    measured = [sample for sample in ladder.samples if sample.point is not None]
    assert ladder.encodes == len(measured) <= 0.6 * len(SIZES) * 5 * len(TARGETS)
    assert len({(sample.width, sample.crf) for sample in measured}) == len(measured)


def test_a_rung_is_its_sample_at_the_display_size(clip: Clip, ladder: Ladder) -> None:
    rung = ladder.renditions[0]
    assert rung.crf is not None
    assert rung.point is not None
    again = measure(clip, rung.settings, rung.crf)
    assert again.pool() == rung.vmaf
    assert again.bytes == rung.point.bytes
    assert rung.settings.fixed_keyframes
    assert rung.settings.keyframe_interval == 10


def test_a_size_larger_than_the_source_is_marked_and_the_rest_goes_on(ladder: Ladder) -> None:
    failed = [sample for sample in ladder.samples if sample.error is not None]
    assert [(sample.width, sample.height) for sample in failed] == [(384, 224)]
    assert "384x224 is larger than" in (failed[0].error or "")
    assert any("384x224 is larger than" in note for note in ladder.notes)


def test_the_document(ladder: Ladder) -> None:
    document = json.loads(json.dumps(ladder.document()))
    assert document["schema"] == "vmaf-tune-ladder/v1"
    assert document["rungs"] == document["renditions"]
    top = document["renditions"][-1]
    assert {"width", "height", "bitrate_kbps", "bandwidth_bps", "vmaf", "crf"} <= set(top)
    assert top["codecs"].startswith("avc1.42")
    assert top["bandwidth_bps"] >= top["bitrate_kbps"] * 1000
    assert document["encoder_version"].startswith("libx264 ")
    assert len(document["samples"]) == len(ladder.samples)
    assert sum(sample["on_hull"] for sample in document["samples"]) == len(ladder.hull)


def test_a_size_of_another_shape_is_noted(clip: Clip, bench: Workbench) -> None:
    found = build_ladder(bench, clip, FAST, [(96, 96)], [60.0], crf_sweep=[30], segment_seconds=0.4)
    assert any("96x96 hasn't the shape of the source (192x112)" in note for note in found.notes)
    assert found.variants[0].aspect > 1


def test_a_target_that_no_sample_reaches_is_no_success(clip: Clip, bench: Workbench) -> None:
    found = build_ladder(bench, clip, FAST, [(96, 56)], [99.9, 60.0], segment_seconds=0.4).document()
    assert not found["ok"]
    assert found["error"].startswith("no sample reaches VMAF 99.9: the top rung is the best of them")


def test_a_lowest_rung_above_its_target_is_noted(clip: Clip, bench: Workbench) -> None:
    found = build_ladder(
        bench, clip, FAST, [SIZES[0]], [90.0, 10.0], segment_seconds=0.4, quality_range=(0, 32)
    )
    assert found.document()["ok"]
    said = (
        f"the lowest rung has VMAF {found.renditions[0].vmaf:.2f}, and 10 was asked for: crf 32 is the worst"
    )
    assert [note for note in found.notes if note.startswith(said)]


def test_a_size_without_a_rung_is_noted(clip: Clip, bench: Workbench) -> None:
    found = build_ladder(bench, clip, FAST, [SIZES[0], (32, 20)], TARGETS, segment_seconds=0.4)
    assert {rung.width for rung in found.renditions} == {192}
    assert [note for note in found.notes if note.startswith("no rung is 32x20: its encodes that are worth")]


def test_what_cannot_be_a_ladder_is_refused(clip: Clip, bench: Workbench) -> None:
    with pytest.raises(TuneError, match="384x224 is larger than"):
        build_ladder(bench, clip, FAST, [(384, 224)], TARGETS)
    with pytest.raises(TuneError, match="odd side"):
        build_ladder(bench, clip, FAST, [(95, 55)], TARGETS)
    with pytest.raises(TuneError, match="a ladder needs sizes"):
        build_ladder(bench, clip, FAST, [], TARGETS)
    with pytest.raises(EncoderError, match="crf 60 is outside the range"):
        build_ladder(bench, clip, FAST, SIZES, TARGETS, crf_sweep=[20, 60])
    with pytest.raises(TuneError, match="shorter than a frame"):
        build_ladder(bench, clip, FAST, SIZES, TARGETS, segment_seconds=0.001)
