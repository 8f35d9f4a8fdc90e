"""Requests with a tiny model, or without a reference: what is refused, what is scored, and going on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import acuity
from acuity.errors import (
    BackendError,
    EvaluationError,
    FeatureError,
    InputError,
    ModelError,
    NoFramesError,
    ResumeError,
)
from acuity.scoring.request import Request
from acuity.scoring.run import run_request
from acuity.scoring.video_score import score_video
from misaligned_clips import encode_luma, frames_of
from scoring_clips import run_until, y4m
from tiny_clip_models import full_reference, no_reference
from tiny_graphs import ConvNet, Regressor

FRAMES = 8


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pair of videos, `ref.mkv` and `dis.mp4`, and the models `fr.onnx` and `nr.onnx`."""
    folder = tmp_path_factory.mktemp("room")
    frames = frames_of("grain")[:FRAMES]
    encode_luma(folder / "ref.mkv", frames, codec="ffv1")
    encode_luma(folder / "dis.mp4", frames, crf="32")
    full_reference(folder / "fr.onnx")
    no_reference(folder / "nr.onnx")
    return folder


def pair(room: Path) -> tuple[str, str]:
    return str(room / "ref.mkv"), str(room / "dis.mp4")


def alone(room: Path, **options: Any) -> acuity.ScoreReport:
    options = {"tiny_model": room / "nr.onnx", "no_reference": True, **options}
    return acuity.score(None, room / "dis.mp4", **options)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"no_reference": True}, "no_reference requires tiny_model; no classic NR scorer exists"),
        ({"tiny_codec": "libx264"}, "tiny_codec has no effect without tiny_model"),
        ({"tiny_crf": 0}, "tiny_crf has no effect without tiny_model"),
        ({"tiny_model": "m", "tiny_crf": 64}, "tiny_crf 64 should be from 0 to 63"),
        ({"tiny_model": "m", "tiny_threads": -1}, "tiny_threads -1 should be from 0 to 2147483647"),
        ({"tiny_model": "m", "tiny_device": "tpu"}, "tiny_device 'tpu' is unknown: use one of auto, cpu, cu"),
        ({"tiny_model": "m", "tiny_resize": "area"}, "tiny_resize 'area' is unknown: use one of disabled, "),
    ],
)
def test_settings_that_do_nothing_or_are_none(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ModelError) as raised:
        Request("a", "b", **given)
    assert str(raised.value).startswith(sentence)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"models": ["version=vmaf_v0.6.1"]}, "a classic model needs the reference: leave out model, or no"),
        ({"viewing": "tv"}, "viewing has no effect with no_reference, which reads one video: leave it out"),
        ({"skip_ref": 1}, "skip_ref has no effect with no_reference"),
        ({"stream_ref": 0}, "stream_ref has no effect with no_reference"),
        ({"align": "auto"}, "align has no effect with no_reference"),
        ({"scale": "force"}, "scale has no effect with no_reference"),
    ],
)
def test_what_needs_a_reference_is_refused_without_one(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ModelError) as raised:
        Request(None, "b", tiny_model="m", no_reference=True, **given)
    assert str(raised.value).startswith(sentence)


def test_a_tiny_model_is_scored_beside_the_others(room: Path) -> None:
    report = acuity.score(*pair(room), model="vmaf_v0.6.1", tiny_model=room / "fr.onnx", tiny_device="cpu")
    plain = acuity.score(*pair(room), model="vmaf_v0.6.1")
    assert (report.score, report.model) == (plain.score, "vmaf_v0.6.1")
    columns = report.results.columns
    keys = ["adm2", "vif_scale0", "vif_scale1", "vif_scale2", "vif_scale3", "motion2"]
    figures = np.column_stack([columns[f"integer_{key}"] for key in keys])
    np.testing.assert_allclose(columns["fr"], Regressor().numpy(figures), rtol=1e-4)
    document = report.to_dict()
    assert [model["name"] for model in document["models"]] == ["vmaf", "fr"]
    assert document["models"][1]["mean"] == report.pool("fr")
    assert (document["tiny_model"]["name"], document["tiny_model"]["provider"]) == (
        "fr",
        "CPUExecutionProvider",
    )
    assert "no_reference" not in document
    assert "tiny_model" not in plain.to_dict()


def test_the_headline_is_the_tiny_models_where_no_other_predicts(room: Path) -> None:
    request = Request(*pair(room), models=["vmaf_v0.6.1"], predict=False, tiny_model=str(room / "fr.onnx"))
    report = run_request(request)
    assert "vmaf" not in report.results.columns
    assert "integer_adm2" in report.results.columns
    assert report.score == report.pool("fr")
    metric = acuity.score(*pair(room), metrics="psnr", tiny_model=room / "fr.onnx")
    assert metric.score == report.score
    assert list(metric.metrics) == ["psnr"]


def test_one_video_alone(room: Path) -> None:
    report = alone(room)
    frames = [picture.luma for picture in acuity.open_video(room / "dis.mp4")]
    expected = [ConvNet().numpy(luma[None] / 255) for luma in frames]
    np.testing.assert_allclose(report.results.columns["nr"], expected, rtol=1e-4)
    document = report.to_dict(per_frame=True)
    assert document["no_reference"] is True
    assert document["input"]["reference"] is None
    assert document["input"]["distorted"]["path"] == str(room / "dis.mp4")
    assert not {"pair_by", "alignment", "frame_skip_ref", "time_offset"} & set(document["input"])
    assert document["notes"] == []
    assert document["score"] == pytest.approx(np.mean(expected), rel=1e-4)
    assert list(report.results.columns) == ["nr"]


def test_which_frames_of_one_video(room: Path) -> None:
    whole = alone(room).results.columns["nr"]
    skipped = alone(room, skip=2, frames=3)
    assert skipped.results.columns["nr"].tolist() == whole[2:5].tolist()
    assert [note.code for note in skipped.notes] == ["skipped", "frame-limit"]
    assert skipped.time_of(0) == pytest.approx(2 / 25)
    third = alone(room, subsample=3)
    assert third.results.frames == [0, 3, 6]
    assert third.results.columns["nr"].tolist() == whole[::3].tolist()
    with pytest.raises(NoFramesError, match=r"has no frame after skipping 100: skip fewer"):
        alone(room, skip=100)


def test_a_feature_of_one_picture_beside_it(room: Path, tmp_path: Path) -> None:
    wide = encode_luma(tmp_path / "wide.mkv", frames_of("grain")[:2], size=(320, 240), codec="ffv1")
    report = acuity.score(None, wide, tiny_model=room / "nr.onnx", no_reference=True, metrics="cambi")
    assert report.pool("cambi") == acuity.score(wide, wide, metrics="cambi").pool("cambi")


@pytest.mark.parametrize(
    ("options", "error", "sentence"),
    [
        ({"tiny_model": "fr.onnx"}, ModelError, "fr.onnx' needs the reference: name a no-reference model"),
        ({"feature": "psnr"}, FeatureError, "psnr compares with the reference, and the video is scored"),
        ({"feature": "cambi=full_ref=true"}, FeatureError, "cambi compares with the reference"),
        ({"metrics": "ssim"}, FeatureError, "float_ssim compares with the reference"),
        ({"metrics": "vmaf"}, ModelError, "the metric 'vmaf' needs the reference"),
    ],
)
def test_what_compares_is_refused_without_a_reference(
    room: Path, options: dict[str, Any], error: type[Exception], sentence: str
) -> None:
    if "tiny_model" in options:
        options = {"tiny_model": room / options["tiny_model"]}
    with pytest.raises(error) as raised:
        alone(room, **options)
    assert sentence in str(raised.value)


def test_a_missing_reference(room: Path) -> None:
    with pytest.raises(InputError, match="ref=None is no video"):
        acuity.score(None, room / "dis.mp4", tiny_model=room / "nr.onnx")
    with pytest.raises(InputError, match="there is no reference to compare with"):
        run_request(Request(None, room / "dis.mp4"))


def test_a_model_that_is_none(room: Path) -> None:
    with pytest.raises(ModelError, match=r"no tiny model named 'acuity_xx_v1'.*did you mean acuity_"):
        acuity.score(*pair(room), tiny_model="acuity_xx_v1")
    with pytest.raises(BackendError, match=r"tiny_device='rocm' needs the ROCMExecutionProvider"):
        alone(room, tiny_device="rocm")
    with pytest.raises(ModelError, match=r"nr.onnx' is a tiny model \(ONNX\).*: name it with tiny_model="):
        acuity.score(*pair(room), model=f"path={room / 'nr.onnx'}")


@pytest.mark.parametrize("reference", [True, False])
def test_going_on_after_an_interruption(room: Path, tmp_path: Path, reference: bool) -> None:
    model = no_reference(tmp_path / "mine.onnx")
    asked: dict[str, Any] = {"tiny_model": str(model), "no_reference": not reference}
    videos = pair(room)[0] if reference else None, pair(room)[1]
    request = Request(*videos, **asked)
    partial, report = tmp_path / "part.json", run_until(request, 3)
    assert report.partial is not None
    report.write(partial)
    options = {**asked, "resume": partial}
    again = acuity.score(*videos, **options)
    assert again.restored == 3
    whole = run_request(request)
    assert again.results.columns["mine"].tolist() == whole.results.columns["mine"].tolist()
    with pytest.raises(ResumeError, match=r"was measured without tiny_resize="):
        acuity.score(*videos, **options, tiny_resize="nearest")
    no_reference(model, seed=9)
    with pytest.raises(ResumeError, match="is of another tiny model than"):
        acuity.score(*videos, **options)


def test_every_kind_of_model_gives_the_score_of_the_command(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    ref, dis = map(str, (y4m(tmp_path / "r.y4m", 3), y4m(tmp_path / "d.y4m", 3, worse=True)))
    assert score_video("vmaf_v0.6.1", ref, dis).score == acuity.score(ref, dis, model="vmaf_v0.6.1").score
    for name, alone in (("acuity_fr_v1", False), ("acuity_nr_v1", True)):
        expected = acuity.score(None if alone else ref, dis, model=(), tiny_model=name, no_reference=alone)
        assert score_video(name, ref, dis).score == expected.score
        if alone:
            assert score_video(name, None, dis).score == expected.score
    with pytest.raises(EvaluationError, match="add a column 'reference'"):
        score_video("vmaf_v0.6.1", None, dis)
    with pytest.raises(ModelError, match="there is no model named"):
        score_video("nosuch", ref, dis)
