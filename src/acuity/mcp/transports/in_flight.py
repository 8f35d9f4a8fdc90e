"""Requests that wait for their answer on one connection, so that no two of them have the same id.

The SDK keeps them in a table by id, where a second one takes the first one's place: it could neither be
cancelled nor told apart from the other any more.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import anyio
from mcp.shared.dispatcher import coerce_request_id
from mcp.shared.message import MessageMetadata, ServerMessageMetadata, SessionMessage
from mcp_types import INVALID_REQUEST, JSONRPCRequest, RequestId

from acuity.mcp.transports.messages import Message, Refused


class InFlight:
    """The ids of one connection's or session's unanswered requests. 7 and "7" are one id, as in the SDK."""

    def __init__(self) -> None:
        self._ids: set[RequestId] = set()
        self._ended = anyio.Event()

    def __len__(self) -> int:
        return len(self._ids)

    def __contains__(self, request_id: object) -> bool:
        return (
            bool(self._ids)
            and isinstance(request_id, int | str)
            and coerce_request_id(request_id) in self._ids
        )

    def begin(self, request_id: RequestId) -> None:
        """Note a request; Refused if one with its id is still unanswered.

        That error carries no id: under this one the first request's own answer is still due.
        """
        key = coerce_request_id(request_id)
        if key in self._ids:
            raise Refused(INVALID_REQUEST, f"a request with the id {request_id!r} is still in flight")
        self._ids.add(key)

    def end(self, request_id: RequestId) -> None:
        """Note that it was answered, or never will be."""
        self._ids.discard(coerce_request_id(request_id))
        self._ended.set()

    def noted(self, message: Message, metadata: MessageMetadata = None) -> SessionMessage:
        """A message for the server, begun if it is a request; raises Refused."""
        if not isinstance(message, JSONRPCRequest):
            return SessionMessage(message, metadata)
        self.begin(message.id)
        given = metadata if isinstance(metadata, ServerMessageMetadata) else ServerMessageMetadata()
        # A cancelled request is never answered, so its end has to be told otherwise.
        return SessionMessage(
            message, replace(given, on_request_unanswered=partial(self._unanswered, message.id))
        )

    async def _unanswered(self, request_id: RequestId) -> None:
        self.end(request_id)

    async def fewer_than(self, number: int) -> None:
        """Wait until fewer than that are unanswered."""
        while len(self._ids) >= number:
            if self._ended.is_set():
                self._ended = anyio.Event()
            await self._ended.wait()
