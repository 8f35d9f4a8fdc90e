"""SIGHUP reads the token file again."""

from __future__ import annotations

import logging
import os
import signal
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import anyio
import pytest

from longwire.config.effective import Effective, effective
from longwire.errors import SettingsError
from longwire.guard.grants import granted
from longwire.guard.tokens import TokenFile, Tokens
from longwire.operations.logs import Redactor
from longwire.principals.limits import CallLimits
from longwire.server.reload import Configuration, reload, reload_certificate, reloading
from longwire.server.start_options import options
from longwire.wire.http.tls import Certificate
from transport_bench import LOCAL, Signal

ALICE = "alice-correct-horse"
BOB = "bob-battery-staple!"


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


async def test_the_signal(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGHUP)
    path, tokens = token_file(tmp_path)
    changed = Signal()
    tokens.on_gone(lambda _: changed.add())
    with reloading(tokens, Redactor()):
        path.write_text(f"bob {BOB}\n")
        os.kill(os.getpid(), signal.SIGHUP)
        await changed.reaches()
    assert tokens.find(BOB) is not None
    assert signal.getsignal(signal.SIGHUP) == before


async def test_what_an_expired_token_left_open_ends(tmp_path: Path) -> None:
    path = tmp_path / "tokens.toml"
    path.write_text(f"[tokens.alice]\ntoken = '{ALICE}'\nexpires = 2026-01-01T00:00:00Z\n")
    ends = datetime(2026, 1, 1, tzinfo=UTC).timestamp()
    ticks = iter([ends - 0.001] * 2)
    tokens = TokenFile(str(path), clock=lambda: next(ticks, ends))
    expired = Signal()
    tokens.on_gone(lambda _: expired.add())
    with reloading(tokens, Redactor()):
        assert expired.count == 0
        await expired.reaches()


async def test_without_a_file_the_signal_keeps_its_meaning() -> None:
    before = signal.getsignal(signal.SIGHUP)
    with reloading(Tokens({ALICE: "alice"}), Redactor()):
        assert signal.getsignal(signal.SIGHUP) == before
        await anyio.lowlevel.checkpoint()


def test_the_certificate_is_read_again_or_stays(caplog: pytest.LogCaptureFixture) -> None:
    class Files:
        bad = False

        def reload(self) -> None:
            if self.bad:
                raise SettingsError("can't read the TLS key 'k': name a PEM file")

    files = Files()
    with caplog.at_level(logging.INFO):
        reload_certificate(cast(Certificate, files))
        files.bad = True
        reload_certificate(cast(Certificate, files))
    assert caplog.messages == [
        "read the certificate again",
        "the certificate stays as it was: can't read the TLS key 'k': name a PEM file",
    ]


async def test_the_signal_without_a_token_file() -> None:
    read = Signal()

    class Files:
        def reload(self) -> None:
            read.add()

    with reloading(Tokens(), Redactor(), cast(Certificate, Files())):
        os.kill(os.getpid(), signal.SIGHUP)
        await read.reaches()


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


def test_rates_scopes_origins_and_limits_count_without_a_restart(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "longwire.toml"
    path.write_text(CONFIGURATION)

    def found() -> Effective:
        return effective({}, {}, path)

    wanted = replace(options(found()), again=found)
    configuration, limits = Configuration(wanted), CallLimits(wanted.settings)
    assert configuration
    configuration.on_change.append(limits.become)
    security = wanted.access.at(LOCAL)
    principal = granted("bob", {"scopes": ["score"]}, wanted.scopes, "t")
    assert not principal.may_call("list_models")
    path.write_text(
        CONFIGURATION.replace("60/min", "1/day").replace('"vmaf_score*"', '"list_*"').replace("= 60", "= 61")
        + "allowed_origins = ['https://studio.example']\n"
    )
    with caplog.at_level(logging.INFO):
        configuration.reload()
    assert granted("bob", {"scopes": ["score"]}, wanted.scopes, "t").may_call("list_models")
    assert "https://studio.example" in security.origins
    assert limits._rates.check("token:a") is None
    assert limits._rates.check("token:a") is not None
    assert configuration.settings.idle_timeout == 60
    read, rest = caplog.messages
    for part in ("limits.rate = ", "1/day", "auth.scopes = ", "list_*", "mcp.allowed_origins = "):
        assert part in read
    assert rest == "these settings changed, and count after a restart only: mcp.session_ttl_seconds"

    path.write_text("[limits]\nrate = 'fast'\nmax_calls = 'x'\n")
    configuration.reload()
    assert caplog.messages[-1].count(str(path)) == 2
    assert limits._rates.check("token:a") is not None


def test_limits_are_those_of_the_file_that_was_read_last(tmp_path: Path) -> None:
    path = tmp_path / "longwire.toml"
    path.write_text(CONFIGURATION)
    configuration = Configuration(
        replace(options(effective({}, {}, path)), again=lambda: effective({}, {}, path))
    )
    wire = configuration.wire
    path.write_text(CONFIGURATION.replace("max_sessions = 2", "max_sessions = 9"))
    configuration.reload()
    assert (wire.max_sessions, configuration.settings.max_sessions) == (9, 9)
