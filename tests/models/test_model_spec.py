"""libvmaf's model notation."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acuity.errors import ModelError
from acuity.models import ModelSpec, parse_spec


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


@given(st.text(alphabet=st.sampled_from("version=path.name:disable_clip enable_transform\0/é"), max_size=60))
def test_any_text_is_a_spec_or_refused(text: str) -> None:
    try:
        spec = parse_spec(text)
    except ModelError:
        return
    assert (spec.version is None) != (spec.path is None)
    assert spec.label


@given(
    version=st.from_regex(r"[a-z][a-z0-9_.]{0,12}", fullmatch=True).filter(lambda v: not v.endswith(".json")),
    name=st.from_regex(r"[a-z0-9_][a-z0-9_.+-]{0,8}", fullmatch=True),
    clip=st.booleans(),
    options=st.dictionaries(
        st.from_regex(r"[a-z_]{1,8}", fullmatch=True), st.sampled_from(["1", "0.5", "true"])
    ),
)
def test_what_is_written_is_read(version: str, name: str, clip: bool, options: dict[str, str]) -> None:
    parts = [f"version={version}", f"name={name}", f"disable_clip={str(clip).lower()}"]
    parts += [f"vif.{key}={value}" for key, value in options.items()]
    spec = parse_spec(":".join(parts))
    assert (spec.version, spec.name, spec.disable_clip) == (version, name, clip)
    assert spec.overrides.get("vif", {}) == options


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
