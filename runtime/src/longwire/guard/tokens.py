"""The tokens that HTTP clients have to send, each with the name of the principal that it proves.

A token file holds one token, or a line `NAME TOKEN` for each principal, or tables in TOML:

    [tokens.alice]
    token = "…"                       # or tokens = ["…", {token = "…", expires = 2027-01-31}]
    expires = 2026-12-31T18:00:00Z    # optional
    tools = ["vmaf_score*", "list_*"] # optional: the tools that alice may list and call
    resources = ["x://open/*"]        # optional, and so are prompts and methods: the same of those
    scopes = ["score"]                # optional
    rate = "60/min"                   # optional

A name may have several tokens, so that one can be replaced while the old one still works.
"""

from __future__ import annotations

import math
import os
import re
import secrets
import stat
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from difflib import get_close_matches
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

from longwire.errors import SettingsError
from longwire.guard.grants import GRANTS, NO_SCOPES, Scopes, granted
from longwire.names import own_names
from longwire.principals.principal import Holders, Principal
from longwire.text import quoted, why_no_toml

_HEAD: Final = re.compile(r"^\s*\[+\s*tokens\s*[.\]]", re.MULTILINE)
_KEYS: Final = ("token", "tokens", "expires", *GRANTS)
_TOKEN_KEYS: Final = ("token", "expires")


def _from_tables(text: str, source: str, scopes: Scopes) -> Tokens:
    """Parse the tables of a token file; raises SettingsError."""
    try:
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise SettingsError(f"the token file '{source}' is no TOML: {why_no_toml(error)}") from None
    _check_keys(document, ("tokens",), f"the token file '{source}'")
    tables = document.get("tokens")
    if not isinstance(tables, Mapping) or not tables:
        raise SettingsError(
            f"the token file '{source}' has no tokens: write a table [tokens.NAME] for each name"
        )
    found: dict[str, str] = {}
    principals: dict[str, Principal] = {}
    expires: dict[str, float] = {}
    for name, table in tables.items():
        principals[name] = _principal(name, table, source, scopes)
        tokens = list(_tokens(table, f"the table '{name}' of '{source}'"))
        if not tokens:
            raise SettingsError(f"the table '{name}' of '{source}' has no token: write token = \"…\"")
        for token, end in tokens:
            _check(token, f"of '{name}' in '{source}'")
            _add(found, token, name, f"'{source}', table '{name}',")
            if end is not None:
                expires[token] = end
    return Tokens(found, principals, expires)


def _principal(name: str, table: Any, source: str, scopes: Scopes) -> Principal:
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
    return principal


def _tokens(table: Mapping[str, Any], where: str) -> Iterator[tuple[str, float | None]]:
    """The tokens of a table, with the seconds since 1970 at which each ends."""
    listed = table.get("tokens", [])
    if not isinstance(listed, list):
        raise SettingsError(f'the tokens of {where} are no list: write tokens = ["…"]')
    for one in [*([table["token"]] if "token" in table else []), *listed]:
        given = one if isinstance(one, Mapping) else {"token": one}
        _check_keys(given, _TOKEN_KEYS, f"a token of {where}")
        token = given.get("token")
        if not isinstance(token, str):  # without the value, which may be a secret all the same
            raise SettingsError(f"a token of {where} is no text: write it in quotes")
        yield token, _moment(given.get("expires", table.get("expires")), where)


def _moment(given: object, where: str) -> float | None:
    """The end of a token. A day counts to its end; times without a zone are UTC."""
    if given is None:
        return None
    if isinstance(given, datetime):
        return (given if given.tzinfo is not None else given.replace(tzinfo=UTC)).timestamp()
    if isinstance(given, date):
        return datetime.combine(given, datetime.max.time(), UTC).timestamp()
    raise SettingsError(f"{where} expires at {quoted(given)}: write a date or time such as 2026-12-31")


def _check_keys(table: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    for key in table:
        if key not in known:
            near = get_close_matches(key, known, 1)
            remedy = f"did you mean '{near[0]}'?" if near else f"use {', '.join(known)}"
            raise SettingsError(f"{where} has the unknown key {quoted(key)}: {remedy}")


UNNAMED: Final = "default"  # the principal of a token without a name
_SHORTEST_TOKEN: Final = 16  # characters; shorter ones can be guessed
_UNGUESSABLE: Final = 22  # characters: base64 of 128 random bits
_DIFFERENT: Final = 10  # characters that such a token has at least
_LONGEST_TOKEN: Final = 4096
_LONGEST_BEARER: Final = 8192  # characters of what clients send: tokens of others say more
_OTHERS: Final = 0o007  # permissions of everybody
_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
_DIGEST: Final = blake2b(digest_size=16, key=secrets.token_bytes(32))  # nobody can foresee its digests

_NOBODY: Final[tuple[Principal | None, float]] = (None, 0.0)


def digest(token: str) -> bytes:
    """A token's key in tables: the time of a lookup by it says nothing about the tokens in them."""
    found = _DIGEST.copy()
    found.update(token.encode("utf-8", "surrogatepass"))
    return found.digest()


def is_unguessable(token: str) -> bool:
    """Whether a token is so long and varied that nobody finds it by trying."""
    return len(token) >= _UNGUESSABLE and len(set(token)) >= _DIFFERENT


def bearer(authorization: str | None) -> str | None:
    """The token in an Authorization header; None where there is none that could be right."""
    scheme, _, given = (authorization or "").partition(" ")
    token = given.strip(" \t")
    usable = scheme.lower() == "bearer" and token.isascii() and 0 < len(token) <= _LONGEST_BEARER
    return token if usable else None


@dataclass
class Tokens:
    """The tokens of a server; empty if it asks for none."""

    by_token: Mapping[str, str] = field(default_factory=dict, repr=False)  # token to the principal's name
    granted: Mapping[str, Principal] = field(default_factory=dict)  # by name; others may do everything
    expires: Mapping[str, float] = field(default_factory=dict, repr=False)  # by token, in seconds since 1970
    clock: Callable[[], float] = field(default=time.time, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._by_digest: dict[bytes, tuple[Principal, float]] = {}
        for token, name in self.by_token.items():
            proof = digest(token)
            principal = replace(self.granted.get(name) or Principal.of_token(name), proof=proof)
            self._by_digest[proof] = (principal, self.expires.get(token, math.inf))

    def __bool__(self) -> bool:
        return bool(self.by_token)

    def __iter__(self) -> Iterator[str]:
        """The tokens themselves, which must never be shown."""
        return iter(self.by_token)

    @property
    def principals(self) -> frozenset[str]:
        return frozenset(self.by_token.values())

    def find(self, token: str) -> Principal | None:
        principal, ends = self._by_digest.get(digest(token), _NOBODY)
        return principal if self.clock() < ends else None

    def on_gone(self, callback: Callable[[Holders], None]) -> Callable[[], None]:
        """Call a function when tokens are no longer valid; returns the undoing."""
        return lambda: None  # these never change


class TokenFile(Tokens):
    """The tokens of a file, which can be read again while the server runs."""

    def __init__(self, path: str, scopes: Scopes = NO_SCOPES, clock: Callable[[], float] = time.time) -> None:
        """Read the file; raises SettingsError."""
        self.path: Final = path
        self._scopes = scopes
        self._gone: list[Callable[[Holders], None]] = []
        self._read(clock)
        self._valid = self._holders(clock())  # when it was last looked at

    def oversights(self) -> Iterator[str]:
        """A sentence for each thing about the file that is probably a mistake."""
        with suppress(OSError):
            mode = stat.S_IMODE(os.stat(self.path).st_mode)
            if mode & _OTHERS:
                yield f"the token file '{self.path}' is open to every user (mode {mode:04o}): chmod 600 it"
        now = self.clock()
        for token, ends in self.expires.items():
            if ends <= now:
                name, when = self.by_token[token], datetime.fromtimestamp(ends, UTC)
                yield f"a token of '{name}' in '{self.path}' expired at {when:%Y-%m-%d %H:%M} UTC: replace it"

    def on_gone(self, callback: Callable[[Holders], None]) -> Callable[[], None]:
        self._gone.append(callback)
        return lambda: self._gone.remove(callback)

    def reload(self) -> frozenset[str]:
        """Read the file again; returns the names that are gone. Raises SettingsError and changes nothing."""
        before = self.principals
        self._read(self.clock)
        self.end_invalid()
        return before - self.principals

    def end_invalid(self) -> float | None:
        """Call back about tokens that have become invalid; returns the seconds until the next expires."""
        now = self.clock()
        before, self._valid = self._valid, self._holders(now)
        gone = Holders(before.keys - self._valid.keys, before.proofs - self._valid.proofs)
        if gone.proofs:
            for callback in list(self._gone):
                callback(gone)
        return min((ends - now for ends in self.expires.values() if now < ends), default=None)

    def _holders(self, now: float) -> Holders:
        """The holders of all tokens that have not expired."""
        left = {proof: principal for proof, (principal, ends) in self._by_digest.items() if now < ends}
        return Holders(frozenset(principal.key for principal in left.values()), frozenset(left))

    def _read(self, clock: Callable[[], float]) -> None:
        read = read_tokens(self.path, {}, scopes=self._scopes)
        super().__init__(read.by_token, read.granted, read.expires, clock)


def read_tokens(
    path: str | None,
    environ: Mapping[str, str] = os.environ,
    variable: str | None = None,
    scopes: Scopes = NO_SCOPES,
) -> Tokens:
    """Read the tokens in the file, or else in the environment; raises SettingsError."""
    if path is None:
        variable = variable or own_names().token_variable
        text = environ.get(variable)
        return Tokens() if text is None else parse_tokens(text, variable, scopes)
    try:
        text = Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise SettingsError(f"the token in '{path}' is not ASCII: use letters and digits") from None
    except (OSError, ValueError) as error:  # a path with a null byte is a ValueError
        reason = error.strerror if isinstance(error, OSError) else error
        raise SettingsError(
            f"can't read the token file '{path}': {reason}: name a file that can be read"
        ) from None
    return parse_tokens(text, path, scopes)


def parse_tokens(text: str, source: str, scopes: Scopes = NO_SCOPES) -> Tokens:
    """Parse one token, lines of `NAME TOKEN`, or tables in TOML; raises SettingsError."""
    if source.endswith(".toml") or _HEAD.search(text) is not None:
        return _from_tables(text, source, scopes)
    lines = [line.split() for line in text.splitlines() if line.strip()] or [[""]]
    if len(lines) == 1 and len(lines[0]) == 1:
        _check(lines[0][0], f"in '{source}'")
        return Tokens({lines[0][0]: UNNAMED})
    found: dict[str, str] = {}
    for number, words in enumerate(lines, start=1):
        if len(words) != 2 or not _NAME.fullmatch(words[0]):
            raise SettingsError(
                f"the token in '{source}', line {number}, has no name: write one token alone, "
                "or lines of NAME TOKEN with letters, digits, '.', '_' and '-' in the names"
            )
        _check(words[1], f"of '{words[0]}' in '{source}', line {number},")
        _add(found, words[1], words[0], f"'{source}', line {number},")
    return Tokens(found)


def _add(found: dict[str, str], token: str, name: str, where: str) -> None:
    if found.setdefault(token, name) != name:
        raise SettingsError(f"the token in {where} is also that of '{found[token]}': make another")


def _check(token: str, whose: str) -> None:
    problem = ""
    if len(token) < _SHORTEST_TOKEN:
        problem = f"is shorter than {_SHORTEST_TOKEN} characters: use a longer one"
    elif len(token) > _LONGEST_TOKEN:
        problem = f"is longer than {_LONGEST_TOKEN} characters: use a shorter one"
    elif not token.isascii() or not token.isprintable() or " " in token:
        problem = "holds special characters: use letters and digits"
    if problem:
        raise SettingsError(f"the token {whose} {problem}")
