"""The TOML form of a token file: a table for each principal.

[tokens.alice]
token = "…"                       # or tokens = ["…", {token = "…", expires = 2027-01-31}]
expires = 2026-12-31T18:00:00Z    # optional
tools = ["vmaf_score*", "list_*"] # optional: the tools that alice may list and call
resources = ["x://open/*"]        # optional, and so are prompts and methods: the same of those
scopes = ["score"]                # optional
rate = "60/min"                   # optional
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from difflib import get_close_matches
from typing import Any, Final

from longwire.errors import SettingsError
from longwire.guard.grants import GRANTS, Scopes, granted
from longwire.principals.principal import Principal
from longwire.text import quoted

_HEAD: Final = re.compile(r"^\s*\[+\s*tokens\s*[.\]]", re.MULTILINE)
_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
_KEYS: Final = ("token", "tokens", "expires", *GRANTS)
_TOKEN_KEYS: Final = ("token", "expires")


@dataclass(frozen=True, slots=True)
class Token:
    """A token and when it ends to be valid, in seconds since 1970."""

    token: str = field(repr=False)
    expires: float | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """The table of one principal."""

    name: str
    principal: Principal
    tokens: tuple[Token, ...]


def is_toml(text: str, source: str) -> bool:
    """Whether a token file is in TOML rather than in lines."""
    return source.endswith(".toml") or _HEAD.search(text) is not None


def parse_tables(text: str, source: str, scopes: Scopes) -> list[Table]:
    """Parse the tables of a token file; raises SettingsError."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        # Its text may hold the line in question, but never more than the place and a character.
        raise SettingsError(f"the token file '{source}' is no TOML: {error}") from None
    _check_keys(document, ("tokens",), f"the token file '{source}'")
    tables = document.get("tokens")
    if not isinstance(tables, Mapping) or not tables:
        raise SettingsError(
            f"the token file '{source}' has no tokens: write a table [tokens.NAME] for each name"
        )
    return [_table(name, table, source, scopes) for name, table in tables.items()]


def _table(name: str, table: Any, source: str, scopes: Scopes) -> Table:
    where = f"the table '{name}' of '{source}'"
    if not _NAME.fullmatch(name):
        raise SettingsError(f"{where} has a bad name: use letters, digits, '.', '_' and '-'")
    if not isinstance(table, Mapping):
        raise SettingsError(f'{where} is no table: write [tokens.{name}] and token = "…" below it')
    _check_keys(table, _KEYS, where)
    principal = granted(name, table, scopes, f"'{source}'")
    # Without a table of scopes an empty list would open all tools; with one it opens none.
    known = principal.scopes & scopes.tools.keys() if principal.scopes else scopes.tools
    if "scopes" in table and "tools" not in table and not known:
        raise SettingsError(
            f"{where} has only scopes without known tools ({', '.join(sorted(principal.scopes)) or 'none'}): "
            "name its tools, or those of a scope in [auth.scopes]"
        )
    tokens = tuple(_tokens(table, where))
    if not tokens:
        raise SettingsError(f'{where} has no token: write token = "…"')
    return Table(name, principal, tokens)


def _tokens(table: Mapping[str, Any], where: str) -> Iterator[Token]:
    ends = table.get("expires")
    listed = table.get("tokens", [])
    if not isinstance(listed, list):
        raise SettingsError(f'the tokens of {where} are no list: write tokens = ["…"]')
    for one in [*([table["token"]] if "token" in table else []), *listed]:
        given = one if isinstance(one, Mapping) else {"token": one}
        _check_keys(given, _TOKEN_KEYS, f"a token of {where}")
        token = given.get("token")
        if not isinstance(token, str):  # without the value, which may be a secret all the same
            raise SettingsError(f"a token of {where} is no text: write it in quotes")
        yield Token(token, _moment(given.get("expires", ends), where))


def _moment(given: object, where: str) -> float | None:
    """The end of a token. A day counts to its end; times without a zone are UTC."""
    match given:
        case None:
            return None
        case datetime():
            return (given if given.tzinfo is not None else given.replace(tzinfo=UTC)).timestamp()
        case date():
            return datetime.combine(given, time.max, UTC).timestamp()
        case _:
            raise SettingsError(
                f"{where} expires at {quoted(given)}: write a date or time such as 2026-12-31"
            )


def _check_keys(table: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    for key in table:
        if key not in known:
            near = get_close_matches(key, known, 1)
            remedy = f"did you mean '{near[0]}'?" if near else f"use {', '.join(known)}"
            raise SettingsError(f"{where} has the unknown key {quoted(key)}: {remedy}")
