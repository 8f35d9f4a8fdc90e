"""Where models are found by name, and libvmaf's notation for them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acuity.errors import ModelError
from acuity.models import ModelSpec, find_model, load_model, parse_spec, sources
from acuity.models.describe import list_models


def put(folder: Path, name: str, document: dict[str, Any]) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.json"
    path.write_text(json.dumps(document))
    return path


def test_package_models_load_under_their_names() -> None:
    infos = {info.name: info for info in list_models()}
    for name in ("vmaf_v0.6.1", "vmaf_v0.6.1neg", "vmaf_4k_v0.6.1"):
        assert infos[name].problem is None
        assert infos[name].source == sources.PACKAGE_SOURCE
        assert find_model(name) == infos[name].path
    assert list(infos) == sorted(infos)


def test_the_users_folders_come_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, document: dict[str, Any]
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    mine = put(first, "vmaf_v0.6.1", document)
    put(second, "vmaf_v0.6.1", document)
    other = put(second, "other", document)
    document["model_dict"]["feature_names"][0] = "VMAF_feature_magic_score"
    put(second, "odd", document)
    folders = os.pathsep.join([str(first), str(tmp_path / "missing"), "", str(second)])
    monkeypatch.setenv(sources.FOLDERS_VARIABLE, folders)
    assert find_model("vmaf_v0.6.1") == mine
    assert find_model("other") == other
    infos = {info.name: info for info in list_models()}
    info, odd = infos["other"], infos["odd"]
    assert (info.source, info.kind, info.usable) == (str(second), "LIBSVMNUSVR", True)
    assert (odd.problem, odd.usable, odd.unknown) == (None, False, ("VMAF_feature_magic_score",))


def test_unknown_name_suggests_near_ones() -> None:
    with pytest.raises(ModelError) as caught:
        load_model("vmaf_v0.6.1nge")
    message = str(caught.value)
    assert "vmaf_v0.6.1neg" in message
    assert "acuity models" in message
    assert "\n" not in message


def test_a_name_is_not_a_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, document: dict[str, Any]
) -> None:
    put(tmp_path, "outside", document)
    (tmp_path / "folder").mkdir()
    monkeypatch.setenv(sources.FOLDERS_VARIABLE, str(tmp_path / "folder"))
    with pytest.raises(ModelError, match="no model named"):
        load_model("version=../outside")


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources.importlib.util, "find_spec", lambda name: None)
    monkeypatch.delenv(sources.FOLDERS_VARIABLE, raising=False)
    assert list_models() == []
    with pytest.raises(ModelError, match=r"ffmpeg-quality-metrics.*not installed"):
        load_model("vmaf_v0.6.1")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("version=vmaf_v0.6.1", ModelSpec(version="vmaf_v0.6.1")),
        ("vmaf_v0.6.1", ModelSpec(version="vmaf_v0.6.1")),
        ("vmaf_v0.6.1:name=neg", ModelSpec(version="vmaf_v0.6.1", name="neg")),
        ("path=some/model.json:name=a.b", ModelSpec(path="some/model.json", name="a.b")),
        ("some/model.json", ModelSpec(path="some/model.json")),
        ("model.json:disable_clip", ModelSpec(path="model.json", disable_clip=True)),
        ("disable_clip:version=x", ModelSpec(version="x", disable_clip=True)),
        ("version=x:disable_clip=true", ModelSpec(version="x", disable_clip=True)),
        ("version=x:disable_clip=false:enable_transform", ModelSpec(version="x", enable_transform=True)),
        ("version=x:version=y", ModelSpec(version="y")),
        ("path=a=b.json", ModelSpec(path="a=b.json")),
        (
            "version=vmaf_v0.6.1:vif.vif_enhn_gain_limit=1.0:name=neg:adm.adm_enhn_gain_limit=1.2:vif.debug=true",
            ModelSpec(
                version="vmaf_v0.6.1",
                name="neg",
                overrides={
                    "vif": {"vif_enhn_gain_limit": "1.0", "debug": "true"},
                    "adm": {"adm_enhn_gain_limit": "1.2"},
                },
            ),
        ),
    ],
)
def test_notation(text: str, expected: ModelSpec) -> None:
    assert parse_spec(text) == expected


def test_existing_file_may_hold_colons(tmp_path: Path) -> None:
    path = tmp_path / "a:b.json"
    path.write_text("{}")
    assert parse_spec(str(path)) == ModelSpec(path=str(path))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "empty"),
        ("name=neg", "neither version= nor path="),
        ("version=", "'version'"),
        ("version=x:foo", "'foo'"),
        ("version=x:foo=1", "'foo'"),
        ("version=x:vif.=1", "'vif.'"),
        ("version=x:.option=1", "'.option'"),
        ("version=x:disable_clip=maybe", "disable_clip=maybe"),
        ("version=x:path=y", "not both"),
        ("version=x:name=", "'name'"),
        ("version=x:name=a b", "'a b'"),
        ('version=x:name="><', "name"),
    ],
)
def test_refused_with_one_sentence(text: str, says: str) -> None:
    with pytest.raises(ModelError) as caught:
        parse_spec(text)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


_WORDS = st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True)


@given(
    source=st.one_of(
        st.builds(lambda name: {"version": name}, _WORDS),
        st.builds(lambda name: {"path": f"/{name}"}, _WORDS),
    ),
    name=_WORDS,
    flags=st.tuples(st.booleans(), st.booleans()),
    overrides=st.dictionaries(
        _WORDS,
        st.dictionaries(_WORDS, st.from_regex(r"[a-z0-9./=-]*", fullmatch=True), min_size=1),
        max_size=3,
    ),
)
def test_a_spec_can_be_written_and_read_again(
    source: dict[str, str], name: str, flags: tuple[bool, bool], overrides: dict[str, dict[str, str]]
) -> None:
    spec = ModelSpec(
        **source, name=name, disable_clip=flags[0], enable_transform=flags[1], overrides=overrides
    )
    assert parse_spec(spec.to_text()) == spec


def test_a_path_with_a_colon_can_only_be_written_alone(tmp_path: Path) -> None:
    path = tmp_path / "a:b.json"
    path.write_text("{}")
    assert parse_spec(ModelSpec(path=str(path)).to_text()) == ModelSpec(path=str(path))
    for spec in (
        ModelSpec(path=str(path), name="x"),
        ModelSpec(path="/a:b"),
        ModelSpec(path="/a:b=c.json"),
        ModelSpec(version="a:b"),
        ModelSpec(version="x", overrides={"vif": {"debug": "a:b"}}),
    ):
        with pytest.raises(ModelError, match="without ':'"):
            spec.to_text()
