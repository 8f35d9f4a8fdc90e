"""The figures of a graph equal NumPy's for the same numbers, whichever input it has."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import helper
from onnx.helper import make_node

from acuity.measure import Measurement
from acuity.tiny.feature_input import make_block
from acuity.tiny.load import load_tiny_model
from acuity.tiny.options import TinyOptions
from acuity.tiny.tiny_model import TinyModel
from acuity.video.picture import Picture, PixelFormat
from acuity.video.rgb import to_rgb
from tiny_clip_models import measured
from tiny_graphs import ConvNet, Regressor, constant, graph, save, value

MEAN = [0.9, 0.4, 0.7, 0.8, 0.9, 4.0]
STD = [0.1, 0.2, 0.15, 0.1, 0.05, 3.0]
SCALED = {"feature_mean": MEAN, "feature_std": STD}
ROWS = np.random.default_rng(0).uniform(0, 1, (40, 6)) * [1, 1, 1, 1, 1, 20]
IMAGENET = np.array([[0.485, 0.456, 0.406], [0.229, 0.224, 0.225]])[..., None, None]


def picture(seed: int, layout: str = "420", depth: int = 8, width: int = 40, height: int = 24) -> Picture:
    format = PixelFormat(layout, depth)
    random = np.random.default_rng(seed)
    shapes = format.plane_shapes(width, height)
    return Picture(tuple(random.integers(0, 1 << depth, s).astype(format.dtype) for s in shapes), format)


def score(model: TinyModel, ref: Picture, dis: Picture) -> float:
    (figure,) = model.score_pictures(dis, ref)
    return figure


def test_features_in_the_sidecars_normalisation(tmp_path: Path) -> None:
    net = Regressor()
    path = save(net.model(), tmp_path / "net.onnx", SCALED)
    found = load_tiny_model(path).outputs(ROWS)["net"]
    np.testing.assert_allclose(found, net.numpy((ROWS - MEAN) / STD), rtol=1e-5)


def test_features_in_the_other_spelling_and_order(tmp_path: Path) -> None:
    net = Regressor(features=3)
    names = ["motion2", "psnr_y", "VMAF_feature_adm2_score"]
    sidecar = {"feature_order": names, "input_mean": MEAN[:3], "input_std": STD[:3], "name": "mine"}
    model = load_tiny_model(save(net.model(), tmp_path / "net.onnx", sidecar))
    assert model.feature_keys() == ["integer_motion2", "psnr_y", "adm2"]
    found = model.outputs(ROWS[:, :3])
    np.testing.assert_allclose(found["mine"], net.numpy((ROWS[:, :3] - MEAN[:3]) / STD[:3]), rtol=1e-5)


def test_a_frame_has_the_same_figure_alone_and_among_others(tmp_path: Path) -> None:
    model = load_tiny_model(save(Regressor(hidden=64).model(), tmp_path / "net.onnx"))
    together = model.outputs(ROWS)["net"]
    alone = [model.outputs(ROWS[i : i + 1])["net"][0] for i in range(len(ROWS))]
    assert together.tolist() == alone
    np.testing.assert_allclose(model.outputs(ROWS, at_once=16)["net"], together, rtol=1e-5)


@pytest.mark.parametrize(("size", "name"), [(14, "codec"), (18, "codec_block")])
def test_the_codec_block_is_the_second_input(tmp_path: Path, size: int, name: str) -> None:
    net = Regressor(codec=size)
    options = TinyOptions(codec="libx265", preset="slow", crf=28)
    path = save(net.model(codec_name=name), tmp_path / "net.onnx", {"codec_aware": True})
    model = load_tiny_model(path, options)
    block = make_block("net", size, None, options)
    np.testing.assert_allclose(model.outputs(ROWS)["net"], net.numpy(ROWS, block.values), rtol=1e-5)
    assert model.describe()["codec"] == {"encoder": "libx265", "preset_ordinal": 6, "crf": 28}


@pytest.mark.parametrize("depth", [8, 10, 16])
def test_luma_is_scaled_by_its_depth(tmp_path: Path, depth: int) -> None:
    net = ConvNet()
    model = load_tiny_model(save(net.model(), tmp_path / "net.onnx"))
    dis = picture(1, depth=depth)
    expected = net.numpy(dis.luma[np.newaxis] / ((1 << depth) - 1))
    assert score(model, picture(0, depth=depth), dis) == pytest.approx(expected, rel=1e-5)
    assert (model.kind, model.no_reference, model.uses_chroma) == ("nr", True, False)


def test_rgb_in_the_videos_colours(tmp_path: Path) -> None:
    net = ConvNet(channels=3)
    model = load_tiny_model(save(net.model(), tmp_path / "net.onnx"))
    dis = picture(1, depth=10)
    for matrix, full_range in (("bt709", False), ("bt2020nc", True), (None, False)):
        rgb = to_rgb(dis, matrix, full_range).transpose(2, 0, 1)
        expected = net.numpy((rgb - IMAGENET[0]) / IMAGENET[1])
        found = score(model.in_colours(matrix, full_range), picture(0, depth=10), dis)
        assert found == pytest.approx(expected, rel=1e-5)
    assert model.uses_chroma
    plain = {"norm_mean": [0, 0, 0], "norm_std": [1, 1, 1]}
    plain_model = load_tiny_model(save(net.model(), tmp_path / "plain.onnx", plain))
    expected = net.numpy(to_rgb(dis, "bt709").transpose(2, 0, 1))
    found = score(plain_model.in_colours("bt709", False), dis, dis)
    assert found == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    ("names", "swapped"),
    [
        (("ref", "dist"), False),
        (("distorted", "reference"), True),
        (("x", "y"), False),
        (("dis", "other"), True),
    ],
)
def test_two_inputs_are_the_two_pictures(tmp_path: Path, names: tuple[str, str], swapped: bool) -> None:
    net = ConvNet(pictures=2)
    model = load_tiny_model(save(net.model(names), tmp_path / "net.onnx"))
    ref, dis = picture(0), picture(1)
    planes = [dis.luma, ref.luma] if swapped else [ref.luma, dis.luma]
    assert score(model, ref, dis) == pytest.approx(net.numpy(np.stack(planes) / 255), rel=1e-5)
    assert (model.kind, model.no_reference) == ("fr", False)


def test_two_channels_are_both_lumas(tmp_path: Path) -> None:
    net = ConvNet(channels=2)
    model = load_tiny_model(save(net.model(), tmp_path / "net.onnx"))
    ref, dis = picture(0), picture(1)
    assert score(model, ref, dis) == pytest.approx(net.numpy(np.stack([ref.luma, dis.luma]) / 255), rel=1e-5)
    assert model.kind == "fr"


def test_half_precision(tmp_path: Path) -> None:
    net, regressor = ConvNet(), Regressor()
    model = load_tiny_model(save(net.model(type="float16"), tmp_path / "net.onnx"), TinyOptions(fp16=True))
    expected = net.numpy(picture(1).luma[None] / 255)
    assert score(model, picture(0), picture(1)) == pytest.approx(expected, rel=0.01)
    assert model.describe()["fp16"] is True
    path = save(regressor.model(type="float16"), tmp_path / "reg.onnx", SCALED)
    rows = regressor.numpy((ROWS - MEAN) / STD)
    np.testing.assert_allclose(load_tiny_model(path).outputs(ROWS)["reg"], rows, rtol=0.01)


def test_several_outputs_have_a_column_each(tmp_path: Path) -> None:
    nodes = [
        make_node("ReduceMean", ["features"], ["mean"], axes=[1], keepdims=0),
        make_node("ReduceMax", ["features"], ["the/max"], axes=[1], keepdims=1),
    ]
    outputs = [value("mean", ["N"]), value("the/max", ["N", 1])]
    whole = graph(nodes, [value("features", ["N", 6])], outputs)
    model = load_tiny_model(save(whole, tmp_path / "two.onnx"))
    found = model.outputs(ROWS)
    assert list(found) == model.output_names() == ["two_mean", "two_the_max"]
    np.testing.assert_allclose(found["two_mean"], ROWS.mean(axis=1), rtol=1e-6)
    np.testing.assert_allclose(found["two_the_max"], ROWS.max(axis=1), rtol=1e-6)
    assert model.renamed("b").output_names() == ["b_mean", "b_the_max"]
    one = save(whole, tmp_path / "one.onnx", {"output_name": "mean"})
    assert load_tiny_model(one).output_names() == ["one"]


def test_functions_inside_the_file(tmp_path: Path) -> None:
    """As newer PyTorch exports them."""
    added, opsets = make_node("Add", ["x", "x"], ["y"]), [helper.make_opsetid("", 17)]
    double = helper.make_function("pkg.mine", "Double", ["x"], ["y"], [added], opsets)
    doubled = make_node("Double", ["features"], ["d"], domain="pkg.mine")
    nodes, ones = [doubled, make_node("MatMul", ["d", "w"], ["score"])], constant("w", np.ones((6, 1)))
    model = graph(nodes, [value("features", ["N", 6])], [value("score", ["N", 1])], [ones])
    model.functions.append(double)
    model.opset_import.append(helper.make_opsetid("pkg.mine", 1))
    found = load_tiny_model(save(model, tmp_path / "net.onnx")).outputs(ROWS)["net"]
    np.testing.assert_allclose(found, 2 * ROWS.sum(axis=1), rtol=1e-5)


@pytest.mark.parametrize("threads", [2, 4])
def test_a_measurement_gives_the_same_on_every_number_of_threads(tmp_path: Path, threads: int) -> None:
    net, regressor = ConvNet(), Regressor()
    paths = [save(net.model(), tmp_path / "net.onnx"), save(regressor.model(), tmp_path / "reg.onnx")]
    models = [load_tiny_model(path) for path in paths]
    pairs = [(picture(index), picture(100 + index)) for index in range(9)]
    columns = [measured(models, pairs, threads=count).columns for count in (1, threads)]
    for name in ("net", "reg"):
        assert columns[0][name].tolist() == columns[1][name].tolist()
    expected = [net.numpy(dis.luma[None] / 255) for _, dis in pairs]
    np.testing.assert_allclose(columns[0]["net"], expected, rtol=1e-5)
    features = np.column_stack([columns[0][key] for key in models[1].feature_keys()])
    np.testing.assert_allclose(columns[0]["reg"], regressor.numpy(features), rtol=1e-5)


def test_several_outputs_in_a_measurement(tmp_path: Path) -> None:
    nodes = [
        make_node("ReduceMean", ["x"], ["mean"], keepdims=0),
        make_node("ReduceMax", ["x"], ["top"], keepdims=0),
    ]
    model = graph(nodes, [value("x", [1, 1, "H", "W"])], [value("mean", []), value("top", [])])
    with Measurement() as measurement:
        measurement.add_model(load_tiny_model(save(model, tmp_path / "two.onnx")))
        measurement.add(picture(0), picture(1))
        measurement.flush()
        luma = picture(1).luma / 255
        assert measurement.score_at(0) == pytest.approx(luma.mean(), rel=1e-5)
        assert measurement.score_at(0, "two_top") == pytest.approx(luma.max(), rel=1e-5)
        results = measurement.results()
    assert results.models == ["two_mean", "two_top"]
    assert results.pool() == pytest.approx(luma.mean(), rel=1e-5)
    (mark,) = results.marks()["segments"]
    assert mark["mean"] == pytest.approx(luma.mean(), rel=1e-5)
    assert not results.steered


def test_swapping_to_the_same_model_changes_nothing(tmp_path: Path) -> None:
    path = save(ConvNet().model(), tmp_path / "net.onnx")
    with Measurement() as measurement:
        measurement.add_model(load_tiny_model(path).renamed("a"))
        measurement.add(picture(0), picture(1))
        measurement.swap_model("a", load_tiny_model(path))
        measurement.add(picture(0), picture(1))
        measurement.flush()
        assert not measurement.results().steered
