"""`acuity serve --check`, also of `vmaf-mcp`: every value and where it comes from, or one sentence."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from acuity.cli import main as acuity
from acuity.cli import serve
from longwire.config.keys import keys

TOKEN = "correct-horse-battery"
Check = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def _quiet_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ACUITY_CONFIG", *(key.environment for key in keys())):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(params=["acuity serve", "vmaf-mcp"])
def check(request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]) -> Check:
    def run(*options: str) -> tuple[int, str, str]:
        given = [*options, "--check"]
        code = serve.main(given) if request.param == "vmaf-mcp" else acuity.main(["serve", *given])
        return code, *capsys.readouterr()

    return run


def test_it_prints_the_values_and_starts_nothing(
    check: Check, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "acuity.toml"
    config.write_text("[mcp]\nmax_sessions = 9\n[server]\nhttp = 8080\n")
    monkeypatch.setenv("ACUITY_MCP_KEEPALIVE_SECONDS", "7.5")
    monkeypatch.setenv("VMAF_MCP_TOKEN", TOKEN)
    code, out, err = check("--config", str(config), "--http", "8081", "--log-level", "debug")
    assert (code, err) == (0, "")
    lines = {line.split(" = ")[0]: line for line in out.splitlines() if " = " in line}
    assert lines["max_sessions"].split()[2:] == ["9", "#", str(config)]
    assert lines["http"].split()[2:] == ['"127.0.0.1:8081"', "#", "--http"]
    assert lines["keepalive_seconds"].split()[2:] == ["7.5", "#", "variable", "ACUITY_MCP_KEEPALIVE_SECONDS"]
    assert lines["max_calls"].endswith("# default")
    assert TOKEN not in out
    assert "# token is set, and hidden" in out


def test_what_was_probably_overlooked_is_a_warning(
    check: Check, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text(TOKEN)
    tokens.chmod(0o644)
    monkeypatch.setenv("VMAF_MCP_TOKEN", TOKEN)
    code, out, err = check("--token-file", str(tokens), "--tool-rate", "vmaf_verison=1/s")
    assert (code, err) == (0, "")
    assert [line for line in out.splitlines() if line.startswith("# warning")] == [
        "# warning: VMAF_MCP_TOKEN: not used: there is a token file",
        "# warning: no tool matches 'vmaf_verison' in [limits.tools]: did you mean 'vmaf_version'?",
        f"# warning: the token file '{tokens}' is open to every user (mode 0644): chmod 600 it",
    ]


def test_as_json(check: Check, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = check(
        "--json", "--allow", "/opt", "--allow", "/usr", "--tool-rate", "a=1/s", "--tool-rate", "b=2/s"
    )
    assert code == 0
    rows = {row["key"]: row for row in json.loads(out)["keys"]}
    assert rows["server.allow"]["value"] == ["/opt", "/usr"]
    assert rows["limits.tools"]["value"] == {"a": "1/s", "b": "2/s"}
    assert serve.main(["--json"]) == 1
    assert "--json is for --check" in capsys.readouterr().err


@pytest.mark.parametrize(
    "row",  # the file, what is said, and options
    [
        ("[mcp]\nmax_session = 1", "line 2: [mcp] has no key 'max_session': did you mean 'max_sessions'?"),
        ("[server]\nhttp = '0.0.0.0:80'", "'0.0.0.0' can be reached from other machines"),
        ("[auth]\n\ntoken_file = 'nowhere'", "line 3: auth.token_file: can't read the token file"),
        ("", "did you mean '--max-sessions'?", "--max-sesions", "3"),
        ("", "'99999999' is too much: it should be 16777216 at most", "--max-sessions", "99999999"),
        ("[server]\nhttp = 0\ntls_key = 'a.pem'", "a.pem': set tls_certificate too"),
        ("[server]\nhttp = 0\ntls_certificate = 'a.pem'", "can't read the TLS certificate"),
        ("[auth]\nhook = 'no.such:thing'", "can't import the auth hook 'no.such:thing'"),
        ("[server]\nallow = ['/']", "line 2: server.allow: the folder is '/', which would open"),
        ("[server]\ndata = 'file'", "acuity.toml, line 2: server.data: the data folder is"),
        ("[server]\nallow = ['.']\ndata = '.'", "line 2: server.allow: '"),
        ("[server]\nhttp = 8080\nmetrics = 8080", "line 3: server.metrics: 127.0.0.1:8080 is the port of"),
        ("", "localhost:8080 is the port of server.http already (--http): choose",
         "--http", "8080", "--metrics", "localhost:8080"),
        ("[server]\nhttp = 'no.such.invalid:1'", "the host 'no.such.invalid' is unknown",
         "--token-file", "TOKEN"),
        ("[server]\nuds = 'nowhere/socket'", "line 2: server.uds: the socket's folder"),
        ("[store]\nsessions = 'sqlite:nowhere/s.db'", "create the folder", "--http", "0"),
        ("[store]\nsessions = 'sqlite:file'", "file is not a database): move it away", "--http", "0"),
        ("", "'redis' is no store: use memory or sqlite:PATH", "--store", "redis"),
    ],
)  # fmt: skip
def test_or_one_sentence(check: Check, tmp_path: Path, row: tuple[str, ...]) -> None:
    text, sentence, *options = row
    (tmp_path / "acuity.toml").write_text(text)
    (tmp_path / "file").write_text("no database")
    (tmp_path / "token").write_text(TOKEN)
    before = sorted(tmp_path.rglob("*"))
    options = [str(tmp_path / "token") if option == "TOKEN" else option for option in options]
    code, out, err = check("--config", str(tmp_path / "acuity.toml"), *options)
    assert sorted(tmp_path.rglob("*")) == before
    assert (code, out) == (1, "")
    assert sentence in err
    assert len(err.splitlines()) <= 2
    assert "Traceback" not in err


def test_what_has_no_effect_is_a_warning(
    check: Check, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACUITY_LIMIT_RATE", "5/s")
    monkeypatch.setenv("VMAF_MCP_ALLOW", f"{tmp_path}/nowhere:/usr")
    monkeypatch.setenv("VMAF_BIN", f"{tmp_path}/vmaf")
    config = tmp_path / "a.toml"
    config.write_text(
        "[mcp]\nmax_sessions = 5\nmax_sessions_per_principal = 6\n[store]\nsessions = 'sqlite:s.db'"
    )
    expected = [
        "the variable ACUITY_LIMIT_RATE means nothing: did you mean ACUITY_LIMITS_RATE?",
        f"VMAF_MCP_ALLOW: '{tmp_path}/nowhere' is no folder: make it, or correct it",
        f"VMAF_BIN: there is no program '{tmp_path}/vmaf': install it, or correct it",
        f"{config}, line 3: mcp.max_sessions_per_principal: 6 is more than max_sessions, 5: "
        "lower it, or raise max_sessions",
        f"{config}, line 5: store.sessions: sessions are of Streamable HTTP only: set http too",
    ]
    code, out, _ = check("--config", str(config))
    assert code == 0
    said = [line.removeprefix("# warning: ") for line in out.splitlines() if line.startswith("# warning")]
    assert said == expected
    assert json.loads(check("--config", str(config), "--json")[1])["warnings"] == expected


def test_a_failure_is_a_document_too(check: Check, tmp_path: Path) -> None:
    config = tmp_path / "acuity.toml"
    config.write_text('[server]\nhttp = 8080\n\n[auth]\ntoken_file = "/nowhere/tokens"\n')
    code, out, err = check("--config", str(config), "--json")
    found = json.loads(out)
    assert (code, err, found["ok"]) == (1, "", False)
    told = found["error"]
    assert (told["file"], told["line"], told["key"]) == (str(config), 5, "auth.token_file")
    assert "/nowhere/tokens" in told["sentence"]


def test_all_that_is_wrong_is_said_at_once(
    check: Check, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "acuity.toml"
    config.write_text("[mcp]\nmax_sesions = 9\nsession_ttl_seconds = -1\n[limits]\nrate = 'fast'\n")
    monkeypatch.setenv("ACUITY_LIMITS_MAX_CALLS", "many")
    code, _, err = check("--config", str(config))
    assert code == 1
    assert [next(word for word in _WRONG if word in line) for line in err.splitlines()] == _WRONG

    monkeypatch.delenv("ACUITY_LIMITS_MAX_CALLS")
    config.write_text(
        "[server]\nhttp = 8080\ntls_certificate = '/nowhere/cert'\n[auth]\ntoken_file = '/nowhere/tokens'\n"
        "[store]\nsessions = 'sqlite:/nowhere/s.db'\n"
    )
    _, out, _ = check("--config", str(config), "--json")
    keys = [told["key"] for told in json.loads(out)["errors"]]
    assert keys == ["auth.token_file", "store.sessions", "server.tls_certificate"]


_WRONG = ["max_sesions", "session_ttl_seconds", "limits.rate", "ACUITY_LIMITS_MAX_CALLS"]
