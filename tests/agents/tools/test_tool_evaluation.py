"""eval_model_on_split and compare_models, asked by the SDK's client."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import anyio
import pytest

from acuity.agents.tools.evaluation import tools
from longwire.product.calls import check
from rated_tables import SIX, columns, linear, some_keys, write
from scoring_room import ThreadJobs, ask_once, services_for

SUM = (100 / 6,) * 6
F = "{folder}"
BARE = f"{F}/bare.parquet"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("evaluation")
    table = {**columns(60), "key": some_keys("test", 40) + some_keys("train", 20)}
    write(made / "rated.parquet", table)
    write(made / "bare.parquet", {name: table[name] for name in SIX})
    write(made / "other.parquet", {"mos": [1.0, 2.0, 3.0]})
    write(made / "one.parquet", {name: values[:1] for name, values in table.items()})
    linear(made / "good.onnx", SUM)
    linear(made / "bad.onnx", (1.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    linear(made / "wide.onnx", SUM, outputs=2)
    (made / "broken.onnx").write_bytes(b"no model")
    (made / "text.parquet").write_text("key,mos\n")
    return made


def ask(folder: Path, name: str, **arguments: Any) -> dict[str, Any]:
    """The answer of one call; '{folder}' in its arguments is the folder."""

    def filled(value: Any) -> Any:
        if isinstance(value, list):
            return [filled(item) for item in value]
        return value.replace("{folder}", str(folder)) if isinstance(value, str) else value

    return ask_once(folder, name, family=tools, **{key: filled(value) for key, value in arguments.items()})


def test_an_evaluation(folder: Path) -> None:
    found = ask(folder, "eval_model_on_split", model="{folder}/good.onnx", features="{folder}/rated.parquet")
    assert found["model"] == str(folder / "good.onnx")
    assert found["features"] == str(folder / "rated.parquet")
    assert (found["split"], found["n"], found["columns"]) == ("test", 40, list(SIX))
    assert 0.7 < found["plcc"] <= 1
    low, high = found["ci95"]["plcc"]
    assert low < found["plcc"] < high


def test_a_comparison_with_models_that_fail(folder: Path) -> None:
    models = ["/etc/shadow.onnx", "{folder}/wide.onnx", "{folder}/bad.onnx", "no_such_name"]
    models += ["{folder}/broken.onnx", "{folder}/good.onnx", "{folder}/gone.onnx", "{folder}/wide.onnx"]
    found = ask(folder, "compare_models", models=models, features="{folder}/rated.parquet")
    assert [Path(entry["model"]).stem for entry in found["ranked"]] == ["good", "bad"]
    failed = [Path(entry["model"]).stem for entry in found["errors"]]
    assert failed == ["shadow", "wide", "no_such_name", "broken", "gone"]
    sentences = [entry["error"] for entry in found["errors"]]
    assert "not under an allowlisted root" in sentences[0]
    assert sentences[1] == "model output shape (40, 2) does not match target shape (40,)"
    assert "'no_such_name' is no tiny model" in sentences[2]
    assert "no such file under the allowed folders" in sentences[4]
    assert found["ranked"][0]["better_than_next"] is True
    assert "wide.onnx' is in the list twice" in found["notes"][0]


def test_names_in_errors_are_short_and_on_one_line(folder: Path) -> None:
    models = ["m" * 4096, "two\nlines\x1b[31m", "{folder}/good.onnx"]
    found = ask(folder, "compare_models", models=models, features="{folder}/rated.parquet")
    assert len(found["ranked"]) == 1
    long, lines = found["errors"]
    assert long["model"].startswith("mmm")
    assert len(long["model"]) <= 300
    assert len(long["error"]) < 1000
    assert lines["model"] == "two\\nlines\\x1b[31m"
    assert lines["error"].isprintable()
    refused = ask(folder, "compare_models", models=["m" * 4097], features="{folder}/rated.parquet")
    assert "should be at most 4096 characters" in refused["error"]


def test_a_submitted_one_has_the_time_of_a_call(folder: Path) -> None:
    services = services_for(folder, ThreadJobs())
    one, several = tools(services)
    table = {"features": str(folder / "rated.parquet")}
    good = str(folder / "good.onnx")
    for tool, given in ((one, {"model": good, **table}), (several, {"models": [good], **table})):
        assert anyio.run(tool.plan, check(tool, given)).time_limit == services.settings.time_limit == 600


def test_a_comparison_of_nothing_that_may_be_read(folder: Path) -> None:
    found = ask(folder, "compare_models", models=["/etc/a.onnx"], features="{folder}/rated.parquet")
    assert (found["ranked"], [entry["model"] for entry in found["errors"]]) == ([], ["/etc/a.onnx"])


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"split": "foo"}, "split must be one of ('train', 'val', 'test', 'all'); got 'foo'"),
        ({"features": BARE}, f"{BARE} has no 'mos' column — can't score correlations"),
        ({"features": f"{F}/one.parquet"}, "split 'test' has 1 samples — need ≥2 to compute correlations"),
        ({"model": f"{F}/wide.onnx"}, "model output shape (40, 2) does not match target shape (40,)"),
    ],
)
def test_sentences_of_the_reference(folder: Path, change: dict[str, str], sentence: str) -> None:
    given = {"model": f"{F}/good.onnx", "features": f"{F}/rated.parquet", **change}
    assert ask(folder, "eval_model_on_split", **given) == {"error": sentence.replace(F, str(folder))}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"features": f"{F}/other.parquet"}, "has none of the expected feature columns ['adm2', 'vif_sc"),
        ({"features": "/etc/passwd"}, "not under an allowlisted root"),
        ({"model": "/etc/model.onnx"}, "not under an allowlisted root"),
        ({"model": "/etc/passwd"}, "not under an allowlisted root"),
        ({"model": "{folder}/rated.parquet"}, "rated.parquet' is no tiny model: name an .onnx file"),
        ({"model": "m" * 5000}, "is longer than 4095 bytes"),
        ({"input_name": "x" * 257}, "should be at most 256 characters"),
        ({"features": "{folder}/text.parquet"}, "is not a parquet file"),
        ({"model": "{folder}/broken.onnx"}, "broken.onnx"),
        ({"model": "nothing"}, "'nothing' is no tiny model: name an .onnx file"),
        ({"input_name": "x"}, "has no input 'x': its inputs are 'features'"),
        ({"pooling": "mean"}, "invalid pooling 'mean': use one of 'auto', 'clip', 'none'"),
        ({"models": []}, "tool 'eval_model_on_split' has no argument 'models'"),
    ],
)
def test_other_bad_input(folder: Path, change: dict[str, Any], sentence: str) -> None:
    given = {"model": "{folder}/good.onnx", "features": "{folder}/rated.parquet", **change}
    found = ask(folder, "eval_model_on_split", **given)
    assert list(found) == ["error"]
    assert sentence in found["error"]


@pytest.mark.parametrize("models", [[], "good.onnx", None, {}])
def test_no_list_of_models(folder: Path, models: Any) -> None:
    found = ask(folder, "compare_models", models=models, features="{folder}/rated.parquet")
    assert found == {"error": "'models' must be a non-empty list of paths"}


def test_too_many_models(folder: Path) -> None:
    found = ask(folder, "compare_models", models=["a.onnx"] * 21, features="{folder}/rated.parquet")
    assert found == {"error": "21 models are too many for one answer: compare at most 20 in a call"}


@pytest.mark.parametrize("package", ["pyarrow", "scipy", "onnxruntime", "onnx"])
def test_a_missing_extra(folder: Path, monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    known = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == package else known(name))
    good = f"{F}/good.onnx"
    for tool, model in (("eval_model_on_split", {"model": good}), ("compare_models", {"models": [good]})):
        found = ask(folder, tool, features=f"{F}/rated.parquet", **model)
        assert found == {"error": f"{tool} requires the 'eval' extra: pip install 'acuity-vmaf[eval]'"}
