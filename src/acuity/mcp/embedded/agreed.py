"""What a client and the server have agreed on over one connection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp_types.version import LATEST_HANDSHAKE_VERSION

from acuity.mcp.embedded.budget import POSTS
from acuity.mcp.embedded.questions import Question


class Agreed:
    """How requests without an envelope are to be understood on a connection, and what was checked already."""

    def __init__(self, version: str = LATEST_HANDSHAKE_VERSION, client: str = POSTS) -> None:
        self.version = version  # of the handshake; who shakes no hands is served at the latest one
        self.client = client  # whose account answers go to
        self.shaking = 0  # handshakes under way: until they are over it isn't known what holds
        self.envelope: Mapping[str, Any] | None = None  # the last one that was found to be right
        self.questions: list[Question] = []  # that were found to be right, and may come again
