"""What a named principal may do, read from a token file's table or from the answer of an auth hook."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from acuity.errors import SettingsError
from acuity.mcp.principal import Principal
from acuity.mcp.rates import parse_rate
from acuity.text import quoted

GRANTS: Final = ("scopes", "tools", "rate")  # the keys that this module reads
_NAME: Final = re.compile(r"[!-~]{1,128}")
_PATTERN: Final = re.compile(r"[A-Za-z0-9_./*?\[\]!-]{1,128}")
_MOST: Final = 1000  # scopes, or tools, of one principal


@dataclass(frozen=True, slots=True)
class Scopes:
    """The tools that each scope allows; empty if scopes say nothing about tools."""

    tools: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @classmethod
    def parse(cls, document: object) -> Scopes:
        """Parse a table of scopes, such as `score = ["vmaf_score*"]`; raises SettingsError."""
        if not isinstance(document, Mapping):
            raise SettingsError(f"the scopes {quoted(document)} are no table: write SCOPE = [TOOLS] for each")
        return cls({name: _patterns(tools, f"the scope '{name}'") for name, tools in document.items()})

    def allowlist(self, scopes: frozenset[str], own: frozenset[str] | None) -> frozenset[str] | None:
        """The tools of a principal: its own and those of its scopes; None for all.

        Scopes limit a principal as soon as any scope has tools. Those that have none then add none.
        """
        if own is None and not (scopes and self.tools):
            return None
        found = (self.tools.get(scope, frozenset()) for scope in scopes)
        return (own or frozenset()).union(*found)


NO_SCOPES: Final = Scopes()


def granted(name: object, document: Mapping[str, Any], scopes: Scopes, source: str) -> Principal:
    """The principal of that name with the scopes, tools and rate of a document; raises SettingsError.

    `source` says where the document comes from, for the sentence of the error.
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise SettingsError(
            f"{source} has the name {quoted(name)}: use up to 128 ASCII characters without blanks"
        )
    own = _patterns(document["tools"], f"'{name}' in {source}") if "tools" in document else None
    named = _words(document.get("scopes", ()), f"the scopes of '{name}' in {source}")
    try:
        rate = parse_rate(document["rate"]) if "rate" in document else None
    except SettingsError as error:
        raise SettingsError(f"the rate of '{name}' in {source}: {error}") from None
    if own is None and scopes.tools and "scopes" in document and not named:
        own = frozenset()  # an empty list opens nothing, like an empty list of tools
    return Principal.of_token(name, named, scopes.allowlist(named, own), rate)


def _patterns(given: object, whose: str) -> frozenset[str]:
    patterns = _words(given, f"the tools of {whose}")
    for pattern in patterns:
        if not _PATTERN.fullmatch(pattern):
            raise SettingsError(
                f"{quoted(pattern)} among the tools of {whose} is no tool and no pattern such as 'list_*'"
            )
    return patterns


def _words(given: object, what: str) -> frozenset[str]:
    if not isinstance(given, (list, tuple, set, frozenset)) or len(given) > _MOST:
        raise SettingsError(f"{what} are {quoted(given)}: write a list of up to {_MOST} texts")
    for word in given:
        if not isinstance(word, str) or not _NAME.fullmatch(word):
            raise SettingsError(f"{what} have {quoted(word)}: use texts of up to 128 ASCII characters")
    return frozenset(given)
