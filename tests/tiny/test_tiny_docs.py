"""docs/tiny.md: its tables name what the code has, and its example's sidecar fits the graph it describes."""

from __future__ import annotations

import ast
import copy
import hashlib
import importlib
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray

from acuity.errors import ScoreError, UnfitPictureError
from acuity.measure import Results
from acuity.tiny.feature_input import ALIASES, PRESETS, USUAL, VOCABULARIES
from acuity.tiny.files import MAX_BYTES, OWN_FOLDER, shipped_models
from acuity.tiny.graph_checks import MAX_BODY, MAX_DEPTH, MAX_TRIPS
from acuity.tiny.load import load_tiny_model
from acuity.tiny.options import DEVICES, RESIZES, TinyOptions
from acuity.video.picture import Picture, PixelFormat
from acuity.video.readers.open import open_video
from formula_pictures import plane
from golden_figures import load_cases, needs_golden
from tiny_clip_models import measured
from tiny_graphs import ConvNet, Regressor, save

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "tiny.md").read_text()
MEAN = [0.9, 0.4, 0.7, 0.8, 0.9, 4.0]
STD = [0.1, 0.2, 0.15, 0.1, 0.05, 3.0]
FENCED = re.findall(r"^```python\n(.*?)^```$", PAGE, re.M | re.S)
NODES = [node for block in FENCED for node in ast.walk(ast.parse(block))]  # of the examples


def test_every_option_is_explained() -> None:
    listed = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", PAGE.partition("## What a model may read")[0], re.M)
    names = {name for entry in listed for name in re.findall(r"`(\w+)`", entry)}
    spelled = {"verify": "tiny_model_verify"}
    assert {spelled.get(name, f"tiny_{name}") for name in TinyOptions.__dataclass_fields__} <= names
    for word in RESIZES:
        assert f"`{word}`" in PAGE
    for word in DEVICES:
        assert f"`{word}`" in PAGE or f"`-{word.partition('-')[2]}`" in PAGE


def test_the_limits_are_those_of_the_code() -> None:
    bounds = f"at most {MAX_TRIPS} rounds", f"than {MAX_BODY} nodes", f"than {MAX_DEPTH} deep"
    for text in (f"{MAX_BYTES // 10**6} MB", *bounds):
        assert text in PAGE


def example_sidecars() -> list[dict[str, Any]]:
    """The sidecars of the examples, with numbers where they are computed."""
    found = []
    for node in NODES:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "sidecar":
            text = ast.unparse(node.value)
            text = text.replace("FEATURES", repr(USUAL)).replace("mean.tolist()", repr(MEAN))
            found.append(ast.literal_eval(text.replace("std.tolist()", repr(STD))))
    return [json.loads(json.dumps(sidecar)) for sidecar in found]


def exported(index: int) -> tuple[list[str], list[str], dict[str, dict[int, str]]]:
    """Names of inputs and outputs and the open axes, as an example exports them."""
    calls = [
        {word.arg: word.value for word in node.keywords}
        for node in NODES
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "torch.onnx.export"
    ]
    names = ("input_names", "output_names", "dynamic_axes")
    inputs, outputs, axes = (ast.literal_eval(calls[index][name]) for name in names)
    return inputs, outputs, axes


def test_the_example_of_features(tmp_path: Path) -> None:
    """The same network in ONNX's operators, because PyTorch isn't installed for tests."""
    net = Regressor(hidden=16)
    model = net.model()
    assert exported(0) == (["features"], ["score"], {"features": {0: "N"}, "score": {0: "N"}})
    tiny = load_tiny_model(save(model, tmp_path / "quality.onnx", example_sidecars()[0]))
    assert (tiny.name, tiny.kind) == ("quality", "fr")
    rows = np.random.default_rng(0).uniform(size=(3, 6))
    np.testing.assert_allclose(tiny.outputs(rows)["quality"], net.numpy((rows - MEAN) / STD), rtol=1e-5)


def test_the_example_of_pictures(tmp_path: Path) -> None:
    net = ConvNet()
    inputs, outputs, axes = exported(1)
    assert (outputs, axes[inputs[0]]) == (["score"], {0: "N", 2: "H", 3: "W"})
    tiny = load_tiny_model(save(net.model(inputs), tmp_path / "look.onnx", example_sidecars()[1]))
    assert (tiny.name, tiny.kind, tiny.no_reference) == ("look", "nr", True)
    luma = np.random.default_rng(0).integers(0, 256, (270, 480)).astype(np.uint8)
    (found,) = tiny.score_pictures(Picture((luma,), PixelFormat("400", 8)))
    assert found == pytest.approx(net.numpy((luma[None] / 255 - 0.45) / 0.25), rel=1e-4)


def test_what_the_examples_import_exists() -> None:
    for node in NODES:
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("acuity"):
            module = importlib.import_module(str(node.module))
            assert all(hasattr(module, name.name) for name in node.names)


def rows_of(page: str, heading: str) -> list[list[str]]:
    """The cells of the tables of one section."""
    lines = page.partition(f"## {heading}\n")[2].partition("\n## ")[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if "|" in line]


def test_the_codec_block_is_that_of_the_code() -> None:
    table = rows_of(PAGE, "The codec block")
    rows = [[cell.strip("`") for cell in row] for row in table]
    for column, encoders in enumerate(VOCABULARIES.values(), 1):
        said = [row[column] for row in rows if len(row) == 3 and row[0].isdigit() and row[column]]
        assert said == [*encoders, "preset / 9", "crf / 63"]
    listed = [(re.findall(r"`([^`]+)`", row[0]), row[1]) for row in table if len(row) == 2]
    aliases = {
        name: whose[0]
        for whose, right in listed
        for name in re.findall(r"`([^`]+)`(?! \d)", right)
        if len(whose) == 1 and whose[0] in ALIASES.values() and not re.search(r"` \d", right)
    }
    assert aliases == ALIASES
    presets = {
        encoder: {name: int(ordinal) for name, ordinal in found}
        for whose, right in listed
        if (found := re.findall(r"`([^`]+)` (\d)", right))
        for encoder in whose
    }
    assert presets == PRESETS


FR, NR = "acuity_fr_v1", "acuity_nr_v1"
CARD = (Path(__file__).resolve().parents[2] / "docs" / "tiny-models.md").read_text()
# Video of which libvmaf's VMAF is known, in several sizes and depths.
CASES = ("park_joy_480x270_y4m_x264", "sparks_480x270_420p10", "src01_576x324_420p8_derived", "hall_352x288")

Pair = tuple[Picture, Picture]


def sidecar(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((OWN_FOLDER / f"{name}.json").read_text())
    return found


def score(pairs: Iterable[Pair], model: str) -> dict[str, NDArray[np.float64]]:
    """The scores of each frame, of VMAF and of a tiny model."""
    columns = measured(["vmaf_v0.6.1", load_tiny_model(model)], pairs, threads=1).columns
    return {name: np.asarray(columns[name]) for name in ("vmaf", model)}


def gray(samples: NDArray[Any]) -> Picture:
    return Picture((np.clip(samples, 0, 255).astype(np.uint8),), PixelFormat("400", 8))


def moving(index: int, width: int = 192, height: int = 128) -> NDArray[np.int64]:
    return np.asarray(plane((height, width), 8, index, 0), np.int64)


def smoothed(samples: NDArray[Any], times: int) -> NDArray[Any]:
    """Blurred by a small filter, applied so many times."""
    for _ in range(times):
        for axis in (0, 1):
            wide = np.pad(samples, [(1, 1) if a == axis else (0, 0) for a in (0, 1)], mode="edge")
            count = samples.shape[axis]
            before, here, after = (wide.take(range(n, n + count), axis) for n in range(3))
            samples = (before + 2 * here + after) / 4
    return np.rint(samples)


@pytest.mark.parametrize("name", [FR, NR])
def test_the_file_is_the_one_that_sidecar_and_registry_describe(name: str) -> None:
    (entry,) = [file for file in shipped_models() if file.name == name]
    data = entry.path.read_bytes()
    about = sidecar(name)
    assert hashlib.sha256(data).hexdigest() == entry.sha256 == about["sha256"]
    assert (entry.kind, entry.opset, entry.license) == (about["kind"], about["opset"], "BSD-2-Clause-Patent")
    assert len(data) < 150_000
    graph = onnx.load_from_string(data)
    onnx.checker.check_model(graph, full_check=True)
    assert [(entry.domain, entry.version) for entry in graph.opset_import] == [("", about["opset"])]
    assert [value.name for value in graph.graph.input] == [about["input_name"]]
    assert [value.name for value in graph.graph.output] == [about["output_name"]]


def test_the_feature_model_follows_vmaf_on_pictures_that_it_never_saw() -> None:
    pairs = [(gray(moving(n)), gray(smoothed(moving(n), (n % 4) ** 2))) for n in range(12)]
    found = score(pairs, FR)
    assert np.ptp(found["vmaf"]) > 30
    assert np.abs(found[FR] - found["vmaf"]).max() < 3


@needs_golden
@pytest.mark.parametrize("name", CASES)
def test_the_feature_model_is_near_libvmaf_on_real_video(name: str) -> None:
    case = load_cases()[name]
    geometry = {name: getattr(case, name) for name in ("width", "height", "pixel_format", "bitdepth")}
    with open_video(case.reference, **geometry) as ref, open_video(case.distorted, **geometry) as dis:
        found = score([(copy.deepcopy(a), copy.deepcopy(b)) for a, b in zip(ref, dis, strict=True)], FR)
    runs = (run for run in case.runs.values() if run.models == ["version=vmaf_v0.6.1"] and run.exit == 0)
    true = next(run.metrics["vmaf"] for run in runs if len(run.frames) == len(found[FR]))
    assert np.abs(found[FR] - true).max() < 2


def test_the_picture_model_says_less_of_blurrier_pictures() -> None:
    pictures = [gray(smoothed(moving(0, 320, 192), times)) for times in (0, 2, 6, 16)]
    found = score([(picture, picture) for picture in pictures], NR)[NR]
    assert list(found) == sorted(found, reverse=True)
    assert found[0] - found[-1] > 20


def alone(*pictures: Picture) -> Results:
    """What the picture model says of pictures without a reference."""
    return measured([load_tiny_model(NR)], [(one, one) for one in pictures], threads=1, alone=True)


@pytest.mark.parametrize(("width", "height"), [(31, 64), (64, 31)])
def test_the_picture_model_refuses_pictures_that_are_too_small(width: int, height: int) -> None:
    picture = gray(moving(0, width, height))
    with pytest.raises(UnfitPictureError) as caught:
        alone(picture)
    assert str(caught.value) == (
        "the model 'acuity_nr_v1' needs pictures of at least 32x32 samples, because it was made for no "
        f"smaller ones, and these are {width}x{height}"
    )


def test_the_picture_model_has_no_score_of_pictures_that_show_nothing() -> None:
    picture, noise = moving(0), np.random.default_rng(1).integers(0, 256, (128, 192))
    shown = [gray(one) for one in (picture, np.full_like(picture, 16), np.full_like(picture, 128), noise)]
    results = alone(*shown)
    with pytest.raises(ScoreError, match="is not a number: the picture is of one colour or noise"):
        alone(shown[1])
    assert np.isnan(results.columns[NR]).tolist() == [False, True, True, True]
    assert results.pool() == results.pooled()[NR]["mean"] == results.columns[NR][0]


@pytest.mark.parametrize("name", [FR, NR])
def test_the_card_has_the_figures_of_the_sidecars(name: str) -> None:
    known = {tuple(row[:2]): row[2:] for row in rows_of(CARD, name) if len(row) == 6}
    for split, about in sidecar(name)["held_out"].items():
        for of in ("frames", "clips"):
            n, plcc, srocc, rmse = (about[of][key] for key in ("n", "plcc", "srocc", "rmse"))
            assert known[split, of] == [str(n), f"{plcc:.4f}", f"{srocc:.4f}", f"{rmse:.2f}"]
    assert re.search(r"not (good )?for", CARD.partition(f"## {name}\n")[2].partition("\n## ")[0])
