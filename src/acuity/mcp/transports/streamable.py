"""Streamable HTTP at /mcp: sessions for clients that shake hands, single exchanges for those that don't."""

from __future__ import annotations

from typing import Any, Final

from mcp.server.lowlevel import Server
from starlette.types import ASGIApp

from acuity.mcp.settings import Settings
from acuity.mcp.transports.http_app import HttpApp, Lifespan
from acuity.mcp.transports.http_body import CheckedBody
from acuity.mcp.transports.security import Guarded, HttpSecurity
from acuity.mcp.transports.sessions import Sessions

PATH: Final = "/mcp"


def streamable_app(server: Server[Any], settings: Settings, *, security: HttpSecurity) -> ASGIApp:
    """An application with nothing else, for any ASGI server that runs lifespans."""
    return Guarded(HttpApp(*streamable_paths(server, settings)), security)


def streamable_paths(server: Server[Any], settings: Settings) -> tuple[dict[str, ASGIApp], Lifespan]:
    """The endpoint, and what has to be entered while it is served."""
    sessions = Sessions(
        server,
        most=settings.connections,
        most_each=settings.connections_each,
        idle_timeout=settings.idle_timeout,
        body=settings.body,
    )
    return {PATH: CheckedBody(sessions.serve, settings.body)}, sessions.run
