"""Holds principals to their lists of resources, prompts and methods; tools are offered by `offered_tools.py`.

What a list leaves out is answered as if it weren't there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from mcp.server.context import CallNext, HandlerResult, ServerMiddleware, ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, METHOD_NOT_FOUND
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from longwire.principals.principal import PRINCIPAL, Kind, Principal
from longwire.text import quoted, shortened

_NO_RESOURCE: Final = -32002  # of an unknown resource, at versions with a handshake
_HANDSHAKE: Final = frozenset(HANDSHAKE_PROTOCOL_VERSIONS)
_FREE: Final = frozenset({"initialize", "ping", "server/discover"})  # what every client needs
# Methods about one thing: its kind, and the parameter that names it.
_ABOUT: Final[dict[str, tuple[Kind, str]]] = {
    "resources/read": ("resources", "uri"),
    "resources/subscribe": ("resources", "uri"),
    "resources/unsubscribe": ("resources", "uri"),
    "prompts/get": ("prompts", "name"),
}
# Methods that list: the kind, the member of the result, and what names an entry.
_LISTS: Final[dict[str, tuple[Kind, str, str]]] = {
    "resources/list": ("resources", "resources", "uri"),
    "resources/templates/list": ("resources", "resourceTemplates", "uriTemplate"),
    "prompts/list": ("prompts", "prompts", "name"),
}
_LONGEST: Final = 500  # characters of an unknown name in its error


class Allowlists(ServerMiddleware[Any]):
    """Middleware that refuses what the principal's lists leave out, and takes it out of lists."""

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        principal = PRINCIPAL.get()
        if (
            principal is None
            or principal.resources is principal.prompts is principal.methods is None
            or ctx.request_id is None
            or ctx.method in _FREE
        ):
            return await call_next(ctx)
        if not principal.may_use("methods", ctx.method):
            raise MCPError(METHOD_NOT_FOUND, "Method not found", ctx.method)
        for kind, name in _named(ctx.method, ctx.params or {}):
            if not principal.may_use(kind, name):
                raise _unknown(kind, name, ctx.protocol_version)
        result = await call_next(ctx)
        listing = _LISTS.get(ctx.method)
        if listing is None or not isinstance(result, Mapping) or getattr(principal, listing[0]) is None:
            return result
        return left(dict(result), principal, *listing)


def _named(method: str, params: Mapping[str, Any]) -> Iterator[tuple[Kind, str]]:
    """The kinds and names of the things that a request is about."""
    if method in _ABOUT:
        kind, parameter = _ABOUT[method]
        yield kind, str(params.get(parameter))
    elif method == "completion/complete" and isinstance(about := params.get("ref"), Mapping):
        if "uri" in about:
            yield "resources", str(about["uri"])
        else:
            yield "prompts", str(about.get("name"))
    elif method == "subscriptions/listen" and isinstance(wanted := params.get("notifications"), Mapping):
        uris = wanted.get("resourceSubscriptions")
        for uri in uris if isinstance(uris, list) else ():
            yield "resources", str(uri)


def _unknown(kind: Kind, name: str, version: str) -> MCPError:
    if kind == "prompts":
        short = quoted(shortened(name, _LONGEST))
        return MCPError(INVALID_PARAMS, f"unknown prompt {short}: 'prompts/list' has those there are")
    return no_resource(name, version)


def no_resource(uri: str, version: str) -> MCPError:
    """The error for an unknown resource."""
    short = shortened(uri, _LONGEST)
    code = _NO_RESOURCE if version in _HANDSHAKE else INVALID_PARAMS
    return MCPError(code, f"no such resource: {short}", {"uri": short})


def left(result: dict[str, Any], principal: Principal, kind: Kind, member: str, name: str) -> dict[str, Any]:
    """A list, changed in place to one without what the principal may not use."""
    entries = result.get(member)
    if isinstance(entries, list):
        result[member] = [
            entry
            for entry in entries
            if isinstance(entry, Mapping) and principal.may_use(kind, str(entry.get(name)))
        ]
        if "cacheScope" in result:
            result["cacheScope"] = "private"  # another principal may see others
    return result
