"""The fields of an envelope that say where a call comes from: session, headers, principal, client.

Clients send the same again and again, so what was written once is kept for a while.
"""

from __future__ import annotations

import marshal
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from mcp_types import CLIENT_CAPABILITIES_META_KEY, CLIENT_INFO_META_KEY
from opentelemetry.trace import get_current_span

from longwire.contract import writing
from longwire.principals.principal import Principal
from longwire.wire.http.request import REQUEST_ID, Request

if TYPE_CHECKING:
    from longwire.sessions.session import Session

# The headers that workers see, and those that begin so; any other may hold a secret of a proxy or a client.
_SHOWN: Final = frozenset((
    "accept", "accept-language", "baggage", "content-type", "last-event-id", "mcp-method", "mcp-name",
    "mcp-protocol-version", "origin", "user-agent",
))  # fmt: skip
_OWN: Final = b'"%b":"%%b"}' % REQUEST_ID.encode()  # ids need no escapes
_TRACE: Final = ("traceparent", "tracestate")
_SHOWN_PARAMETERS: Final = "mcp-param-"
_MOST: Final = 2048  # members that are kept
_LONGEST: Final = 4096  # bytes of those that are kept


class Members:
    """Makes these fields."""

    def __init__(self) -> None:
        self._kept: dict[tuple[Any, ...], bytes] = {}

    def of_session(self, request: Request, session: Session) -> bytes:
        """The fields of a call in a session."""
        hello, state = session.client, session.state
        client = {"info": hello.get("clientInfo"), "capabilities": hello.get("capabilities") or {}}
        told = {"state": state, "initialized": session.initialized}
        key = None if state else (session.id, session.initialized)
        return self._members(request, key, session.version, client, session.id, told)

    def of_single(self, request: Request, version: str, params: Mapping[str, Any] | None) -> bytes:
        """The fields of a call without a session; its `_meta` may say which client it is."""
        meta = params.get("_meta") if params is not None else None
        info = capabilities = None
        if type(meta) is dict:
            info, capabilities = meta.get(CLIENT_INFO_META_KEY), meta.get(CLIENT_CAPABILITIES_META_KEY)
        client = None if capabilities is None else {"info": info, "capabilities": capabilities}
        return self._members(request, (version, marshal.dumps((info, capabilities), 2)), version, client)

    def _members(
        self,
        request: Request,
        about: tuple[Any, ...] | None,
        version: str,
        client: Mapping[str, Any] | None,
        session_id: str | None = None,
        session: Mapping[str, Any] | None = None,
    ) -> bytes:
        """The fields, made or kept; `about` tells those of a session or client apart, None: they change."""
        headers, principal = request.headers, request.principal
        shown = tuple([name for name in headers if name in _SHOWN or name.startswith(_SHOWN_PARAMETERS)])
        who = principal.key, principal.scopes, principal.tools
        key = (about, request.path, who, shown, *map(headers.get, shown))
        found = None if about is None else self._kept.get(key)
        if found is None:
            found = writing.circumstances(
                session_id=session_id,
                protocol_version=version,
                headers={name: headers[name] for name in shown},
                principal=_principal(principal),
                client=client,
                session=session,
                path=request.path,
            )
            if about is not None and len(found) <= _LONGEST:
                if len(self._kept) >= _MOST:
                    self._kept.clear()
                self._kept[key] = found
        return _with_own(found, request)


def span_headers() -> dict[str, str]:
    """Headers that make the present span the parent of a worker's spans; empty: nothing is traced."""
    span = get_current_span().get_span_context()
    if not span.is_valid:
        return {}
    found = {"traceparent": f"00-{span.trace_id:032x}-{span.span_id:016x}-{span.trace_flags:02x}"}
    return {**found, "tracestate": span.trace_state.to_header()} if span.trace_state else found


def _with_own(members: bytes, request: Request) -> bytes:
    """The members with the headers of this call alone, which are not kept."""
    given, traces = request.headers, span_headers() if request.spanned else {}
    if not traces:
        traces = {name: given[name] for name in _TRACE if name in given}
    own = _OWN % request.id.encode()
    if traces:
        own = b"%b,%b" % (writing.json_text(traces)[1:-1], own)
    return writing.with_headers(members, own)


def _principal(principal: Principal) -> dict[str, Any]:
    tools = None if principal.tools is None else sorted(principal.tools)
    return {"key": principal.key, "scopes": sorted(principal.scopes), "tools": tools}
