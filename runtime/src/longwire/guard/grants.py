"""The rights of a named principal, from a token file or an auth hook; and verdicts that refuse a sender."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from longwire.errors import SettingsError
from longwire.principals.principal import KINDS, Kind, Principal
from longwire.principals.rates import parse_rate
from longwire.text import quoted


@dataclass(frozen=True, slots=True)
class Undecided:
    """Nobody could say who it is; the client may ask again after so many seconds."""

    reason: str
    retry_after: int = 1
    word: str = "hook"  # for counters


@dataclass(frozen=True, slots=True)
class Rejected:
    """The token is no good."""

    reason: str  # a sentence for the client and the log, with nothing of the token in it
    authentic: bool = False  # its issuer did sign it, so it is no guess


Verdict: TypeAlias = Principal | Undecided | Rejected | None  # None: somebody unknown


GRANTS: Final = ("scopes", *KINDS, "rate")  # the keys that this module reads
_NAME: Final = re.compile(r"[!-~]{1,128}")
_PATTERN: Final = re.compile(r"[A-Za-z0-9_./*?\[\]!-]{1,128}")
_MOST: Final = 1000  # scopes, or tools, of one principal
# How the entries of a scope begin that are about other things than tools: resource:x://open/*
_PREFIXES: Final[dict[str, Kind]] = {"resource": "resources", "prompt": "prompts", "method": "methods"}
# The protocol's own methods, for principals that have a list of tools and no list of methods.
_PROTOCOL: Final = frozenset(
    f"{group}/*"
    for group in ("tools", "resources", "prompts", "completion", "logging", "subscriptions", "tasks")
)


@dataclass(slots=True, eq=False)
class Scopes:
    """The tools and so on that each scope opens, if any. Changes when the configuration is read again."""

    tools: Mapping[str, frozenset[str]] = field(default_factory=dict)  # by scope
    others: Mapping[Kind, Mapping[str, frozenset[str]]] = field(default_factory=dict)  # those that have any
    # Whether a principal with a list of tools may use only what is named of the other kinds too, and the
    # protocol's own methods: the resources of a foreign program may be anything.
    strict: bool = False

    @classmethod
    def parse(cls, document: object, *, strict: bool = False) -> Scopes:
        """Parse a table of scopes, such as `score = ["vmaf_score*"]`; raises SettingsError."""
        if not isinstance(document, Mapping):
            raise SettingsError(f"the scopes {quoted(document)} are no table: write SCOPE = [TOOLS] for each")
        found: dict[Kind, dict[str, frozenset[str]]] = {kind: {} for kind in KINDS}
        for name, entries in document.items():
            sorted_out: dict[Kind, list[str]] = {"tools": []}
            for entry in _words(entries, f"the tools of the scope '{name}'"):
                prefix, colon, rest = entry.partition(":")
                kind: Kind = _PREFIXES.get(prefix, "tools") if colon else "tools"
                sorted_out.setdefault(kind, []).append(entry if kind == "tools" else rest)
            for kind, patterns in sorted_out.items():
                found[kind][name] = _patterns(patterns, kind, f"the scope '{name}'")
        return cls(found.pop("tools"), {kind: table for kind, table in found.items() if table}, strict)

    def become(self, other: Scopes) -> None:
        """Take over the tables of another one, for all who hold this object."""
        self.tools, self.others, self.strict = other.tools, other.others, other.strict

    def allowlists(
        self, scopes: frozenset[str], own: Mapping[Kind, frozenset[str] | None]
    ) -> dict[Kind, frozenset[str] | None]:
        """A principal's lists by kind: its own entries and those that its scopes open; None for all.

        Scopes limit a principal as soon as any scope has entries of a kind. Scopes without any add none.
        """
        found = {kind: self._allowlist(kind, scopes, own.get(kind)) for kind in KINDS}
        if self.strict and found["tools"] is not None:
            for kind in KINDS:
                if found[kind] is None:
                    found[kind] = _PROTOCOL if kind == "methods" else frozenset()
        return found

    def _allowlist(
        self, kind: Kind, scopes: frozenset[str], own: frozenset[str] | None
    ) -> frozenset[str] | None:
        table = self.tools if kind == "tools" else self.others.get(kind, {})
        if own is None and not (scopes and table):
            return None
        opened = (own or frozenset()).union(*(table.get(scope, frozenset()) for scope in scopes))
        # A scope opens methods besides the protocol's own, without which no other list means anything.
        return opened | _PROTOCOL if kind == "methods" and own is None else opened


NO_SCOPES: Final = Scopes()


def granted(name: object, document: Mapping[str, Any], scopes: Scopes, source: str) -> Principal:
    """The principal of that name with the scopes, lists and rate of a document; raises SettingsError.

    `source` says where the document comes from, for the sentence of the error.
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise SettingsError(
            f"{source} has the name {quoted(name)}: use up to 128 ASCII characters without blanks"
        )
    whose = f"'{name}' in {source}"
    own = {kind: _patterns(document[kind], kind, whose) if kind in document else None for kind in KINDS}
    named = _words(document.get("scopes", ()), f"the scopes of '{name}' in {source}")
    try:
        rate = parse_rate(document["rate"]) if "rate" in document else None
    except SettingsError as error:
        raise SettingsError(f"the rate of '{name}' in {source}: {error}") from None
    if own["tools"] is None and scopes.tools and "scopes" in document and not named:
        own["tools"] = frozenset()  # an empty list opens nothing, like an empty list of tools
    return Principal.of_token(name, named, rate=rate).limited_to(scopes.allowlists(named, own))


def _patterns(given: object, kind: Kind, whose: str) -> frozenset[str]:
    patterns = _words(given, f"the {kind} of {whose}")
    for pattern in patterns:
        if kind == "tools" and not _PATTERN.fullmatch(pattern):
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
