"""Resizing equals ONNX's own Resize operator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import helper

from acuity.features.extractor import CpuContext, Frame, Geometry
from acuity.tiny.load import load_tiny_model
from acuity.tiny.options import TinyOptions
from acuity.tiny.picture_input import resize
from acuity.video.picture import Picture, PixelFormat
from tiny_graphs import ConvNet, constant, graph, save, value

OPERATOR: dict[str, dict[str, Any]] = {
    "bilinear": {"mode": "linear", "coordinate_transformation_mode": "half_pixel"},
    "nearest": {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"},
    "bicubic": {"mode": "cubic", "coordinate_transformation_mode": "half_pixel", "cubic_coeff_a": -0.5},
}
SIZES = [((9, 16), (18, 32)), ((48, 64), (7, 11)), ((31, 17), (32, 32)), ((5, 5), (5, 9)), ((1, 3), (4, 2))]


@pytest.mark.parametrize("filter", OPERATOR)
@pytest.mark.parametrize(("size", "wanted"), SIZES)
def test_as_the_operator_does(filter: str, size: tuple[int, int], wanted: tuple[int, int]) -> None:
    planes = np.random.default_rng(3).uniform(0, 1, (3, *size)).astype(np.float32)
    node = helper.make_node("Resize", ["x", "", "", "s"], ["y"], **OPERATOR[filter])
    sizes = constant("s", [1, 3, *wanted], "int64")
    model = graph([node], [value("x", [1, 3, *size])], [value("y", [1, 3, *wanted])], [sizes])
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    expected = session.run(None, {"x": planes[np.newaxis]})[0][0]
    np.testing.assert_allclose(
        resize(planes, *wanted, filter), expected, atol=1e-5
    )  # its positions are single precision


def test_the_same_size_is_left_alone() -> None:
    planes = np.ones((1, 4, 5), np.float32)
    assert resize(planes, 4, 5, "bicubic") is planes


@pytest.mark.parametrize("filter", OPERATOR)
def test_a_model_of_a_fixed_size(tmp_path: Path, filter: str) -> None:
    net = ConvNet()
    path = save(net.model(size=(20, 30)), tmp_path / "net.onnx", {"norm_mean": 0.5, "norm_std": 0.25})
    (extractor,) = load_tiny_model(path, TinyOptions(resize=filter)).make_extractors()
    luma = np.random.default_rng(1).integers(0, 1024, (36, 64)).astype(np.uint16)
    picture = Picture((luma,), PixelFormat("400", 10))
    geometry = Geometry(64, 36, 10)
    extractor.check_size(geometry)
    runner = extractor.runner([extractor], geometry, CpuContext(None, ""))  # type: ignore[arg-type]
    (found,) = runner(Frame(0, picture, picture)).values()
    planes = resize((luma[np.newaxis] / 1023).astype(np.float32), 20, 30, filter)
    assert found == pytest.approx(net.numpy((planes - 0.5) / 0.25), rel=1e-5)
