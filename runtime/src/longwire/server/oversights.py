"""What an operator has probably overlooked: names that no tool has, tokens that can't work, open files.

None of it keeps a server from starting. Each is one sentence, for the log and for `--check`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any, Final

from longwire.guard.grants import NO_SCOPES, Scopes
from longwire.guard.tokens import TokenFile, Tokens, TokenStore
from longwire.principals.principal import Kind, Principal
from longwire.text import quoted

# The method without which a list of that kind has no effect.
_USED_BY: Final[Mapping[Kind, str]] = {
    "tools": "tools/call",
    "resources": "resources/read",
    "prompts": "prompts/get",
}


@dataclass(frozen=True, slots=True)
class Named:
    """What the settings say about tools and scopes by name."""

    rates: Mapping[str, Any] = field(default_factory=dict)  # by tool or pattern
    scopes: Scopes = NO_SCOPES
    tokens: TokenStore = field(default_factory=Tokens)

    def __bool__(self) -> bool:
        """Whether any tool is named."""
        return bool(self.rates or self.scopes.tools or any(one.tools for one in self._granted().values()))

    def oversights(self, tools: Collection[str] | None) -> Iterator[str]:
        """A sentence for each name that is none of the tools, or none of the scopes.

        None: nobody knows the tools yet, as those of foreign workers.
        """
        yield from _unmatched(self.rates, tools, "[limits.tools]")
        for scope, patterns in self.scopes.tools.items():
            yield from _unmatched(patterns, tools, f"the scope '{scope}' of [auth.scopes]")
        yield from self.of_tokens(tools)

    def of_tokens(self, tools: Collection[str] | None) -> Iterator[str]:
        """Those of the tokens alone, which change when their file is read again."""
        opened = frozenset[str]().union(*self.scopes.tools.values())
        for name, principal in self._granted().items():
            yield from _unmatched((principal.tools or frozenset()) - opened, tools, f"the tokens of '{name}'")
            for scope in sorted(principal.scopes - self.scopes.tools.keys()):
                near = _near(scope, self.scopes.tools)
                yield f"the tokens of '{name}' have the scope {quoted(scope)}, which opens no tool{near}"
            for kind, method in _USED_BY.items():
                if principal.lists[kind] and not principal.may_use("methods", method):
                    yield f"the tokens of '{name}' have {kind}, but no method '{method}' to use them"
        if isinstance(self.tokens, TokenFile):
            yield from self.tokens.oversights()

    def _granted(self) -> Mapping[str, Principal]:
        return self.tokens.granted if isinstance(self.tokens, (Tokens, TokenFile)) else {}


def _unmatched(patterns: Iterable[str], tools: Collection[str] | None, where: str) -> Iterator[str]:
    if tools is None:
        return
    for pattern in sorted(patterns):
        if not any(fnmatchcase(tool, pattern) for tool in tools):
            yield f"no tool matches {quoted(pattern)} in {where}{_near(pattern, tools)}"


def _near(name: str, known: Iterable[str]) -> str:
    near = get_close_matches(name, list(known), 1)
    return f": did you mean '{near[0]}'?" if near else ""
