"""Which node has a session, and the error of those who can't find out."""

from __future__ import annotations

from dataclasses import dataclass

from longwire.errors import LongwireError


class ClusterUnavailable(LongwireError):
    """Redis doesn't answer; the sentence is for clients. What this node has itself goes on."""


class DamagedKey(ClusterUnavailable):
    """What Redis has is not what a node wrote."""


@dataclass(frozen=True, slots=True)
class Place:
    """A node that has a session, or had it."""

    node: str  # its label
    incarnation: str  # of its process: a node that was restarted is another
    address: str  # http://HOST:PORT of its port for other nodes
    alive: bool
