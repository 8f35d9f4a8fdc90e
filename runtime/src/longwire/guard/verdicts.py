"""What is found out about the sender of a request, besides who it is: why not, or why not yet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from longwire.principals.principal import Principal


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
