"""What is wrong with a model, its sidecar or the options is one sentence, before a frame is scored."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx.helper import make_node

from acuity.errors import AcuityError, BackendError, MissingExtra, ModelError, ScoreError, UnfitPictureError
from acuity.features.extractor import Geometry
from acuity.tiny.load import load_tiny_model
from acuity.tiny.options import DEVICES, TinyOptions
from acuity.tiny.session import PROVIDERS
from tiny_clip_models import measured
from tiny_graphs import ConvNet, Regressor, constant, graph, save, value


def refusal(path: Path, options: TinyOptions | None = None, kind: type[AcuityError] = ModelError) -> str:
    with pytest.raises(kind) as caught:
        load_tiny_model(path, options or TinyOptions())
    text = str(caught.value)
    assert "\n" not in text
    return text


def reading(tmp_path: Path, shape: list[Any], type: str = "float32") -> Path:
    """A model that gives the mean of an input of this shape."""
    nodes = [make_node("ReduceMean", ["x"], ["y"], keepdims=0)]
    return save(graph(nodes, [value("x", shape, type)], [value("y", [], type)]), tmp_path / "m.onnx")


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        ([1, "H", "W"], "has rank 3, and it must have rank 4 .* or 2"),
        ([1, 5, 3, "H", "W"], "has rank 5"),
        ([], "has rank 0"),
        ([1, 224, 224, 3], r"has its channels last \(NHWC\)"),
        ([1, "H", "W", 1], "leaves its channels open"),
        ([1, 4, "H", "W"], "has 4 channels"),
        ([8, 1, "H", "W"], "takes 8 pictures at once"),
        ([4, 6], "takes 4 frames at once"),
        (["N", 7], r"reads 7 features, and nothing says which: write a sidecar .*\"features\""),
        (["N", "F"], "reads an unknown number of features"),
    ],
)
def test_inputs_that_nothing_fits(tmp_path: Path, shape: list[Any], words: str) -> None:
    with pytest.raises(ModelError, match=words):
        load_tiny_model(reading(tmp_path, shape))


def test_inputs_of_another_type_and_number(tmp_path: Path) -> None:
    whole = refusal(reading(tmp_path, [1, 1, "H", "W"], type="int64"))
    assert "takes int64, and it must take float32 or float16" in whole
    three = save(ConvNet(pictures=3).model(("x", "y", "z")), tmp_path / "n.onnx")
    assert "'z' of rank 4, which cannot be fed" in refusal(three)
    both = save(ConvNet(channels=2, pictures=2).model(("a", "b")), tmp_path / "b.onnx")
    assert "has 2 channels, which hold both pictures" in refusal(both)
    mixed = graph(
        [make_node("ReduceMean", ["p"], ["m"]), make_node("ReduceMean", ["f"], ["n"])],
        [value("p", [1, 1, "H", "W"]), value("f", [1, 6])],
        [value("m", [1, 1, 1, 1]), value("n", [1, 1])],
    )
    assert "'p' of rank 4, 'f' of rank 2, which cannot be fed" in refusal(save(mixed, tmp_path / "x.onnx"))


@pytest.mark.parametrize(
    ("output", "words"),
    [(["N", 2], r"has the shape \[N, 2\]"), ([1, 1, 1], r"\[1, 1, 1\]"), ([3], r"\[3\]")],
)
def test_outputs_that_are_no_score(tmp_path: Path, output: list[Any], words: str) -> None:
    shape = [1 if isinstance(size, str) else size for size in output]
    nodes = [make_node("ReduceMean", ["x"], ["m"], keepdims=0), make_node("Expand", ["m", "s"], ["y"])]
    sizes = constant("s", shape, "int64")
    model = graph(nodes, [value("x", [1, 1, "H", "W"])], [value("y", output)], [sizes])
    with pytest.raises(ModelError, match=words + ", and a score is one number a frame"):
        load_tiny_model(save(model, tmp_path / "m.onnx"))


def test_an_output_whose_shape_shows_with_the_first_frame(tmp_path: Path) -> None:
    nodes = [make_node("Identity", ["features"], ["y"])]
    model = graph(nodes, [value("features", ["N", 6])], [value("y", ["N", "K"])])
    tiny = load_tiny_model(save(model, tmp_path / "m.onnx"))
    with pytest.raises(ModelError, match=r"the shape \(1, 6\) for 1 frame, and a score is one number"):
        tiny.outputs(np.zeros((3, 6)))


@pytest.mark.parametrize(
    "content", [b"", b"\x00\x01\x02not a model", Regressor().model().SerializeToString()[:200]]
)
def test_files_that_are_no_model(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(content)
    assert "is no ONNX model, or a truncated one" in refusal(path)


def test_a_file_of_more_than_50_mb(tmp_path: Path) -> None:
    path = tmp_path / "large.onnx"
    with open(path, "wb") as stream:
        stream.truncate(50_000_001)
    assert "has more than 50 MB with its weights" in refusal(path)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("filter", "is a filter, which makes pictures, no model that scores"),
        ("shot_detector", "is a shot detector, which finds cuts"),
        ("saliency", "is a saliency model"),
        ("odd", "has the unknown kind 'odd': give one of kind fr or nr"),
        ("fr", "it says kind 'fr', and the model reads the distorted picture alone, which is 'nr'"),
    ],
)
def test_kinds(tmp_path: Path, kind: str, words: str) -> None:
    assert words in refusal(save(ConvNet().model(), tmp_path / "m.onnx", {"kind": kind}))


@pytest.mark.parametrize(
    ("sidecar", "words"),
    [
        ({"features": ["adm2", "odd", *"abcd"]}, "reads the feature 'odd', which nothing here measures"),
        ({"features": ["adm2"]}, "takes 6 features, and there are 1: adm2; name them"),
        ({"feature_mean": [0, 0], "feature_std": [1, 1]}, "it has means of 2 features"),
        ({"input_name": "other"}, "it names the input 'other', and the graph has features"),
        ({"output_names": ["other"]}, "it names the output 'other', and the graph has score"),
        ({"codec_aware": True}, "it says codec_aware, and the graph has no second input"),
        ({"sha256": "0" * 64}, "it was changed or replaced"),
    ],
)
def test_sidecars_that_do_not_fit(tmp_path: Path, sidecar: dict[str, Any], words: str) -> None:
    assert words in refusal(save(Regressor().model(), tmp_path / "m.onnx", sidecar))


def test_picture_normalisation_of_another_number_of_channels(tmp_path: Path) -> None:
    two = {"norm_mean": [0, 0], "norm_std": [1, 1]}
    path = save(ConvNet(channels=3).model(), tmp_path / "m.onnx", two)
    assert "norm_mean has 2 numbers, and pictures of 3 channels need 1 or 3" in refusal(path)


def test_a_codec_where_none_is_read_and_none_where_one_is(tmp_path: Path) -> None:
    plain = save(Regressor().model(), tmp_path / "plain.onnx")
    assert "reads no codec: leave out tiny_codec" in refusal(plain, TinyOptions(codec="libx264"))
    net = save(ConvNet().model(), tmp_path / "net.onnx")
    assert "reads no codec: leave out tiny_crf" in refusal(net, TinyOptions(crf=3))
    aware = save(Regressor(codec=14).model(), tmp_path / "aware.onnx")
    assert "reads which encoder made the video: pass tiny_codec= as one of libx264" in refusal(aware)
    assert "reads the CRF of the encode: pass tiny_crf=" in refusal(aware, TinyOptions(codec="libx264"))
    unnamed = save(Regressor(codec=14).model(codec_name="b"), tmp_path / "unnamed.onnx")
    assert "two inputs of rank 2, and neither is the codec block" in refusal(unnamed)


def test_half_precision_of_a_graph_that_has_another(tmp_path: Path) -> None:
    said = refusal(save(ConvNet().model(), tmp_path / "m.onnx"), TinyOptions(fp16=True))
    assert "takes float32: export it in float16, or leave out tiny_fp16" in said


@pytest.mark.parametrize("device", [word for word in DEVICES if word not in ("auto", "cpu")])
def test_providers_that_are_not_here(tmp_path: Path, device: str) -> None:
    import onnxruntime

    provider = PROVIDERS[device]
    there = onnxruntime.get_available_providers()
    if provider.name in there:
        pytest.skip(f"{provider.name} is here")
    text = refusal(save(ConvNet().model(), tmp_path / "m.onnx"), TinyOptions(device=device), BackendError)
    assert f"tiny_device={device!r} needs the {provider.name} of ONNX Runtime" in text
    assert f"has {', '.join(there)}: install {provider.package}, or pass tiny_device='cpu'" in text


@pytest.mark.filterwarnings("ignore:Specified provider")
def test_a_provider_that_does_not_start_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """ONNX Runtime itself would print a line and go on with the CPU."""
    import onnxruntime

    path = save(ConvNet().model(), tmp_path / "m.onnx")
    there = onnxruntime.get_available_providers()
    if "CUDAExecutionProvider" in there:
        pytest.skip("CUDA is here")
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: ["CUDAExecutionProvider", *there])
    assert "CUDAExecutionProvider" in refusal(path, TinyOptions(device="cuda"), BackendError)
    assert load_tiny_model(path).describe()["provider"] == "CPUExecutionProvider"
    assert capfd.readouterr() == ("", "")


def test_a_fixed_size_is_refused_before_a_frame_is_scored(tmp_path: Path) -> None:
    path = save(ConvNet().model(size=(32, 48)), tmp_path / "m.onnx")
    frame = np.zeros((36, 64), np.uint8)
    with pytest.raises(UnfitPictureError, match="pictures of 48x32, and these are 64x36: pass tiny_resize="):
        measured([load_tiny_model(path)], [(frame, frame)])
    resized = load_tiny_model(path, TinyOptions(resize="bilinear"))
    assert len(measured([resized], [(frame, frame)]).values("m")) == 1
    (extractor,) = load_tiny_model(path).make_extractors()
    extractor.check_size(Geometry(48, 32, 8))


def nan_model(tmp_path: Path) -> Path:
    """Gives the logarithm of the mean, which black pictures don't have."""
    nodes = [make_node("ReduceMean", ["x"], ["m"], keepdims=0), make_node("Log", ["m"], ["y"])]
    return save(graph(nodes, [value("x", [1, 1, "H", "W"])], [value("y", [])]), tmp_path / "log.onnx")


FRAMES = np.random.default_rng(1).integers(1, 255, (4, 48, 64)).astype(np.uint8)
FRAMES[2] = 0
PAIRS = [(frame, frame) for frame in FRAMES]


def test_a_score_that_is_no_number_does_not_cost_the_other_models_theirs(tmp_path: Path) -> None:
    model = load_tiny_model(nan_model(tmp_path))
    results = measured(["vmaf_v0.6.1", model], PAIRS)
    with pytest.raises(ScoreError, match=r"the score 'log' of frame 2 by '.*log\.onnx' is not a number"):
        measured([model], PAIRS)  # where nothing else scores
    assert results.undefined["log"].tolist() == [False, False, True, False]
    assert np.isfinite(results.columns["vmaf"]).all()
    assert np.isnan(results.columns["log"]).tolist() == [False, False, True, False]
    pooled = results.pooled()
    assert np.isfinite(pooled["vmaf"]["mean"])
    assert np.isnan(pooled["log"]["mean"])
    assert np.isnan(results.pool("log"))


def test_a_graph_that_fails_on_a_frame_names_it(tmp_path: Path) -> None:
    """Shapes that contradict each other only when it runs."""
    nodes = [
        make_node("Shape", ["x"], ["s"]),
        make_node("ReduceMax", ["x"], ["top"], keepdims=0),
        make_node("Cast", ["top"], ["wanted"], to=7),
        make_node("Reshape", ["x", "t"], ["flat"]),
        make_node("Gather", ["flat", "big"], ["y"]),
    ]
    constants = [constant("t", [-1], "int64"), constant("big", 10**6, "int64")]
    failing = graph(nodes, [value("x", [1, 1, "H", "W"])], [value("y", [])], constants)
    model = load_tiny_model(save(failing, tmp_path / "g.onnx"))
    with pytest.raises(ModelError, match=r"the model '.*g\.onnx' failed: .*\(frame 0\)$"):
        measured([model], PAIRS, threads=1)


def test_names_that_columns_cannot_have(tmp_path: Path) -> None:
    path = save(ConvNet().model(), tmp_path / "m.onnx", {"name": "two words"})
    assert "bad key 'name': 'two words' cannot name a column" in refusal(path)
    path = save(ConvNet().model(), tmp_path / "psnr_y.onnx")
    with pytest.raises(AcuityError, match="which is the name of another column"):
        measured([load_tiny_model(path)], [])


@pytest.mark.parametrize("package", ["onnxruntime", "onnx"])
def test_a_missing_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    path = save(ConvNet().model(), tmp_path / "m.onnx")
    monkeypatch.setitem(sys.modules, package, None)
    said = "tiny models need the extra 'tiny': pip install 'acuity-vmaf[tiny]'"
    assert refusal(path, kind=MissingExtra) == said
