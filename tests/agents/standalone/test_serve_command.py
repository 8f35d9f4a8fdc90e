"""The command line of the server: what it asks for, and what it refuses before anything is started."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from acuity.cli import main as acuity
from acuity.cli import serve as command
from longwire.command.serve import option_groups
from longwire.endpoints import Http, Stdio, Uds
from longwire.server.serve import ServeOptions
from longwire.wire.listeners import Address

TOKEN = "correct-horse-battery"
DOCS = Path(__file__).resolve().parents[3] / "docs"


@pytest.fixture(autouse=True)
def _quiet_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("VMAF_MCP_TOKEN", "VMAF_MCP_ALLOW", "VMAF_MCP_MAX_CONCURRENT", "ACUITY_DATA"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[ServeOptions]:
    """What the commands would start."""
    found: list[ServeOptions] = []

    def run(options: ServeOptions) -> int:
        found.append(options)
        return 0

    monkeypatch.setattr("longwire.server.main.run", run)
    return found


WAYS = {"acuity serve": lambda options: acuity.main(["serve", *options]), "vmaf-mcp": command.main}


@pytest.fixture(params=WAYS)
def start(request: pytest.FixtureRequest, asked: list[ServeOptions]) -> Any:
    def run(*options: str) -> ServeOptions:
        assert WAYS[request.param](options) == 0
        return asked.pop()

    return run


def test_stdio_is_the_default(start: Any) -> None:
    options = start()
    assert options.endpoints == [Stdio("auto")]
    assert (options.log_level, options.log_format, options.metrics) == ("info", "json", None)
    assert not options.access.tokens


def test_several_at_once(start: Any, tmp_path: Path) -> None:
    options = start("--stdio", "--uds", "s", "--http", "8080", "--sse", "[::1]:9090", "--framing", "lines")
    assert options.endpoints == [
        Uds(Path("s").absolute()),
        Http(Address("127.0.0.1", 8080), frozenset({"http"})),
        Http(Address("::1", 9090), frozenset({"sse"})),
        Stdio("lines"),
    ]


def test_one_port_for_both_kinds_of_http(start: Any) -> None:
    assert start("--http", "8080", "--sse", "8080").endpoints == [
        Http(Address("127.0.0.1", 8080), frozenset({"http", "sse"}))
    ]
    assert len(start("--http", "0", "--sse", "0").endpoints) == 2


def test_settings(start: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VMAF_MCP_ALLOW", "/srv/videos")
    monkeypatch.setenv("VMAF_MCP_MAX_CONCURRENT", "3")
    data = str(tmp_path / "data")
    work = ["--queue", "9", "--time-limit", "1.5", "--grace", "0", "--data", data, "--metrics", "0"]
    options = start("--allow", str(tmp_path), "--allow", "/usr", *work, "--log-format", "text")
    settings = options.settings
    assert settings.allow == ("/srv/videos", str(tmp_path), "/usr")
    assert (settings.workers, settings.queue, settings.time_limit, settings.grace) == (3, 9, 1.5, 0.0)
    assert settings.data == tmp_path / "data"
    assert options.metrics == Address("127.0.0.1", 0)
    assert options.log_format == "text"
    assert options.warnings == ["VMAF_MCP_ALLOW: '/srv/videos' is no folder: make it, or correct it"]
    assert start("--workers", "7").settings.workers == 7


def test_a_token_opens_the_door(start: Any, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(TOKEN)
    at, token = ["--http", "0.0.0.0:80"], ["--token-file", str(tmp_path / "token")]
    options = start(*at, *token, "--allow-host", "a.example")
    assert list(options.access.tokens) == [TOKEN]
    assert options.access.names == {"a.example"}


def test_the_admin_port_has_tokens_of_its_own(start: Any, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(TOKEN)
    file.chmod(0o600)
    options = start("--http", "0", "--admin", "9900", "--admin-token-file", str(file))
    assert options.admin == Address("127.0.0.1", 9900)
    assert (list(options.admin_tokens), list(options.access.tokens)) == ([TOKEN], [])
    assert start("--http", "0", "--admin", "0").admin_tokens is None
    unused = start("--http", "0", "--admin-token-file", str(file))
    assert unused.warnings == ["--admin-token-file: not used: set the port of admin too"]
    file.chmod(0o644)
    (warning,) = start("--http", "0", "--admin", "0", "--admin-token-file", str(file)).warnings
    assert warning.endswith(" is open to every user (mode 0644): chmod 600 it")


def test_a_token_of_clients_is_none_of_operators(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "token").write_text(TOKEN)
    both = ["--token-file", str(tmp_path / "token"), "--admin-token-file", str(tmp_path / "token")]
    assert command.main(["--http", "0", "--admin", "0", *both]) == 1
    assert "is also one of clients: make another for operators" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--admin", "0.0.0.0:80"], "'0.0.0.0' can be reached from other machines, which takes TLS"),
        (["--admin", "80", "--http", "80"], "is the port of server.http already"),
        (["--admin", "80", "--admin-token-file", "nowhere"], "can't read the token file 'nowhere'"),
        (["--http", "0.0.0.0:80"], "'0.0.0.0' can be reached from other machines"),
        (["--sse", "[::]:80"], "'::' can be reached from other machines"),
        (["--metrics", "0.0.0.0:80"], "'0.0.0.0' can be reached from other machines"),
        (["--http", "99999"], "'99999' is no address"),
        (["--token-file", "nowhere"], "can't read the token file 'nowhere'"),
        (["--allow", "nowhere"], "'nowhere' is no folder"),
        (["--workers", "0"], "'0' should be a whole number of 1 or more"),
        (["--framing", "morse"], "'morse'"),
        (["--framing", "lines", "--http", "80"], "--framing is for stdin and stdout"),
        (["--log-level", "loud"], "'loud'"),
        (["--http", "1", "--http", "2"], "argument --http: it is given twice: keep one"),
        (["--config", "a", "--config", "a"], "argument --config: it is given twice: keep one"),
        (["--log-level", "info", "--log-level", "info"], "argument --log-level: it is given twice"),
        (["--nonsense"], "--nonsense"),
        (["extra"], "extra"),
    ],
)
def test_refusals(
    capsys: pytest.CaptureFixture[str], asked: list[ServeOptions], options: list[str], reason: str
) -> None:
    for name, run in WAYS.items():
        assert run(options) == 1
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith(f"{name.split()[0]}: ")
        assert reason in err
        assert len(err.splitlines()) <= 2
    assert asked == []


def test_an_empty_token_in_the_environment_is_refused(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VMAF_MCP_TOKEN", "")
    assert command.main([]) == 1
    assert "the token in 'VMAF_MCP_TOKEN'" in capsys.readouterr().err


def test_help_teaches(capsys: pytest.CaptureFixture[str]) -> None:
    for name, run in WAYS.items():
        assert run(["-h"]) == 0
        text = capsys.readouterr().out
        assert f"    {name} --http 8080\n" in text
        assert all(option in text for options in option_groups().values() for option in options)
    assert command.main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("vmaf-mcp (Acuity) ")
