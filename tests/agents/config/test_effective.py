"""Which value counts: option, variable, file, default; and what a check prints of them."""

from __future__ import annotations

import dataclasses
import json
import os
import tomllib
from pathlib import Path
from typing import Any

import pytest

from acuity.agents.settings import AcuitySettings
from longwire.config.effective import Source
from longwire.config.finding import as_json, as_toml, effective
from longwire.config.keys import keys, sections
from longwire.errors import SettingsError
from longwire.principals.rates import Rate
from longwire.settings import WireLimits

TOKEN = "correct-horse-battery"


def test_every_setting_has_a_key_and_no_two_share_a_name() -> None:
    assert sorted(key.setting for key in keys() if key.setting) == sorted(
        field.name for field in dataclasses.fields(AcuitySettings)
    )
    for of in ("option", "environment", "path"):
        names = [name for key in keys() if (name := getattr(key, of))]
        assert len(set(names)) == len(names)


def test_what_transports_limit_by_the_same_name_is_handed_to_them() -> None:
    shared = {field.name for field in dataclasses.fields(AcuitySettings)} & {
        field.name for field in dataclasses.fields(WireLimits)
    }
    changed: dict[str, Any] = {name: number for number, name in enumerate(sorted(shared), start=1)}
    limits = AcuitySettings(**changed).wire_limits()
    assert {name: getattr(limits, name) for name in shared} == changed


def test_without_anything_they_are_the_defaults(tmp_path: Path) -> None:
    found = effective(environ={"XDG_DATA_HOME": str(tmp_path)})
    assert found.settings() == AcuitySettings(data=tmp_path / "acuity")
    assert {value.sources for value in found.values.values()} == {(Source("default"),)}


def test_option_before_variable_before_file(tmp_path: Path) -> None:
    path = tmp_path / "acuity.toml"
    path.write_text("[mcp]\nmax_sessions = 1\nmax_pending_messages = 1\nmax_pending_bytes = 1000\n")
    environ = {"ACUITY_MCP_MAX_SESSIONS": "2", "ACUITY_MCP_MAX_PENDING_MESSAGES": "2"}
    found = effective({"mcp.max_sessions": 3}, {**environ, "ACUITY_CONFIG": str(path)})
    assert found.config == path
    for name, value, source in (
        ("max_sessions", 3, "--max-sessions"),
        ("max_pending_messages", 2, "variable ACUITY_MCP_MAX_PENDING_MESSAGES"),
        ("max_pending_bytes", 1000, str(path)),
        ("capability_policy", "error", "default"),
    ):
        assert (found[f"mcp.{name}"], str(found.source(f"mcp.{name}"))) == (value, source)
    other = effective(environ={"ACUITY_CONFIG": str(tmp_path / "b.toml")}, config=path)
    assert other["mcp.max_sessions"] == 1  # the option names another file than the variable


def test_folders_of_all_sources_are_allowed(tmp_path: Path) -> None:
    path = tmp_path / "acuity.toml"
    path.write_text("[server]\nallow = ['.']\n")
    found = effective({"server.allow": ("/",)}, {"VMAF_MCP_ALLOW": "/srv/videos:/srv/more"}, path)
    assert found.settings().allow == (str(tmp_path), "/srv/videos", "/srv/more", "/")
    assert [source.kind for source in found.values["server.allow"].sources] == ["file", "variable", "flag"]


@pytest.mark.parametrize(
    ("name", "text", "key", "value"),
    [
        ("VMAF_MCP_MAX_CONCURRENT", "3", "server.workers", 3),
        ("VMAF_MCP_SUBPROCESS_TIMEOUT_S", "90", "server.time_limit", 90.0),
        ("VMAF_MCP_VLM_TIMEOUT_S", "7", "server.vlm_timeout_seconds", 7.0),
        ("VMAF_MCP_VLM_MODEL", "/models/seeing", "server.vlm_model", "/models/seeing"),
        ("VMAF_BIN", "vmaf-cuda", "server.vmaf_binary", "vmaf-cuda"),
        ("VMAF_BENCH_OUTDIR", "/rows", "server.bench_output", "/rows"),
        ("ACUITY_DATA", "/data", "server.data", Path("/data")),
        ("ACUITY_SERVER_STDIO", "yes", "server.stdio", True),
        ("ACUITY_MCP_ALLOWED_ORIGINS", "https://a.example, https://b.example", "mcp.allowed_origins",
         ("https://a.example", "https://b.example")),
        ("ACUITY_LIMITS_TOOLS", "vmaf_score=10/min,list_*=1/s", "limits.tools",
         {"vmaf_score": Rate(10, 60.0), "list_*": Rate(1, 1.0)}),
        ("ACUITY_AUTH_SCOPES", "score=vmaf_*,list_models;all=*", "auth.scopes",
         {"score": ("vmaf_*", "list_models"), "all": ("*",)}),
        ("ACUITY_MCP_MAX_SESSIONS", "", "mcp.max_sessions", 256),
    ],
)  # fmt: skip
def test_variables(name: str, text: str, key: str, value: Any) -> None:
    assert effective(environ={name: text})[key] == value


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("VMAF_MCP_MAX_CONCURRENT", "0", "'0' should be a whole number of 1 or more: correct or unset it"),
        ("VMAF_MCP_MAX_CONCURRENT", "²", "'²' should be a whole number"),
        ("VMAF_MCP_SUBPROCESS_TIMEOUT_S", "soon", "'soon' should be a number of seconds"),
        ("ACUITY_SERVER_HTTP", "http://0.0.0.0:1", "is no address: leave out 'http://'"),
        ("ACUITY_STORE", "sqlite::memory:", "'sqlite::memory:' names no file: use memory"),
        ("ACUITY_SERVER_STDIO", "perhaps", "'perhaps' should be true or false"),
        ("ACUITY_LIMITS_TOOLS", "vmaf_score", "'vmaf_score' should have the form NAME=VALUE"),
        ("ACUITY_CONFIG", "/nowhere.toml", "'/nowhere.toml' (ACUITY_CONFIG): No such file"),
    ],
)
def test_variables_that_are_refused(name: str, text: str, sentence: str) -> None:
    with pytest.raises(SettingsError) as caught:
        effective(environ={name: text})
    assert sentence in str(caught.value)
    assert str(caught.value).startswith(name) or name == "ACUITY_CONFIG"


@pytest.fixture
def varied(tmp_path: Path) -> Path:
    """A file that sets much."""
    path = tmp_path / "acuity.toml"
    path.write_text(
        "[mcp]\nallowed_origins = ['https://a.example']\nsession_ttl_seconds = 0.25\n"
        "[limits]\nrate = '60/min'\ntools = {vmaf_score = '1/s', 'list_*' = '2/s'}\n"
        "[auth]\ntoken = '" + TOKEN + "'\nscopes = {a = ['b', 'c']}\n"
        "[store]\nsessions = 'sqlite:x\\y \"z\".db'\n[server]\nhttp = 80\nuds = 'socket \u007f'\n"
        .replace(" \u007f", " \u00e9")
    )  # fmt: skip
    return path


def test_a_check_is_a_file_that_gives_the_same(varied: Path, tmp_path: Path) -> None:
    found = effective({"mcp.max_sessions": 7}, {"VMAF_BIN": "vmaf"}, varied)
    text = as_toml(found)
    again = tmp_path / "again.toml"
    again.write_text(text)
    assert effective(environ={}, config=again).settings() == found.settings()
    assert set(tomllib.loads(text)) == set(sections())


def test_a_check_says_whence(varied: Path) -> None:
    lines = as_toml(effective({"mcp.max_sessions": 7}, {"VMAF_BIN": "vmaf"}, varied)).splitlines()
    sources = {line.split()[0]: line.rpartition("# ")[2] for line in lines if " = " in line}
    assert sources["max_sessions"] == "--max-sessions"
    assert sources["vmaf_binary"] == "variable VMAF_BIN"
    assert sources["rate"] == str(varied)
    assert sources["max_calls"] == "default"
    assert any(line.startswith("# sse is not set ") for line in lines)
    assert lines[-1].startswith("# not checked: whether a port")
    named = [line.removeprefix("# ").split()[0] for line in lines[:-1] if line and not line.startswith("[")]
    assert named == [key.name for section in sections() for key in keys() if key.section == section]


def test_a_check_as_json(varied: Path) -> None:
    document = json.loads(as_json(effective({"mcp.max_sessions": 7}, {}, varied)))
    assert (document["schema"], document["config"]) == ("acuity.serve.check/1", str(varied))
    rows = {row.pop("key"): row for row in document["keys"]}
    assert list(rows) == [key.path for key in keys()]
    page = (Path(__file__).resolve().parents[3] / "docs" / "output.md").read_text()
    names = {"key", *document, *rows["mcp.max_sessions"]}
    assert all(f"`{name}`" in page or f'"{name}"' in page for name in names)
    assert rows["mcp.max_sessions"] == {"value": 7, "source": "flag", "from": ["--max-sessions"]}
    assert rows["limits.rate"] == {"value": "60/min", "source": "file", "from": [str(varied)]}
    assert rows["server.http"]["value"] == "127.0.0.1:80"
    assert rows["server.uds"]["value"].endswith("/socket é")
    assert rows["limits.max_calls"] == {"value": 256, "source": "default", "from": []}


def test_variables_that_are_mistyped_are_named() -> None:
    services = {"ACUITY_MCP_SERVICE_HOST": "10.0.0.1", "ACUITY_MCP_PORT": "tcp://10.0.0.1:80"}
    mistyped = ("ACUITY_MCP_MAX_SESSION", "ACUITY_LIMIT_RATE", "ACUITY_SERVER_HTPP", "VMAF_MCP_MAX_CONCURENT")
    found = effective(environ={**dict.fromkeys(mistyped, "5"), **services, "ACUITY_CPU": "plain"})
    assert found.mistyped == (
        ("ACUITY_LIMIT_RATE", "ACUITY_LIMITS_RATE"),
        ("ACUITY_MCP_MAX_SESSION", "ACUITY_MCP_MAX_SESSIONS"),
        ("ACUITY_SERVER_HTPP", "ACUITY_SERVER_HTTP"),
        ("VMAF_MCP_MAX_CONCURENT", "VMAF_MCP_MAX_CONCURRENT"),
    )
    first = {"variable": "ACUITY_LIMIT_RATE", "near": "ACUITY_LIMITS_RATE"}
    assert json.loads(as_json(found))["mistyped"][0] == first


def test_paths_are_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.toml").write_text("[auth]\ntoken_file = 'x/../tokens'\n[server]\nvlm_model = 'seeing'\n")
    document = json.loads(as_json(effective({}, {"VMAF_BIN": "bin/vmaf"}, Path("a.toml"))))
    rows = {row["key"]: row["value"] for row in document["keys"]}
    assert document["config"] == str(tmp_path / "a.toml")
    assert rows["auth.token_file"] == str(tmp_path / "tokens")
    assert rows["server.vlm_model"] == str(tmp_path / "seeing")
    assert rows["server.vmaf_binary"] == str(tmp_path / "bin" / "vmaf")


def test_a_path_keeps_the_dots_that_follow_a_link(tmp_path: Path) -> None:
    (tmp_path / "far" / "away").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "far" / "away")
    found = effective(environ={"ACUITY_SERVER_UDS": f"{tmp_path}/link/../s"})
    assert os.path.realpath(found["server.uds"]) == str(tmp_path / "far" / "s")


def test_a_key_is_named_with_its_line_option_or_variable(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text("[server]\n\nhttp = 0\n")
    found = effective({"server.sse": None}, {"ACUITY_STORE": "memory"}, path)
    names = [found.named(key) for key in ("server.http", "server.sse", "store.sessions", "server.uds")]
    assert names == [f"{path}, line 3: server.http", "--sse", "ACUITY_STORE", "server.uds"]


def test_tokens_are_never_shown(varied: Path) -> None:
    for found in (effective(environ={}, config=varied), effective(environ={"VMAF_MCP_TOKEN": TOKEN})):
        for text in (as_toml(found), as_json(found)):
            assert TOKEN not in text
            assert "hidden" in text
