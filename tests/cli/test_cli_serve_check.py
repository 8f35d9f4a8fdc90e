"""`acuity serve --check`, also of `vmaf-mcp`: every value and where it comes from, or one sentence."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from acuity.cli import main as acuity
from acuity.cli import serve
from acuity.mcp.config.keys import KEYS

TOKEN = "correct-horse-battery"


@pytest.fixture(autouse=True)
def _quiet_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ACUITY_CONFIG", *(key.environment for key in KEYS)):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(params=["acuity serve", "vmaf-mcp"])
def check(
    request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    def run(*options: str) -> tuple[int, str, str]:
        if request.param == "vmaf-mcp":
            code = serve.main([*options, "--check"])
        else:
            code = acuity.main(["serve", *options, "--check"])
        out, err = capsys.readouterr()
        return code, out, err

    return run


def test_it_prints_the_values_and_starts_nothing(
    check: Callable[..., tuple[int, str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
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


def test_as_json(check: Callable[..., tuple[int, str, str]], capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = check(
        "--json", "--allow", "/", "--allow", "/usr", "--tool-rate", "a=1/s", "--tool-rate", "b=2/s"
    )
    assert code == 0
    rows = {row["key"]: row for row in json.loads(out)["keys"]}
    assert rows["server.allow"]["value"] == ["/", "/usr"]
    assert rows["limits.tools"]["value"] == {"a": "1/s", "b": "2/s"}
    assert serve.main(["--json"]) == 1
    assert "--json is for --check" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "options", "sentence"),
    [
        (
            "[mcp]\nmax_session = 1",
            [],
            "line 2: [mcp] has no key 'max_session': did you mean 'max_sessions'?",
        ),
        ("[mcp]\nmax_sessions = 'many'", [], "line 2: mcp.max_sessions: 'many' should be a whole number"),
        ("[server]\nhttp = '0.0.0.0:80'", [], "'0.0.0.0' can be reached from other machines"),
        ("[auth]\ntoken = 'short'", [], "is shorter than 16 characters"),
        ("[auth]\ntoken_file = 'nowhere'", [], "can't read the token file"),
        ("", ["--max-sessions", "0"], "argument --max-sessions: '0' should be a whole number of 1 or more"),
        ("", ["--max-sesions", "3"], "did you mean '--max-sessions'?"),
        ("", ["--max-sessions", "9" * 5000], " is too much: it should be 16777216 at most"),
        ("", ["--max-sessions", "99999999"], "'99999999' is too much: it should be 16777216 at most"),
        ("[server]\nhttp = 0\ntls_key = 'a.pem'", [], "a.pem': set tls_certificate too"),
        ("[server]\nhttp = 0\ntls_certificate = 'a.pem'", [], "can't read the TLS certificate"),
        ("[auth]\nhook = 'no.such:thing'", [], "can't import the auth hook 'no.such:thing'"),
        ("", ["--store", "redis"], "'redis' is no store: use memory or sqlite:PATH"),
    ],
)
def test_or_one_sentence(
    check: Callable[..., tuple[int, str, str]], tmp_path: Path, text: str, options: list[str], sentence: str
) -> None:
    (tmp_path / "acuity.toml").write_text(text)
    code, out, err = check("--config", str(tmp_path / "acuity.toml"), *options)
    assert (code, out) == (1, "")
    assert sentence in err
    assert len(err.splitlines()) <= 2
    assert "Traceback" not in err
