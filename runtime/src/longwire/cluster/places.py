"""Which node has a session, and how it comes to another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from longwire.errors import LongwireError
from longwire.sessions.session import Session


class ClusterUnavailable(LongwireError):
    """Redis doesn't answer; the sentence is for clients. What this node has itself goes on."""


@dataclass(frozen=True, slots=True)
class Place:
    """A node that has a session, or had it."""

    node: str  # its label
    incarnation: str  # of its process: a node that was restarted is another
    address: str  # http://HOST:PORT of its port for other nodes
    alive: bool


class Ownership(Protocol):
    """Knows the owners of sessions. Every method answers within 2 s or raises ClusterUnavailable."""

    async def find(self, session_id: str) -> Place | None:
        """Who has a session, this node included; None: there is no such session."""
        ...

    async def take_over(self, session_id: str, found: Place) -> Session | None:
        """Continue a session here whose owner is dead or released it; None: another was faster, or it ended.

        Waits for the owner's lease to end if it has not yet, at most 2 s.
        """
        ...

    async def release_all(self) -> None:
        """Give up all sessions of this node, so that others continue them at once; called when it stops."""
        ...
