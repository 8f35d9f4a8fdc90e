"""The configuration file: what it may say, and the sentence for everything else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longwire.config.finding import effective
from longwire.config.keys import keys, sections
from longwire.config.toml_file import parse_config, read_config
from longwire.errors import SettingsError
from longwire.principals.rates import Rate
from longwire.wire.listeners import Address

HERE = Path("/etc/longwire/longwire.toml")


def test_a_file_with_every_section(tmp_path: Path) -> None:
    path = tmp_path / "longwire.toml"
    path.write_text(
        """
        [mcp]
        max_sessions = 1000
        session_ttl_seconds = 60
        allowed_origins = ["https://app.example:8443"]
        sampling_capability_policy = "drop"
        [auth]
        token_file = "tokens.toml"
        hook = "company.auth:check"
        [auth.scopes]
        score = ["vmaf_score*", "list_models"]
        [limits]
        rate = "60/min"
        max_message_bytes = 1_000_000
        [limits.tools]
        vmaf_score = "10/min"
        [store]
        sessions = "sqlite:state/sessions.db"
        [server]
        http = 8080
        sse = "[::1]:9090"
        stdio = true
        """
    )
    found = effective(environ={}, config=path)
    settings = found.settings()
    assert (settings.max_sessions, settings.idle_timeout, settings.capability_policy) == (1000, 60.0, "drop")
    assert settings.allowed_origins == ("https://app.example:8443",)
    assert found["auth.token_file"] == tmp_path / "tokens.toml"
    assert settings.hook == "company.auth:check"
    assert settings.scopes == {"score": ("vmaf_score*", "list_models")}
    assert (settings.rate, settings.tool_rates) == (Rate(60, 60.0), {"vmaf_score": Rate(10, 60.0)})
    assert settings.body == 1_000_000
    assert settings.store == f"sqlite:{tmp_path}/state/sessions.db"
    assert (found["server.http"], found["server.sse"]) == (Address("127.0.0.1", 8080), Address("::1", 9090))
    assert found["server.stdio"] is True
    limits = settings.wire_limits()
    assert (limits.max_sessions, limits.idle_timeout, limits.max_message) == (1000, 60.0, 1_000_000)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[mcp]\n\nmax_session = 5", "line 3: [mcp] has no key 'max_session': did you mean 'max_sessions'?"),
        ("[mpc]\nmax_sessions = 5", "line 1: there is no section [mpc]: did you mean 'mcp'?"),
        ("[zzz]", "line 1: there is no section [zzz]: the sections are mcp, auth, limits, store, "),
        ("[mcp]\nrate = '5/s'", "line 2: [mcp] has no key 'rate': it belongs into [limits]"),
        ("[store]\nzzzzz = 1", "line 2: [store] has no key 'zzzzz': its keys are sessions"),
        ("max_sessions = 5", "line 1: 'max_sessions' is in no section: it belongs into [mcp]"),
        ("mcp = 5", "line 1: 'mcp' is a section: write [mcp], then its keys"),
        ("[[mcp]]", "line 1: 'mcp' is a section"),
        ("mcp.max_session = 5", "line 1: [mcp] has no key 'max_session'"),
        ("[mcp]\nmax_sessions = 0", "line 2: mcp.max_sessions: 0 should be a whole number of 1 or more"),
        ("[mcp]\nmax_sessions = true", "mcp.max_sessions: true should be a whole number"),
        ("[mcp]\nmax_sessions = '5'", "mcp.max_sessions: '5' should be a whole number"),
        ("[mcp]\nmax_sessions = 99999999999", "mcp.max_sessions: 99999999999 is too much"),
        ("[mcp]\nsession_ttl_seconds = inf", "mcp.session_ttl_seconds: inf should be a number of seconds"),
        ("[mcp]\nsession_ttl_seconds = nan", "mcp.session_ttl_seconds: nan should be a number of seconds"),
        ("[mcp]\nsession_ttl_seconds = 0", "mcp.session_ttl_seconds: 0 should be more than 0 seconds"),
        ("[mcp]\nallowed_origins = 'x'", "mcp.allowed_origins: 'x' should be a list of texts"),
        ("[mcp]\nallowed_origins = [5]", "mcp.allowed_origins: 5 should be a text"),
        ("[mcp]\nallowed_origins = ['a.example']", "mcp.allowed_origins: 'a.example' is no origin"),
        ("[auth.scopes]\na = ['b c']", "auth.scopes: "),
        ("[mcp]\ncapability_policy = 'no'", "capability_policy: 'no' should be one of warn, drop, error"),
        ("[mcp]\ncapability_policy = []", "capability_policy: [] should be one of warn, drop, error"),
        (
            "[mcp]\ncapability_policy = 'warn'\nsampling_capability_policy = 'warn'",
            "line 3: [mcp] capability_policy is set twice: keep one",
        ),
        ("[auth]\ntoken = 5", "line 2: auth.token: it should be a text"),
        ("[auth.scopes]\nscore = 'all'", "auth.scopes: 'all' should be a list of texts"),
        ("[limits]\ntools = 5", "limits.tools: 5 should be a table of names and rates"),
        ("[limits.tools]\nvmaf_score = 5", "line 2: limits.tools: 5 is no rate: write a number and s, min,"),
        ("[limits]\nrate = 'often'", "line 2: limits.rate: 'often' is no rate: write a number and s, min,"),
        ("[store]\nsessions = 'redis:x'", "store.sessions: 'redis:x' is no store: use memory or sqlite:PATH"),
        ("[server]\nhttp = 99999", "server.http: '99999' is no address"),
        ("[server]\nhttp = 1979-05-27", "server.http: 1979-05-27 is no address: write a port such as 8080"),
        ('[server]\nuds = "a\\u0000b"', "has control characters: leave them out"),
        ("[server]\nmetrics = 21001.0", "server.metrics: 21001.0 is no address: write a port such as 8080"),
        ("[server]\nmetrics = false", "server.metrics: false is no address"),
        ("[limits]\nrate = 600", "600 is no rate: write a number and s, min, hour or day in quotes"),
        ("[server]\ngrace = -1", "server.grace: -1 should be 0 or more seconds"),
        ("[server]\nstdio = 1", "server.stdio: 1 should be true or false"),
        ("[mcp", "is no TOML: "),
        ("[mcp]\nmax_sessions = 1\nmax_sessions = 2", "is no TOML: Cannot overwrite a value"),
        ("[auth]\ntoken = hush", "is no TOML: Invalid value (at line 2, column 9)"),
        ("[auth]\ntoken = 'hush\n", "is no TOML: "),
        ("[auth]\nhush==\nhush = 1", "(at line 2,"),
        (f"x = {'[' * 5000}", "is no TOML: it nests too deeply"),
        (f"x = {'1' * 5000}", "is no TOML: "),
    ],
)
def test_refusals(text: str, sentence: str) -> None:
    with pytest.raises(SettingsError) as caught:
        parse_config(text, HERE)
    said = str(caught.value)
    assert str(HERE) in said
    assert sentence in said
    assert "\n" not in said
    assert "hush" not in said


def test_a_line_among_long_strings_is_not_named() -> None:
    with pytest.raises(SettingsError, match=r"longwire.toml: \[mcp\] has no key 'max_session'"):
        parse_config('[server]\nuds = """\n[mcp]"""\n[mcp]\nmax_session = 1'.replace('\n[mcp]"', 'x"'), HERE)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    unreadable = {"nowhere.toml": "No such file", "": "Is a directory", "a\0b": "null"}
    for name, reason in unreadable.items():
        with pytest.raises(SettingsError, match=reason):
            read_config(tmp_path / name)
    (tmp_path / "latin.toml").write_bytes(b"[mcp] # \xe9")
    with pytest.raises(SettingsError, match="is no UTF-8 text: save it as one"):
        read_config(tmp_path / "latin.toml")
    (tmp_path / "large.toml").write_bytes(b"#" * (1 << 20) + b"#")
    with pytest.raises(SettingsError, match="is larger than 1048576 bytes"):
        read_config(tmp_path / "large.toml")


_scalars = st.one_of(
    st.integers(), st.floats(), st.booleans(), st.text(max_size=20), st.sampled_from(["memory", "1/s", "a=b"])
)
_values = st.recursive(
    _scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner)),
)
_names = st.one_of(st.sampled_from([key.name for key in keys()]), st.text(max_size=12))
_sections = st.one_of(st.sampled_from(sections()), st.text(max_size=8))


def as_toml(value: Any) -> str:
    if isinstance(value, str):
        return '"' + "".join(f"\\U{ord(c):08x}" for c in value if not "\ud800" <= c <= "\udfff") + '"'
    if isinstance(value, dict):
        unique = {as_toml(name): entry for name, entry in value.items()}
        return "{" + ", ".join(f"{name} = {as_toml(entry)}" for name, entry in unique.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(as_toml, value)) + "]"
    return str(value).lower()


@given(
    st.dictionaries(_sections, st.one_of(st.dictionaries(_names, _values, max_size=4), _scalars), max_size=4)
)
def test_any_document_gives_settings_or_one_sentence(document: dict[str, Any]) -> None:
    text = "\n".join(f"{as_toml(section)} = {as_toml(entries)}" for section, entries in document.items())
    settings_or_sentence(text)


@given(st.text())
def test_any_text_gives_settings_or_one_sentence(text: str) -> None:
    settings_or_sentence(text)


def settings_or_sentence(text: str) -> None:
    try:
        parse_config(text, HERE)
    except SettingsError as error:
        said = str(error)
        assert said.startswith((f"{HERE}", f"the configuration '{HERE}'"))
        assert "\n" not in said
        assert len(said) < 5000
