"""Calls of tools that another OAuth scope would open: the client is told which, so that it can ask for it."""

from __future__ import annotations

from typing import Final

from mcp_types import INVALID_REQUEST

from longwire.guard.access import Access
from longwire.wire.http.request import Request, Responder
from longwire.wire.messages import Message, PlainRequest
from longwire.wire.replies import refuse

_CALL: Final = "tools/call"


def lacks_scope(
    access: Access,
    request: Request,
    responder: Responder,
    message: PlainRequest | Message,
    *,
    stateless: bool,
) -> bool:
    """Refuse a call for want of a scope; whether it was refused.

    A client of 2026-07-28 adds the scopes that it has itself. An older one asks for those in the answer
    alone, so they are repeated for it.
    """
    oauth = access.oauth
    if oauth is None or not isinstance(message, PlainRequest) or message.method != _CALL:
        return False
    tool = (message.params or {}).get("name")
    scope = oauth.missing_scope(request.principal, tool) if isinstance(tool, str) else None
    if scope is None:
        return False
    scopes = [scope] if stateless else [*oauth.granted_scopes(request.principal), scope]
    access.refused["scope"] += 1
    reason = f"the token lacks the scope '{scope}', which this call takes"
    challenge = oauth.challenge("insufficient_scope", reason, scopes)
    headers = ((b"www-authenticate", challenge),)
    refuse(responder, 403, INVALID_REQUEST, reason, message.id, headers=headers)
    return True
