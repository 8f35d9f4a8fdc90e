"""Model files that are not as they should be: refused with a sentence that names the file and the key."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acuity.errors import ModelError
from acuity.models import Model, load_model
from acuity.models.document import MAX_BYTES
from effort import examples
from small_model import change, small_document

Save = Callable[..., str]


def refuse(path: str) -> str:
    with pytest.raises(ModelError) as caught:
        load_model(f"path={path}")
    message = str(caught.value)
    assert path in message
    assert "\n" not in message
    return message


@pytest.mark.parametrize("key", ["model_type", "feature_names", "norm_type", "slopes", "intercepts", "model"])
def test_missing_key(key: str, document: dict[str, Any], save: Save) -> None:
    del document["model_dict"][key]
    assert f"'model_dict.{key}'" in refuse(save(document))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("model_type", "RANDOMFOREST"),
        ("norm_type", "custom"),
        ("feature_names", "adm2"),
        ("feature_names", []),
        ("feature_names", ["a", 2]),
        ("feature_names", ["a"] * 65),
        ("feature_opts_dicts", [{}]),
        ("feature_opts_dicts", [{}, 1]),
        ("slopes", [1.0, 2.0]),
        ("slopes", [0.0, 1.0, 1.0]),
        ("slopes", [1.0, "2", 3.0]),
        ("intercepts", None),
        ("score_clip", [0.0]),
        ("score_clip", [100.0, 0.0]),
        ("model", 7),
        ("chroma_correction_parameter", "120"),
        ("chroma_correction_parameter", 120.0),  # the model has no chroma feature
    ],
)
def test_wrong_value(key: str, value: Any, document: dict[str, Any], save: Save) -> None:
    document["model_dict"][key] = value
    assert f"'model_dict.{key}'" in refuse(save(document))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("p0", "1"),
        ("enabled", "yes"),
        ("out_lte_in", 1),
        ("knots", [[0, 0]]),
        ("knots", [[0, 0], [0, 1]]),
        ("knots", [[0, 0], [1]]),
    ],
)
def test_wrong_transform(key: str, value: Any, document: dict[str, Any], save: Save) -> None:
    document["model_dict"]["score_transform"] = {key: value}
    assert f"'model_dict.score_transform.{key}'" in refuse(save(document))


def test_wrong_option(document: dict[str, Any], save: Save) -> None:
    document["model_dict"]["feature_opts_dicts"][1] = {"vif_enhn_gain_limit": [1]}
    assert "'model_dict.feature_opts_dicts[1].vif_enhn_gain_limit'" in refuse(save(document))


def test_a_model_has_no_files_written(document: dict[str, Any], save: Save) -> None:
    document["model_dict"]["feature_opts_dicts"][1] = {"heatmaps_path": "anywhere"}
    assert "writes files, which a model must not" in refuse(save(document))


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "9" * 400, "9" * 5000])
@pytest.mark.parametrize("key", ["slopes", "intercepts", "score_clip"])
def test_number_that_is_not_finite(number: str, key: str, document: dict[str, Any], save: Save) -> None:
    document["model_dict"][key][1] = 424242
    message = refuse(save(json.dumps(document).replace("424242", number)))
    assert repr(key) in message
    assert "finite" in message


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("nu_svr", "c_svc", "svm_type"),
        ("svm_type nu_svr\n", "", "svm_type"),
        ("gamma 0.5\n", "", "gamma"),
        ("gamma 0.5", "gamma x", "gamma"),
        ("gamma 0.5", "gamma nan", "gamma"),
        ("gamma 0.5", "gamma -0.5", "gamma"),
        ("gamma 0.5", "gamma 0_5", "gamma"),
        ("rho -0.25", "rho", "rho"),
        ("rho -0.25", "rho -0.25\nrho 1", "rho"),
        ("total_sv 3", "total_sv 4", "4 support vectors but lists 3"),
        ("total_sv 3", "total_sv 99999999999", "total_sv"),
        ("total_sv 3", "total_sv 2.5", "total_sv"),
        ("SV\n", "", "header line"),
        ("svm_type", "colour blue\nsvm_type", "'colour blue'"),
        ("1:0.5 2:0.125", "1:0.5 3:0.125", "support vector 1 has index 3"),
        ("1:0.5 2:0.125", "0:0.5 2:0.125", "support vector 1 has index 0"),
        ("1:0.5 2:0.125", "2:0.5 1:0.125", "support vector 1 has index 1"),
        ("2:0.75", "2:", "support vector 2"),
        ("2:0.75", "2:0,75", "support vector 2"),
        ("2:0.75", "٢:0.75", "support vector 2"),
        ("2:0.75", "2:1e999", "not finite"),
    ],
)
def test_wrong_libsvm_text(old: str, new: str, says: str, document: dict[str, Any], save: Save) -> None:
    text = document["model_dict"]["model"]
    assert old in text
    document["model_dict"]["model"] = text.replace(old, new)
    message = refuse(save(document))
    assert "'model_dict.model'" in message
    assert says in message


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "not valid JSON"),
        (b"{", "not valid JSON"),
        (b"[1, 2]", "a list"),
        (b"{}", "'model_dict'"),
        (b'{"model_dict": []}', "'model_dict'"),
        (b'{"model_dict": {}, "model_dict": {}}', "twice"),
        (b"\xff\xfe\x00", "not text"),
        (b"[" * 200_000, "nested too deeply"),
        (b'{"0": {}, "2": {}}', "0, 1"),
        (b'{"0": {}}', "at least one more"),
    ],
)
def test_not_a_model(content: bytes, says: str, save: Save) -> None:
    assert says in refuse(save(content))


def test_paths_that_cannot_be_read(tmp_path: Path, save: Save) -> None:
    assert "No such file" in refuse(str(tmp_path / "none.json"))
    assert "directory" in refuse(str(tmp_path))
    assert "pickle" in refuse(save(b"", "model.pkl"))
    with pytest.raises(ModelError, match=r"null (byte|character)"):
        load_model("path=a\0b")


def test_file_too_large(tmp_path: Path) -> None:
    path = tmp_path / "huge.json"
    with path.open("wb") as stream:
        stream.truncate(MAX_BYTES + 1)  # a hole: takes no space
    assert "64 MiB" in refuse(str(path))


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz") / "model.json"


def load_or_refuse(path: Path) -> None:
    """Loading either succeeds, and then predicting does too, or says why in one sentence."""
    model = message = None
    try:
        model = load_model(f"path={path}")
    except ModelError as error:
        message = str(error)
    if model is None:
        assert message
        assert "\n" not in message
        return
    assert isinstance(model, Model)
    assert model.predict(np.full((3, len(model.features)), 0.5)).shape == (3,)


@given(content=st.binary(max_size=200))
def test_any_bytes(scratch: Path, content: bytes) -> None:
    scratch.write_bytes(content)
    load_or_refuse(scratch)


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from([0, 1, -1, math.nan, 1e308, "", "true", "none"])
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=examples(100))
@given(data=st.data(), value=json_values)
def test_any_value_anywhere(scratch: Path, data: st.DataObject, value: Any) -> None:
    document = change(small_document(), data, value)
    scratch.write_text(json.dumps(document))
    load_or_refuse(scratch)


@settings(max_examples=examples(100))
@given(data=st.data(), insert=st.text(alphabet="0123456789eE+-.: \nnaif_\u0662\0", max_size=4))
def test_any_change_of_the_libsvm_text(scratch: Path, data: st.DataObject, insert: str) -> None:
    document = small_document()
    text = document["model_dict"]["model"]
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 8)))
    document["model_dict"]["model"] = text[:start] + insert + text[end:]
    scratch.write_text(json.dumps(document))
    load_or_refuse(scratch)


@pytest.mark.parametrize(
    "spec",
    ["version=" + "n" * 1_000_000, "n" * 1_000_000 + "=x", "vmaf_v0.6.1:" + "o" * 1_000_000],
    ids=["name", "key", "option"],
)
def test_long_specs_are_cut(spec: str) -> None:
    with pytest.raises(ModelError) as caught:
        load_model(spec)
    assert len(str(caught.value)) < 1000


def test_more_knots_than_make_sense(document: dict[str, Any], save: Save) -> None:
    document["model_dict"]["score_transform"]["knots"] = [[x, x] for x in range(50_000)]
    assert "it holds 50000 pairs, and 1000 are the most that make sense" in refuse(save(document))
    document["model_dict"]["score_transform"]["knots"] = [[x, x] for x in range(1000)]
    load_model(save(document))


def test_more_members_than_make_sense(document: dict[str, Any], save: Save) -> None:
    assert "holds 1001 models, and 1000 are the most" in refuse(save({str(n): document for n in range(1001)}))
