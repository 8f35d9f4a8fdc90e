"""What a client and the server have agreed on over one connection."""

from __future__ import annotations

from mcp_types.version import LATEST_HANDSHAKE_VERSION

from acuity.mcp.embedded.budget import POSTS


class Agreed:
    """How requests without an envelope are to be understood on a connection."""

    def __init__(self, version: str = LATEST_HANDSHAKE_VERSION, client: str = POSTS) -> None:
        self.version = version  # of the handshake; who shakes no hands is served at the latest one
        self.client = client  # whose account answers go to
        self.shaking = 0  # handshakes under way: until they are over it isn't known what holds
