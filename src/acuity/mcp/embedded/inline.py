"""The reply to a POST that belongs to no stream: one JSON document, or events where the client takes them."""

from __future__ import annotations

from typing import Any

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.lowlevel import Server
from mcp_types import JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from acuity.mcp.embedded.agreed import Agreed
from acuity.mcp.embedded.events import HEADERS, EventStream
from acuity.mcp.embedded.exchange import exchange
from acuity.mcp.embedded.front_limits import FrontLimits
from acuity.mcp.embedded.quick import QuickAnswers
from acuity.mcp.limits import CONNECTION
from acuity.mcp.wire.http_body import checked_message
from acuity.mcp.wire.messages import encode

_ENDLESS = "subscriptions/listen"  # has nothing but events for an answer


class InlineReplies:
    """An application for POSTs whose body was checked."""

    def __init__(
        self, server: Server[Any], quick: QuickAnswers, limits: FrontLimits, lifespan_state: Any
    ) -> None:
        self._server = server
        self._quick = quick
        self._limits = limits
        self._lifespan_state = lifespan_state

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        message = checked_message(scope)
        if not isinstance(message, JSONRPCRequest):
            await Response(status_code=202)(scope, receive, send)  # there is nothing it could be about
            return
        quick = self._quick.answer(message, Agreed())
        if quick is not None:
            await Response(quick, media_type="application/json")(scope, receive, send)
            return
        client = scope.get("client") or ("local", 0)
        CONNECTION.set(f"post:{client[0]}:{client[1]}")
        takes_events = "text/event-stream" in Headers(scope=scope).get("accept", "")
        told, first = anyio.create_memory_object_stream[JSONRPCNotification](self._limits.events)
        answers: list[JSONRPCResponse | JSONRPCError] = []

        async def work(told: MemoryObjectSendStream[JSONRPCNotification]) -> None:
            with told:
                tell = told.send if takes_events or message.method == _ENDLESS else None
                answers.append(await exchange(self._server, message, self._lifespan_state, tell))

        with first:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(work, told)
                tasks.start_soon(_watch, receive, tasks.cancel_scope)
                try:
                    begun = await first.receive()
                except anyio.EndOfStream:
                    reply = Response(encode(answers[0]), media_type="application/json")
                    await reply(scope, receive, send)
                else:
                    await self._events(begun, first, answers, send)
                tasks.cancel_scope.cancel()

    async def _events(
        self,
        begun: JSONRPCNotification,
        more: MemoryObjectReceiveStream[JSONRPCNotification],
        answers: list[JSONRPCResponse | JSONRPCError],
        send: Send,
    ) -> None:
        stream = EventStream(self._limits.events)

        async def pass_on() -> None:
            await stream.add(encode(begun))
            async for notification in more:
                await stream.add(encode(notification))
            await stream.add(encode(answers[0]))
            stream.end()

        await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(pass_on)
            await stream.write(send, self._limits.heartbeat)
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _watch(receive: Receive, scope: anyio.CancelScope) -> None:
    """Who has gone needs no answer."""
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()
