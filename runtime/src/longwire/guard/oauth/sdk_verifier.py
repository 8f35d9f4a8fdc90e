"""Lets any TokenVerifier of the SDK check the tokens of this server, such as one that asks for each token."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Final

from mcp.server.auth.provider import AccessToken, TokenVerifier

from longwire.guard.grants import Rejected, Undecided
from longwire.guard.oauth.jwt_verifier import Verifier

logger: Final = logging.getLogger(__name__)

_UNKNOWN: Final = Rejected("the token is unknown or has expired")
_FAILED: Final = Undecided("the token can't be checked now: try again later", word="keys")


class SdkVerifier(Verifier):
    """Asks the verifier about each token. Its answer is remembered for some seconds."""

    def __init__(
        self,
        verifier: TokenVerifier,
        *,
        resource: str | None = None,
        remembered: float = 5.0,
        timeout: float = 5.0,
        wall: Callable[[], float] = time.time,
    ) -> None:
        """With a `resource`, only tokens that the verifier says are for it are accepted."""
        self._verifier = verifier
        self._resource = resource
        self._remembered = remembered
        self._timeout = timeout
        self._wall = wall

    def lasts(self, access: AccessToken) -> float:
        end = self._wall() + self._remembered
        return end if access.expires_at is None else min(end, access.expires_at)

    async def decide(self, token: str) -> AccessToken | Rejected | Undecided:
        try:
            async with asyncio.timeout(self._timeout):
                found = await self._verifier.verify_token(token)
        except Exception as error:  # without its text, which may repeat the token
            fields = {"event": "oauth_verifier"}
            logger.error("the token verifier failed: %s", type(error).__name__, extra=fields)
            return _FAILED
        if found is None or (found.expires_at is not None and found.expires_at <= self._wall()):
            return _UNKNOWN
        if self._resource is not None and found.resource != self._resource:
            return Rejected("the token is for another audience")
        return found
