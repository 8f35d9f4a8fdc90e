"""The tokens that HTTP clients have to send, each with the name of the principal that it proves.

A token file holds one token, or a line `NAME TOKEN` for each principal. Two lines may have one name, so that
a token can be replaced while the old one still works.
"""

from __future__ import annotations

import hmac
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from acuity.errors import SettingsError

TOKEN_VARIABLE: Final = "VMAF_MCP_TOKEN"  # of the standalone server
EMBEDDED_VARIABLE: Final = "ACUITY_MCP_TOKEN"  # of a server inside a measurement
UNNAMED: Final = "default"  # the principal of a token without a name
_SHORTEST_TOKEN: Final = 16  # characters; shorter ones can be guessed
_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of a server; empty if it asks for none."""

    by_token: Mapping[str, str] = field(default_factory=dict, repr=False)  # token to principal

    def __bool__(self) -> bool:
        return bool(self.by_token)

    def __iter__(self) -> Iterator[str]:
        return iter(self.by_token)

    @property
    def principals(self) -> frozenset[str]:
        return frozenset(self.by_token.values())

    def principal(self, authorization: str | None) -> str | None:
        """Return whose token an Authorization header carries, or None where it is no token of this server."""
        scheme, _, given = (authorization or "").partition(" ")
        if scheme.lower() != "bearer":
            return None
        sent, found = given.strip().encode(), None
        for token, name in self.by_token.items():  # all of them, so that the time it takes reveals nothing
            if hmac.compare_digest(sent, token.encode()):
                found = name
        return found


def read_tokens(
    path: str | None, environ: Mapping[str, str] = os.environ, variable: str = TOKEN_VARIABLE
) -> Tokens:
    """Read the tokens in the file, or else in the environment; raises SettingsError."""
    if path is None:
        text = environ.get(variable)
        return Tokens() if text is None else parse_tokens(text, variable)
    try:
        text = Path(path).read_text(encoding="ascii")
    except UnicodeDecodeError:
        raise SettingsError(f"the token in '{path}' is not ASCII: use letters and digits") from None
    except OSError as error:
        raise SettingsError(f"can't read the token file '{path}': {error.strerror}") from None
    return parse_tokens(text, path)


def parse_tokens(text: str, source: str) -> Tokens:
    """Parse one token, or lines of `NAME TOKEN`; raises SettingsError."""
    lines = [line.split() for line in text.splitlines() if line.strip()] or [[""]]
    if len(lines) == 1 and len(lines[0]) == 1:
        return Tokens({_checked(lines[0][0], source): UNNAMED})
    found: dict[str, str] = {}
    for number, words in enumerate(lines, start=1):
        if len(words) != 2 or not _NAME.fullmatch(words[0]):
            raise SettingsError(
                f"the token in '{source}', line {number}, has no name: write one token alone, "
                "or lines of NAME TOKEN with letters, digits, '.', '_' and '-' in the names"
            )
        name, token = words[0], _checked(words[1], source)
        if found.setdefault(token, name) != name:
            raise SettingsError(
                f"the token in '{source}', line {number}, is also that of '{found[token]}': make another"
            )
    return Tokens(found)


def _checked(token: str, source: str) -> str:
    if len(token) < _SHORTEST_TOKEN:
        raise SettingsError(
            f"the token in '{source}' is shorter than {_SHORTEST_TOKEN} characters: use a longer one"
        )
    if not token.isascii() or not token.isprintable():
        raise SettingsError(f"the token in '{source}' holds special characters: use letters and digits")
    return token
