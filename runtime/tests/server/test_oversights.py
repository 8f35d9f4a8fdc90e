"""What an operator has probably overlooked is told, a sentence each."""

from __future__ import annotations

import logging
import os
import signal
from datetime import UTC, datetime
from pathlib import Path

import pytest

from longwire.guard.grants import Scopes
from longwire.guard.tokens import TokenFile, parse_tokens
from longwire.operations.logs import Redactor
from longwire.principals.rates import parse_rate
from longwire.server.reload import reloading
from longwire.server.serve import Named
from transport_bench import Signal

TOOLS = ["vmaf_score", "vmaf_version", "list_models"]
RATE = parse_rate("1/min")
ALICE = "alice-correct-horse"


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
    path = tmp_path / "tokens"
    path.write_text(f"alice {ALICE}\n")
    path.chmod(0o640)
    assert not Named()
    assert not list(Named(tokens=TokenFile(str(path))).oversights(TOOLS))


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


async def test_a_file_that_is_read_again_is_looked_at_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        path = tmp_path / "tokens"
        path.write_text(f"alice {ALICE}\n")
        path.chmod(0o600)
        tokens, changed = TokenFile(str(path)), Signal()
        named = Named(tokens=tokens)

        def oversights() -> list[str]:
            changed.add()
            return list(named.of_tokens(TOOLS))

        with reloading(tokens, Redactor(), oversights=oversights):
            path.chmod(0o604)
            os.kill(os.getpid(), signal.SIGHUP)
            await changed.reaches()
        assert "is open to every user (mode 0604)" in caplog.text
        assert ALICE not in caplog.text
