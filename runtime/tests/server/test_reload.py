"""What SIGHUP reads again, and what an operator has probably overlooked."""

from __future__ import annotations

import logging
import os
import signal
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import anyio
import pytest

from longwire.config.effective import Effective
from longwire.config.finding import effective
from longwire.errors import SettingsError
from longwire.guard.access import Access
from longwire.guard.grants import Scopes, granted
from longwire.guard.tokens import TokenFile, Tokens, parse_tokens
from longwire.operations.logs import Redactor
from longwire.principals.limits import CallLimits
from longwire.principals.rates import parse_rate
from longwire.server.reload import Configuration, reload
from longwire.server.serve import Named, ServeOptions
from longwire.server.start_options import options
from longwire.settings import Settings
from longwire.wire.http.tls import Certificate
from transport_bench import LOCAL, Signal

ALICE = "alice-correct-horse"
BOB = "bob-battery-staple!"


def options_of(tokens: Tokens, **more: Any) -> Configuration:
    return Configuration(ServeOptions(Settings(), [], Access(tokens), **more))


def token_file(folder: Path) -> tuple[Path, TokenFile]:
    path = folder / "tokens"
    path.write_text(f"alice {ALICE}\n")
    return path, TokenFile(str(path))


def test_new_tokens_are_hidden_and_old_ones_stay_hidden(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, tokens = token_file(tmp_path)
    redactor = Redactor(tokens)
    path.write_text(f"bob {BOB}\n")
    with caplog.at_level(logging.INFO):
        reload(tokens, redactor)
    assert tokens.find(BOB) is not None
    assert redactor.text(f"{ALICE} {BOB}") == "[hidden] [hidden]"
    assert redactor.suspects(BOB)
    assert caplog.messages == [f"read the token file '{path}' again"]
    assert caplog.records[0].gone == "alice"


def test_a_bad_file_is_one_sentence_in_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path, tokens = token_file(tmp_path)
    path.write_text("alice short")
    reload(tokens, Redactor())
    assert tokens.find(ALICE) is not None
    assert caplog.messages == [
        f"the tokens stay as they were: the token of 'alice' in '{path}', line 1, "
        "is shorter than 16 characters: use a longer one"
    ]


async def test_what_an_expired_token_left_open_ends(tmp_path: Path) -> None:
    path = tmp_path / "tokens.toml"
    path.write_text(f"[tokens.alice]\ntoken = '{ALICE}'\nexpires = 2026-01-01T00:00:00Z\n")
    ends = datetime(2026, 1, 1, tzinfo=UTC).timestamp()
    ticks = iter([ends - 0.001] * 2)
    tokens = TokenFile(str(path), clock=lambda: next(ticks, ends))
    expired = Signal()
    tokens.on_gone(lambda _: expired.add())
    with options_of(tokens).reloading(Redactor()):
        assert expired.count == 0
        await expired.reaches()


async def test_without_a_file_the_signal_keeps_its_meaning() -> None:
    before = signal.getsignal(signal.SIGHUP)
    with options_of(Tokens({ALICE: "alice"})).reloading(Redactor()):
        assert signal.getsignal(signal.SIGHUP) == before
        await anyio.lowlevel.checkpoint()


async def test_at_the_signal_the_certificate_is_read_again_or_stays(caplog: pytest.LogCaptureFixture) -> None:
    read = Signal()

    class Files:
        def reload(self) -> None:
            read.add()
            if read.count == 2:
                raise SettingsError("can't read the TLS key 'k': name a PEM file")

    options = options_of(Tokens(), certificate=cast(Certificate, Files()))
    with caplog.at_level(logging.INFO), options.reloading(Redactor()):
        for times in (1, 2):
            os.kill(os.getpid(), signal.SIGHUP)
            await read.reaches(times)
    assert caplog.messages[1::2] == [
        "read the certificate again",
        "the certificate stays as it was: can't read the TLS key 'k': name a PEM file",
    ]


CONFIGURATION = """
[server]
http = 0
[workers]
command = "true"
[limits]
rate = "60/min"
max_calls = 8
[auth.scopes]
score = ["vmaf_score*"]
[mcp]
max_sessions = 2
session_ttl_seconds = 60
"""


def test_rates_scopes_origins_and_limits_of_the_file_count_without_a_restart(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "longwire.toml"
    path.write_text(CONFIGURATION)

    def found() -> Effective:
        return effective({}, {}, path)

    wanted = replace(options(found()), again=found)
    configuration, limits = Configuration(wanted), CallLimits(wanted.settings)
    wire = configuration.wire
    assert configuration.has_file
    configuration.on_change.append(limits.become)
    security = wanted.access.at(LOCAL)
    principal = granted("bob", {"scopes": ["score"]}, wanted.scopes, "t")
    assert not principal.may_call("list_models")
    path.write_text(
        CONFIGURATION.replace("60/min", "1/day")
        .replace('"vmaf_score*"', '"list_*"')
        .replace("= 60", "= 61")
        .replace("_sessions = 2", "_sessions = 9")
        + "allowed_origins = ['https://studio.example']\n"
    )
    with caplog.at_level(logging.INFO):
        configuration.reload()
    assert granted("bob", {"scopes": ["score"]}, wanted.scopes, "t").may_call("list_models")
    assert "https://studio.example" in security.origins
    assert limits._rates.check("token:a") is None
    assert limits._rates.check("token:a") is not None
    assert configuration.settings.idle_timeout == 60
    assert (wire.max_sessions, configuration.settings.max_sessions) == (9, 9)
    read, rest = caplog.messages
    for part in ("limits.rate = ", "1/day", "auth.scopes = ", "list_*", "mcp.allowed_origins = "):
        assert part in read
    assert rest == "these settings changed, and count after a restart only: mcp.session_ttl_seconds"

    path.write_text("[limits]\nrate = 'fast'\nmax_calls = 'x'\n")
    configuration.reload()
    assert caplog.messages[-1].count(str(path)) == 2
    assert limits._rates.check("token:a") is not None


TOOLS = ["vmaf_score", "vmaf_version", "list_models"]
RATE = parse_rate("1/min")


def test_names_that_no_tool_has() -> None:
    scopes = Scopes.parse({"score": ["vmaf_*", "run_*"]})
    text = (
        f"[tokens.alice]\ntoken = '{ALICE}'\ntools = ['list_modles', 'list_*']\nscopes = ['scroe', 'score']"
    )
    named = Named({"vmaf_verison": RATE, "vmaf_*": RATE}, scopes, parse_tokens(text, "t.toml", scopes))
    assert named
    assert list(named.oversights(TOOLS)) == [
        "no tool matches 'vmaf_verison' in [limits.tools]: did you mean 'vmaf_version'?",
        "no tool matches 'run_*' in the scope 'score' of [auth.scopes]",
        "no tool matches 'list_modles' in the tokens of 'alice': did you mean 'list_models'?",
        "the tokens of 'alice' have the scope 'scroe', which opens no tool: did you mean 'score'?",
    ]


def test_lists_that_the_methods_leave_without_effect() -> None:
    text = f"""
[tokens.alice]
token = "{ALICE}"
methods = ["tools/list", "prompts/*"]
tools = ["list_*"]
resources = ["x://open/*"]
prompts = ["greet"]
[tokens.bob]
token = "bob-battery-staple!"
methods = ["tools/*"]
tools = ["list_*"]
resources = []
"""
    assert list(Named(tokens=parse_tokens(text, "t.toml", Scopes())).oversights(TOOLS)) == [
        "the tokens of 'alice' have tools, but no method 'tools/call' to use them",
        "the tokens of 'alice' have resources, but no method 'resources/read' to use them",
    ]


def test_nothing_is_told_where_nothing_is_wrong(tmp_path: Path) -> None:
    path, tokens = token_file(tmp_path)
    path.chmod(0o640)
    assert not Named()
    assert not list(Named(tokens=tokens).oversights(TOOLS))


def test_token_files_that_are_open_and_tokens_that_have_expired(tmp_path: Path) -> None:
    path = tmp_path / "tokens.toml"
    path.write_text(f"[tokens.alice]\ntoken = '{ALICE}'\nexpires = 2026-01-01T12:00:00Z\n")
    path.chmod(0o644)
    now = datetime(2026, 1, 1, 13, tzinfo=UTC).timestamp()
    file = TokenFile(str(path), clock=lambda: now)
    unknown = Named({"count": RATE}, Scopes.parse({"use": ["count"]}), file)
    assert list(unknown.oversights(None)) == list(Named(tokens=file).oversights(TOOLS))
    assert list(unknown.of_tokens(None)) == [
        f"the token file '{path}' is open to every user (mode 0644): chmod 600 it",
        f"a token of 'alice' in '{path}' expired at 2026-01-01 12:00 UTC: replace it",
    ]


async def test_at_the_signal_tokens_are_read_again_and_their_file_is_looked_at(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    before = signal.getsignal(signal.SIGHUP)
    path, tokens = token_file(tmp_path)
    changed = Signal()

    def oversights() -> list[str]:
        changed.add()
        return list(Named(tokens=tokens).of_tokens(TOOLS))

    with options_of(tokens).reloading(Redactor(), oversights):
        path.write_text(f"bob {BOB}\n")
        path.chmod(0o604)
        os.kill(os.getpid(), signal.SIGHUP)
        await changed.reaches()
    assert tokens.find(BOB) is not None
    assert signal.getsignal(signal.SIGHUP) == before
    assert "is open to every user (mode 0604)" in caplog.text
    assert BOB not in caplog.text
