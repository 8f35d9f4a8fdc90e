"""Token files in TOML, and token files that are read again while the server runs."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longwire.errors import SettingsError
from longwire.guard.grants import Scopes, granted
from longwire.guard.tokens import TokenFile, Tokens, bearer, parse_tokens, read_tokens
from longwire.principals.principal import Holders
from longwire.principals.rates import parse_rate

ALICE = "alice-correct-horse"
SECOND = "alice-second-horse"
BOB = "bob-battery-staple!"
CAROL = "carol-and-her-token"
FILE = f"""
[tokens.alice]
token = "{ALICE}"
tokens = ["{SECOND}", {{token = "{CAROL}", expires = 2026-12-31}}]
scopes = ["score"]
tools = ["list_*"]
rate = "60/min"

[tokens.bob]
token = "{BOB}"
expires = 2026-12-31T18:00:00
"""
SCOPES = Scopes.parse({"score": ["vmaf_score*"], "admin": ["*"]})


def at(text: str, *moment: int) -> Tokens:
    """The tokens of a file as they are at some moment."""
    now = datetime(*moment, tzinfo=UTC).timestamp()  # type: ignore[misc]
    tokens = parse_tokens(text, "t.toml", SCOPES)
    return Tokens(tokens.by_token, tokens.granted, tokens.expires, clock=lambda: now)


def test_a_table_says_what_its_principal_may_do() -> None:
    alice = at(FILE, 2026, 1, 1).find(ALICE)
    assert alice.key == "token:alice"
    assert alice.scopes == {"score"}
    assert alice.rate == parse_rate("60/min")
    assert alice.tools == {"list_*", "vmaf_score*"}
    assert alice.may_call("vmaf_score_encoded")
    assert not alice.may_call("run_search")
    bob = at(FILE, 2026, 1, 1).find(BOB)
    assert bob.tools is None
    assert bob.may_call("anything")


def test_lists_of_resources_prompts_and_methods() -> None:
    scopes = Scopes.parse({"score": ["vmaf_score*", "resource:x://open/*"], "talk": ["prompt:*"]})
    bob = granted("bob", {"scopes": ["score"], "resources": ["x://b"], "methods": ["tools/*"]}, scopes, "t")
    assert bob.lists == {
        "tools": {"vmaf_score*"},
        "resources": {"x://b", "x://open/*"},
        "prompts": frozenset(),  # another scope has some
        "methods": {"tools/*"},
    }
    assert granted("eve", {"tools": ["echo"]}, Scopes.parse({}), "t").resources is None


@pytest.mark.parametrize(
    "uri",
    ["x://open/../secret/b", "x://open/%2e%2E/secret", "x://open/.%2e%2fsecret", "x://open/..\\secret\\b",
     "x://open\\..\\secret", "x://open/..%5csecret", "x://open/%252e%252e/b", "x://open/./b", "x://open/a/..",
     "x://open/..?a", "x://open/..#a", "x://open/.\t./b", "x://open/.. "],
)  # fmt: skip
def test_uris_with_dot_segments_are_in_no_list(uri: str) -> None:
    bob = granted("bob", {"resources": ["x://open/*", "*"]}, Scopes.parse({}), "t")
    assert not bob.may_use("resources", uri)
    assert granted("eve", {}, Scopes.parse({}), "t").may_use("resources", uri)
    assert granted("eve", {"prompts": ["*"]}, Scopes.parse({}), "t").may_use("prompts", uri)


@pytest.mark.parametrize(
    "uri", ["x://open/a.b", "x://open/.hidden", "x://open/...", "x://open/a..", "x://open/a%20b/..c"]
)
def test_dots_within_names_are_as_good_as_letters(uri: str) -> None:
    assert granted("bob", {"resources": ["x://open/*"]}, Scopes.parse({}), "t").may_use("resources", uri)


def test_no_scopes_open_nothing() -> None:
    text = f'[tokens.bob]\ntoken = "{BOB}"\nscopes = []'
    bob = parse_tokens(text, "t.toml", SCOPES).find(BOB)
    assert not bob.may_call("anything")
    with pytest.raises(SettingsError, match="without known tools"):
        parse_tokens(text, "t.toml", Scopes())
    with pytest.raises(SettingsError, match="scroe"):
        parse_tokens(text.replace("[]", '["scroe"]'), "t.toml", SCOPES)
    listed = parse_tokens(f'{text}\ntools = ["list_*"]', "t.toml", Scopes()).find(BOB)
    assert listed.tools == {"list_*"}


def test_a_name_has_as_many_tokens_as_it_needs() -> None:
    tokens = at(FILE, 2026, 1, 1)
    assert {tokens.find(token) for token in (ALICE, SECOND, CAROL)} == {tokens.find(ALICE)}
    assert tokens.principals == {"alice", "bob"}
    assert set(tokens) == {ALICE, SECOND, CAROL, BOB}
    assert not any(token in repr(tokens) for token in tokens)


def test_tokens_expire() -> None:
    before = at(FILE, 2026, 12, 31, 17, 59)
    assert before.find(BOB) is not None
    assert before.find(CAROL) is not None  # a day counts to its end
    after = at(FILE, 2026, 12, 31, 18)
    assert after.find(BOB) is None
    assert after.find(CAROL) is not None
    assert at(FILE, 2027, 1, 1).find(CAROL) is None
    assert at(FILE, 2099, 1, 1).find(ALICE) is not None
    in_a_zone = f"{TABLE}expires = 2026-06-01T02:00:00+02:00\n"
    assert at(in_a_zone, 2026, 5, 31, 23, 59).find(ALICE) is not None
    assert at(in_a_zone, 2026, 6, 1).find(ALICE) is None


TABLE = f'[tokens.a]\ntoken = "{ALICE}"\n'


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[tokens.a]\ntoken = \nrate = 1", "the token file 't.toml' is no TOML: .*line 2"),
        ("[tokens]", r"has no tokens: write a table \[tokens.NAME\] for each name"),
        (f'[tokens]\na = "{ALICE}"', r"the table 'a' of 't.toml' is no table: write \[tokens.a\]"),
        (f'[tokens."a b"]\ntoken = "{ALICE}"', "has a bad name: use letters"),
        ("[tokens.a]\nrate = '6/min'", "the table 'a' of 't.toml' has no token: write token ="),
        ("[tokens.a]\ntoken = 7", "a token of the table 'a' of 't.toml' is no text: write it in quotes"),
        ("[tokens.a]\ntokens = 'x'", "are no list: write"),
        ("[tokens.a]\ntoken = 'short'", "the token of 'a' in 't.toml' is shorter than 16 characters: use a"),
        (f"[tokens.a]\ntoken = '{'x' * 5000}'", "is longer than 4096 characters"),
        ("[tokens.a]\ntoken = 'with a blank in the middle'", "holds special characters"),
        ("[tokens.a]\ntoken = 'späte-erkenntnis-im-herbst'", "holds special characters"),
        (f"{TABLE}tool = ['x']", "unknown key 'tool': did you mean '(token|tools)'\\?"),
        (f"{TABLE}colour = 1", "unknown key 'colour': use token, tokens, expires, scopes, tools, resources"),
        (f"{TABLE}rate = '60'", "the rate of 'a' in 't.toml': '60' is no rate: write a number and"),
        (f"{TABLE}rate = 60", "the rate of 'a' in 't.toml': 60 is no rate"),
        (f"{TABLE}tools = 'x'", "the tools of 'a' in 't.toml' are 'x': write a list"),
        (f"{TABLE}tools = [1]", "the tools of 'a' in 't.toml' have 1: use texts"),
        (f"{TABLE}tools = ['a;b']", "'a;b' among the tools of 'a' in 't.toml' is no tool and"),
        (
            f"{TABLE}scopes = ['other']",
            r"has only scopes without known tools \(other\): name its tools, or .*\[auth.scopes\]",
        ),
        (f"{TABLE}expires = 'soon'", "expires at 'soon': write a date or time such as 2026-12-31"),
        (f"{TABLE}[other]\nx = 1", "the token file 't.toml' has the unknown key 'other'"),
        (f"{TABLE}[tokens.b]\ntoken = '{ALICE}'", "table 'b', is also that of 'a': make another"),
        (f"{TABLE}tokens = [{{token = '{BOB}', rate = '1/s'}}]", "a token of .* has the unknown key 'rate'"),
    ],
)
def test_tables_that_make_no_sense(text: str, sentence: str) -> None:
    with pytest.raises(SettingsError, match=sentence) as error:
        parse_tokens(text, "t.toml", SCOPES)
    assert ALICE not in str(error.value)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{token}", "Expected '=' after a key in a key/value pair"),
        ("[{token}]\n[{token}]", "Cannot declare … twice (at line 2, "),
        ("a = {{x = 1}}\na.{token}.b = 2", "Cannot mutate immutable namespace … (at "),
        ("a = {{{token} = 1, {token} = 2}}", "Duplicate inline table key … (at "),
        ("a = '{token}\a'", "Found invalid character … (at line 1, "),
        ("a = '{token}", 'Expected "\'" (at '),
        ("a = {token}", "Invalid value (at line 1, column 5)"),
        ("a = " + "[" * 5000, "it nests too deeply"),
        ("a = " + "1" * 5000, "a number in it is too long"),
    ],
)
def test_a_file_that_is_no_toml_keeps_its_secrets(text: str, sentence: str) -> None:
    with pytest.raises(SettingsError) as error:
        parse_tokens(text.format(token=ALICE), "t.toml")
    assert f"the token file 't.toml' is no TOML: {sentence}" in str(error.value)
    assert not any(part in str(error.value) for part in (ALICE[:4], ALICE[-4:], "\\x07"))


def test_a_table_is_recognised_by_its_head_whatever_the_file_is_called() -> None:
    assert parse_tokens(TABLE, "tokens").principals == {"a"}
    assert parse_tokens(f"a {ALICE}\nb {BOB}", "tokens").principals == {"a", "b"}


@given(st.text(max_size=80) | st.text("[]{}=.\"'tokensa\n #,", max_size=80))
def test_any_text_is_tokens_or_is_refused(text: str) -> None:
    for source in ("t.toml", "lines"):
        try:
            tokens = parse_tokens(text, source)
        except SettingsError:
            continue
        assert tokens


@pytest.mark.parametrize(
    "document", [[], "score", {"score": "vmaf_score"}, {"score": [1]}, {"score": ["a b"]}]
)
def test_scopes_that_make_no_sense(document: Any) -> None:
    with pytest.raises(SettingsError, match="scope"):
        Scopes.parse(document)


@pytest.mark.parametrize(
    ("scopes", "tools", "allowed"),
    [
        (["score"], None, {"vmaf_score*"}),
        (["score", "admin"], None, {"vmaf_score*", "*"}),
        (["score"], ["a"], {"a", "vmaf_score*"}),
        (["openid"], None, set()),  # none of its scopes allows a tool
        ([], None, set()),
        ([], ["a"], {"a"}),
        ([], [], set()),
    ],
)
def test_scopes_stand_for_tools(scopes: list[str], tools: list[str] | None, allowed: set[str] | None) -> None:
    document = {"scopes": scopes} | ({} if tools is None else {"tools": tools})
    assert granted("a", document, SCOPES, "the hook").tools == allowed
    nothing_said = None if tools is None else set(tools)
    assert granted("a", document, Scopes(), "the hook").tools == nothing_said


@pytest.mark.parametrize(
    ("header", "token"),
    [
        (f"Bearer {ALICE}", ALICE),
        (f"bEARER \t {ALICE} ", ALICE),
        (None, None),
        ("", None),
        ("Bearer", None),
        ("Bearer ", None),
        (f"Basic {ALICE}", None),
        (f"Bearer{ALICE}", None),
        ("Bearer späte-erkenntnis-im-herbst", None),
        ("Bearer \udcff" + ALICE, None),
        ("Bearer " + "x" * 8193, None),
        ("Bearer " + "x" * 8192, "x" * 8192),
    ],
)
def test_the_token_in_a_header(header: str | None, token: str | None) -> None:
    assert bearer(header) == token


@given(st.text())
def test_no_text_but_the_token_finds_it(text: str) -> None:
    tokens = Tokens({ALICE: "alice"})
    assert (tokens.find(text) is not None) is (text == ALICE)


def watched(path: Path, text: str, **options: Any) -> tuple[TokenFile, list[Holders], Callable[[], None]]:
    """A token file with that text, what it tells of holders who are gone, and the end of telling."""
    path.write_text(text)
    file, told = TokenFile(str(path), SCOPES, **options), list[Holders]()
    return file, told, file.on_gone(told.append)


def test_a_file_that_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    file, told, undo = watched(path, f"alice {ALICE}\nbob {BOB}\n")
    path.write_text(f"alice {SECOND}\ncarol {CAROL}\n")
    assert file.find(BOB) is not None  # nothing changes by itself
    assert file.reload() == {"bob"}
    assert [gone.keys for gone in told] == [{"token:bob"}]
    assert [token for token in (ALICE, SECOND, BOB, CAROL) if file.find(token)] == [SECOND, CAROL]
    assert set(file) == {SECOND, CAROL}
    assert file.reload() == set()
    undo()
    path.write_text(f"[tokens.alice]\ntoken = '{SECOND}'\ntools = ['list_*']\n")
    assert file.reload() == {"carol"}
    alice = file.find(SECOND)
    assert alice.tools == {"list_*"}
    assert len(told) == 1


def test_a_name_is_gone_when_its_last_token_has_expired(tmp_path: Path) -> None:
    path = tmp_path / "tokens.toml"
    now = datetime(2026, 12, 31, 17, tzinfo=UTC).timestamp()
    file, told, _ = watched(path, FILE, clock=lambda: now)
    assert file.end_invalid() == pytest.approx(3600)
    now += 3600
    assert file.find(BOB) is None
    assert file.end_invalid() == pytest.approx(6 * 3600)  # another of alice's
    assert [gone.keys for gone in told] == [{"token:bob"}]
    file.end_invalid()
    assert len(told) == 1
    path.write_text(FILE.replace("2026-12-31T18:00:00", "2027-12-31"))
    file.reload()
    assert file.find(BOB) is not None
    assert file.end_invalid() is not None
    now += 366 * 86400
    file.end_invalid()
    assert [gone.keys for gone in told] == [{"token:bob"}] * 2
    assert [len(gone.proofs) for gone in told] == [1, 2]  # one of alice's tokens has expired as well


def test_a_token_that_was_replaced_is_told_though_its_name_stays(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    file, told, _ = watched(path, f"alice {ALICE}\nalice {SECOND}\nbob {BOB}\n")
    leaked, kept, bob = (file.find(token) for token in (ALICE, SECOND, BOB))
    assert leaked == kept
    path.write_text(f"alice {SECOND}\nbob {BOB}\n")
    assert file.reload() == set()
    (gone,) = told
    assert gone.keys == set()
    assert [gone.include(principal) for principal in (leaked, kept, bob)] == [True, False, False]


@pytest.mark.parametrize("text", ["", "short", "[tokens.a]\ntoken = ", None])
def test_a_bad_file_changes_nothing(tmp_path: Path, text: str | None) -> None:
    path = tmp_path / "tokens"
    file, told, _ = watched(path, f"alice {ALICE}\n")
    if text is None:
        path.unlink()
    else:
        path.write_text(text)
    with pytest.raises(SettingsError):
        file.reload()
    assert file.find(ALICE) is not None
    assert told == []


def test_paths_that_name_no_file(tmp_path: Path) -> None:
    for path in (str(tmp_path), str(tmp_path / "none"), "a\0b"):
        with pytest.raises(SettingsError, match="can't read the token file"):
            read_tokens(path, {})


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (f"{ALICE}\n{BOB}", "the token in 'file', line 1, has no name: write one token alone, or"),
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
