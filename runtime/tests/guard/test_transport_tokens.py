"""Tokens and the principals that they prove."""

from __future__ import annotations

from pathlib import Path

import pytest

from longwire.errors import SettingsError
from longwire.guard.tokens import UNNAMED, Tokens, bearer, parse_tokens, read_tokens

ALICE = "alice-correct-horse"
BOB = "bob-battery-staple!"


def proven(tokens: Tokens, header: str | None) -> str | None:
    """The name that an Authorization header proves."""
    token = bearer(header)
    principal = tokens.find(token) if token is not None else None
    return None if principal is None else principal.key.removeprefix("token:")


def test_one_token_has_no_name() -> None:
    tokens = parse_tokens(f"\n{ALICE}\n", "file")
    assert proven(tokens, f"Bearer {ALICE}") == UNNAMED
    assert list(tokens) == [ALICE]


def test_each_line_names_a_principal(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    path.write_text(f"alice {ALICE}\n\nbob   {BOB}\n")
    tokens = read_tokens(str(path), {})
    assert tokens.principals == {"alice", "bob"}
    assert proven(tokens, f"Bearer {ALICE}") == "alice"
    assert proven(tokens, f"bearer  {BOB} ") == "bob"
    assert ALICE not in repr(tokens)


def test_a_principal_may_have_two_tokens_while_one_is_replaced() -> None:
    tokens = parse_tokens(f"alice {ALICE}\nalice {BOB}", "file")
    assert tokens.principals == {"alice"}
    assert proven(tokens, f"Bearer {BOB}") == "alice"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            f"{ALICE}\n{BOB}",
            "the token in 'file', line 1, has no name: write one token alone, or",
        ),
        (f"alice {ALICE}\n{BOB}", "line 2, has no name"),
        (f"a/b {ALICE}", "line 1, has no name"),
        (f"alice {ALICE} more", "line 1, has no name"),
        ("alice short", "the token of 'alice' in '.*', line 1, is shorter than 16 characters"),
        (f"alice {ALICE}\nbob {ALICE}", "line 2, is also that of 'alice': make another"),
    ],
)
def test_files_that_say_nothing_clear(text: str, sentence: str) -> None:
    with pytest.raises(SettingsError, match=sentence):
        parse_tokens(text, "file")
