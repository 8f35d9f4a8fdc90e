"""Principals: who sends a request, and what that principal may do."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Final, NamedTuple

from acuity.mcp.rates import Rate

_TOKEN: Final = "token:"


@dataclass(frozen=True, slots=True)
class Principal:
    """The sender of a request: the name that its token proves, or else its address.

    `key` is what quotas, rate limits, sessions and jobs are held to.
    """

    key: str  # token:NAME or address:HOST
    scopes: frozenset[str] = frozenset()
    tools: frozenset[str] | None = None  # names and patterns of those that it may list and call; None: all
    rate: Rate | None = None  # its own, in place of the server's
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

    def may_call(self, tool: str) -> bool:
        return self.tools is None or any(fnmatchcase(tool, pattern) for pattern in self.tools)


class Holders(NamedTuple):
    """Those who hold tokens: whole principals by key, and single tokens by proof."""

    keys: frozenset[str] = frozenset()
    proofs: frozenset[bytes] = frozenset()

    def include(self, principal: Principal) -> bool:
        return principal.key in self.keys or principal.proof in self.proofs


# Set for each admitted HTTP request and everything that it starts; None on other transports.
PRINCIPAL: Final[ContextVar[Principal | None]] = ContextVar("acuity_principal", default=None)
