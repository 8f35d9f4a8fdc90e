"""Codec blocks: the places, ordinals and aliases of both layouts. And resizing, as ONNX has it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import helper

from acuity.errors import ModelError
from acuity.features.extractor import CpuContext, Frame, Geometry
from acuity.tiny.feature_input import ALIASES, PRESETS, VOCABULARIES, make_block
from acuity.tiny.load import load_tiny_model
from acuity.tiny.options import TinyOptions
from acuity.tiny.picture_input import resize
from acuity.video.picture import Picture, PixelFormat
from tiny_graphs import ConvNet, constant, graph, save, value


def values(size: int, codec: str, preset: str | None = None, crf: int = 0) -> list[float]:
    found = make_block("net", size, None, TinyOptions(codec=codec, preset=preset, crf=crf))
    return [float(value) for value in found.values]


@pytest.mark.parametrize("size", VOCABULARIES)
def test_every_encoder_has_its_place(size: int) -> None:
    for place, encoder in enumerate(VOCABULARIES[size]):
        found = values(size, encoder, crf=63)
        assert len(found) == size
        assert found[:-2] == [float(index == place) for index in range(size - 2)]
        assert found[-2:] == [pytest.approx(5 / 9), 1.0]


def test_the_places_that_matter_most() -> None:
    assert VOCABULARIES[14][0] == VOCABULARIES[18][0] == "libx264"
    assert (VOCABULARIES[14][4], VOCABULARIES[14][11]) == ("libvpx-vp9", "unknown")
    assert (VOCABULARIES[18][1], VOCABULARIES[18][13], VOCABULARIES[18][15]) == (
        "libaom-av1",
        "libsvtav1",
        "hevc_videotoolbox",
    )


@pytest.mark.parametrize(
    ("codec", "preset", "ordinal"),
    [
        ("libx264", "ultrafast", 0),
        ("x265", "medium", 5),
        ("libx265", "placebo", 9),
        ("h264_qsv", "veryfast", 2),
        ("av1_qsv", "veryslow", 8),
        ("libsvtav1", "6", 6),
        ("av1", "13", 9),
        ("h264_nvenc", "p1", 0),
        ("hevc_nvenc", "p4", 5),
        ("av1_nvenc", "p7", 9),
        ("vvc", "faster", 1),
        ("libvvenc", "slower", 8),
        ("vp9", "realtime", 0),
        ("libvpx-vp9", "best", 9),
        ("libx264", "unknown", 5),
        ("libx264", None, 5),
        (" X264 ", "SLOW", 6),
    ],
)
def test_presets(codec: str, preset: str | None, ordinal: int) -> None:
    assert values(14, codec, preset)[-2] == pytest.approx(ordinal / 9)


def test_crf() -> None:
    assert values(14, "libx264", crf=23)[-1] == pytest.approx(23 / 63)


def test_aliases_lead_to_encoders() -> None:
    known = {encoder for names in VOCABULARIES.values() for encoder in names}
    assert set(ALIASES.values()) <= known
    assert set(PRESETS) <= known
    assert values(14, "h264") == values(14, "libx264")


def test_encoders_without_a_place() -> None:
    assert values(14, "libaom-av1")[11] == 1  # the place of unknown ones
    with pytest.raises(
        ModelError, match=r"tiny_codec='vp9' is no encoder that the model 'net' knows: .*libx264, "
    ):
        values(18, "vp9")
    with pytest.raises(ModelError, match="tiny_codec='libx246' is no encoder"):
        values(14, "libx246")


def test_presets_that_are_none() -> None:
    with pytest.raises(ModelError, match=r"tiny_preset='p4' is no preset of libx264: .*ultrafast, "):
        values(14, "libx264", "p4")
    with pytest.raises(ModelError, match="knows no presets of h264_amf: leave it out"):
        values(18, "h264_amf", "quality")


def test_vocabularies_of_a_sidecar() -> None:
    options = TinyOptions(codec="two", crf=0)
    assert make_block("net", 5, ("one", "two", "three"), options).values[:3].tolist() == [0, 1, 0]
    with pytest.raises(ModelError, match="its encoder_vocab of 3 encoders makes 5"):
        make_block("net", 6, ("one", "two", "three"), options)
    with pytest.raises(
        ModelError, match="a codec input of 9 values, and only layouts of 14 and 18 are known"
    ):
        make_block("net", 9, None, options)


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
    (found,) = runner.run(Frame(0, picture, picture)).values()
    planes = resize((luma[np.newaxis] / 1023).astype(np.float32), 20, 30, filter)
    assert found == pytest.approx(net.numpy((planes - 0.5) / 0.25), rel=1e-5)
