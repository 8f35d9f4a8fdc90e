"""The HTTP application of one port: paths, methods, and bodies that are read whole and checked first."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Final, TypeAlias

from mcp_types import INVALID_REQUEST
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.types import Message as AsgiMessage

from acuity.mcp.wire.messages import Message, Refused, encode, parse

# A context to be entered while an application is served.
Lifespan: TypeAlias = Callable[[], AbstractAsyncContextManager[None]]

_MESSAGE: Final = "acuity.message"  # in an ASGI scope


class HttpApp:
    """Hands each request to the application of its path; the lifespan is entered by the ASGI server."""

    def __init__(self, paths: Mapping[str, ASGIApp], lifespan: Lifespan = nullcontext) -> None:
        self._paths = paths
        self._lifespan = lifespan

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        app = self._paths.get(scope["path"])
        if app is None:
            text = f"there is nothing here: use {' or '.join(self._paths)}"
            app = PlainTextResponse(text, status_code=404)
        await app(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        async with self._lifespan():
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})


class Methods:
    """An application for these methods only."""

    def __init__(self, app: ASGIApp, methods: Collection[str]) -> None:
        self._app = app
        self._methods = methods

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] in self._methods:
            await self._app(scope, receive, send)
            return
        allowed = ", ".join(self._methods)
        refused = PlainTextResponse(f"use {allowed}", status_code=405, headers={"Allow": allowed})
        await refused(scope, receive, send)


class CheckedBody:
    """An application that is only given POSTs whose body is one JSON-RPC message of bearable size."""

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self._app = app
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        try:
            body = await self._read(scope, receive)
            if body is None:  # the client went away
                return
            scope[_MESSAGE] = parse(body)
        except _TooLarge as refused:
            await refusal(refused, 413, close=True)(scope, receive, send)
        except Refused as refused:
            await refusal(refused)(scope, receive, send)
        else:
            try:
                await self._app(scope, _replayed(body, receive), send)
            finally:
                # The connection holds its last scope, and cancelled tasks hold theirs for a while.
                scope.pop(_MESSAGE, None)

    async def _read(self, scope: Scope, receive: Receive) -> bytes | None:
        declared = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
        if declared.isdigit() and int(declared) > self._limit:
            raise _TooLarge(self._limit)
        body = bytearray()
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            body += message.get("body", b"")
            if len(body) > self._limit:
                raise _TooLarge(self._limit)
            if not message.get("more_body", False):
                return bytes(body)


class _TooLarge(Refused):
    def __init__(self, limit: int) -> None:
        super().__init__(INVALID_REQUEST, f"the message is longer than {limit} bytes")


def checked_message(scope: Scope) -> Message:
    """The message in the body of a request that came through here."""
    message: Message = scope[_MESSAGE]
    return message


def refusal(refused: Refused, status: int = 400, *, close: bool = False) -> Response:
    """The error as an HTTP answer; one that comes before the request has ended closes the connection."""
    headers = {"Connection": "close"} if close else {}
    return Response(encode(refused.answer()), status, headers, "application/json")


def _replayed(body: bytes, receive: Receive) -> Receive:
    """The body once more, and then whatever else comes: that the client went away."""
    kept: bytes | None = body

    async def again() -> AsgiMessage:
        nonlocal kept
        if kept is None:
            return await receive()
        given, kept = kept, None  # a pending receive() must not keep the body in memory
        return {"type": "http.request", "body": given, "more_body": False}

    return again
