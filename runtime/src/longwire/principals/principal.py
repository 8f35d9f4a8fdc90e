"""Principals: who sends a request, and what that principal may do."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Final, Literal, NamedTuple, TypeAlias

from longwire.principals.rates import Rate

_TOKEN: Final = "token:"
_UNSEEN: Final = str.maketrans("", "", "\t\r\n")  # what readers of URIs leave out
# Percent signs may be encoded too, any number of times.
_DOT_SEGMENT: Final = re.compile(
    r"(?:^|[/\\:]|%(?:25)*(?:2f|5c))(?:\.|%(?:25)*2e){1,2}(?:$|[/\\?#;]|%(?:25)*(?:2f|5c|3f|23|3b))",
    re.IGNORECASE,
)

Kind: TypeAlias = Literal["tools", "resources", "prompts", "methods"]  # of which a principal may have a list
KINDS: Final[tuple[Kind, ...]] = ("tools", "resources", "prompts", "methods")


@dataclass(frozen=True, slots=True)
class Principal:
    """The sender of a request: the name that its token proves, or else its address.

    `key` is what quotas, rate limits, sessions and jobs are held to.
    """

    key: str  # token:NAME or address:HOST
    scopes: frozenset[str] = frozenset()
    tools: frozenset[str] | None = None  # names and patterns of those that it may list and call; None: all
    rate: Rate | None = None  # its own, in place of the server's
    resources: frozenset[str] | None = None  # the same of URIs that it may list and read
    prompts: frozenset[str] | None = None
    methods: frozenset[str] | None = None  # of the protocol, and of extensions
    proof: bytes | None = field(default=None, repr=False, compare=False)  # stands for the token it came with
    has_token: bool = field(init=False, repr=False, compare=False)  # whether a token proved who this is

    def __post_init__(self) -> None:
        object.__setattr__(self, "has_token", self.key.startswith(_TOKEN))

    @classmethod
    def of_token(
        cls,
        name: str,
        scopes: frozenset[str] = frozenset(),
        tools: frozenset[str] | None = None,
        rate: Rate | None = None,
    ) -> Principal:
        return cls(f"{_TOKEN}{name}", scopes, tools, rate)

    @classmethod
    def of_address(cls, host: str) -> Principal:
        return cls(f"address:{host}")

    def limited_to(self, lists: Mapping[Kind, frozenset[str] | None]) -> Principal:
        """The same with these lists."""
        tools, resources, prompts, methods = (lists.get(kind) for kind in KINDS)
        return replace(self, tools=tools, resources=resources, prompts=prompts, methods=methods)

    @property
    def lists(self) -> Mapping[Kind, frozenset[str] | None]:
        """The lists of names that it may list and use, by kind; None: all."""
        return {kind: getattr(self, kind) for kind in KINDS}

    def may_use(self, kind: Kind, name: str) -> bool:
        allowed: frozenset[str] | None = getattr(self, kind)
        if allowed is None:
            return True
        if kind == "resources" and _DOT_SEGMENT.search(name.translate(_UNSEEN).strip()):
            return False  # some reader takes a part for '.' or '..', and finds what the patterns don't say
        return any(fnmatchcase(name, pattern) for pattern in allowed)

    def may_call(self, tool: str) -> bool:
        return self.may_use("tools", tool)


class Holders(NamedTuple):
    """Holders of tokens: whole principals by key, and single tokens by proof."""

    keys: frozenset[str] = frozenset()
    proofs: frozenset[bytes] = frozenset()

    def include(self, principal: Principal) -> bool:
        return principal.key in self.keys or principal.proof in self.proofs


# Set for each admitted HTTP request and everything that it starts; None on other transports.
PRINCIPAL: Final[ContextVar[Principal | None]] = ContextVar("longwire_principal", default=None)
