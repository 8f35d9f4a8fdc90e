"""The fields of an envelope that say where a call comes from: session, headers, principal, client."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from mcp_types import CLIENT_CAPABILITIES_META_KEY, CLIENT_INFO_META_KEY

from acuity.mcp.contract import writing
from acuity.mcp.principal import Principal
from acuity.mcp.wire.http.request import Request

if TYPE_CHECKING:
    from acuity.mcp.runtime.sessions.session import Session

# Headers that workers never see: credentials, and those that are about the connection alone.
_LEFT_OUT: Final = frozenset(
    {
        "authorization",
        "cookie",
        "proxy-authorization",
        "connection",
        "content-length",
        "keep-alive",
        "te",
        "transfer-encoding",
        "upgrade",
    }
)
_MOST: Final = 4096  # sessions whose client is remembered


class Members:
    """Makes those fields; what is the same for all calls of a session is made once."""

    def __init__(self) -> None:
        self._clients: dict[str, dict[str, Any]] = {}

    def of_session(self, request: Request, session: Session) -> bytes:
        """Those of a call in a session."""
        client = self._clients.get(session.id)
        if client is None:
            if len(self._clients) >= _MOST:
                self._clients.clear()
            hello = session.client
            client = {"info": hello.get("clientInfo"), "capabilities": hello.get("capabilities") or {}}
            self._clients[session.id] = client
        return writing.circumstances(
            session_id=session.id,
            protocol_version=session.version,
            headers=_headers(request),
            principal=_principal(request.principal),
            client=client,
            session={"state": session.state, "initialized": session.initialized},
            path=request.path,
        )

    def of_single(self, request: Request, version: str, params: Mapping[str, Any] | None) -> bytes:
        """Those of a call without a session; its `_meta` may say which client it is."""
        meta = (params or {}).get("_meta")
        client = None
        if isinstance(meta, Mapping) and CLIENT_CAPABILITIES_META_KEY in meta:
            client = {
                "info": meta.get(CLIENT_INFO_META_KEY),
                "capabilities": meta[CLIENT_CAPABILITIES_META_KEY],
            }
        return writing.circumstances(
            session_id=None,
            protocol_version=version,
            headers=_headers(request),
            principal=_principal(request.principal),
            client=client,
            path=request.path,
        )

    def forget(self, session_id: str) -> None:
        self._clients.pop(session_id, None)


def _headers(request: Request) -> dict[str, str]:
    return {name: value for name, value in request.headers.items() if name not in _LEFT_OUT}


def _principal(principal: Principal) -> dict[str, Any]:
    tools = principal.tools
    return {
        "key": principal.key,
        "scopes": sorted(principal.scopes),
        "tools": None if tools is None else sorted(tools),
    }
