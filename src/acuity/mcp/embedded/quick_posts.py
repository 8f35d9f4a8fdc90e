"""POSTs that are answered as soon as their bytes are there, without a task, a parser or an application.

A client that asks the same again sends the same head again. One that was read and checked before is known
by its bytes; what is left to do is to answer the body. Everything else takes the usual way.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import h11
from starlette.datastructures import Headers

from acuity.mcp.embedded.agreed import Agreed
from acuity.mcp.embedded.cors import allowing
from acuity.mcp.embedded.front_limits import FrontLimits
from acuity.mcp.embedded.presence import Presence
from acuity.mcp.wire.http_protocol import HalfOpen, protocol_with
from acuity.mcp.wire.security import HttpSecurity

_HEADS: Final = 256  # that are remembered
_LONGEST_HEAD: Final = 8192
# What makes a request's end, or its answer's, a matter for the parser.
_UNUSUAL: Final = frozenset({"transfer-encoding", "expect", "upgrade", "connection", "trailer"})
_USUAL_CONNECTION: Final = "keep-alive"
_OK: Final = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n%b\r\n%b"
_ACCEPTED: Final = b"HTTP/1.1 202 Accepted\r\ncontent-type: text/plain\r\ncontent-length: 8\r\n%b\r\nAccepted"

# The answer to a body; b"" if it is given elsewhere; None if it takes the usual way.
Answer: TypeAlias = Callable[[bytes, Agreed], bytes | None]
# Says what answers POSTs with that target and those headers, or None where nothing does quickly.
QuickRoute: TypeAlias = Callable[[str, Headers], Answer | None]


@dataclass(frozen=True, slots=True)
class Head:
    """The head of a request that may be answered quickly."""

    size: int  # of the head
    length: int  # of the body
    answer: Answer
    headers: bytes  # to be added to the answer


class QuickPosts:
    """The heads that are known, for all connections of an endpoint."""

    def __init__(self, route: QuickRoute, security: HttpSecurity, most: int) -> None:
        self._route = route
        self._security = security
        self._most = most  # bytes of a body
        self._heads: dict[bytes, Head | None] = {}

    def head(self, data: bytes) -> Head | None:
        """What begins with these bytes, if it may be answered quickly."""
        if not data.startswith(b"POST "):
            return None
        end = data.find(b"\r\n\r\n", 0, _LONGEST_HEAD) + 4
        if end < 4:
            return None
        text = data[:end]
        if text not in self._heads:
            if len(self._heads) >= _HEADS:
                self._heads.clear()
            self._heads[text] = self._read(text)
        return self._heads[text]

    def _read(self, text: bytes) -> Head | None:
        parser = h11.Connection(h11.SERVER)
        parser.receive_data(text)
        try:
            request = parser.next_event()
        except h11.RemoteProtocolError:
            return None
        if not isinstance(request, h11.Request) or request.http_version != b"1.1":
            return None
        headers = Headers(raw=list(request.headers))
        names = set(headers.keys())
        if headers.get("connection", "").lower() == _USUAL_CONNECTION:
            names.discard("connection")
        length, origin = headers.get("content-length", ""), headers.get("origin")
        if names & _UNUSUAL or not length.isdigit() or not 0 < int(length) <= self._most:
            return None
        if any(len(headers.getlist(name)) > 1 for name in ("origin", "authorization")):
            return None
        if not self._security.knows_host(headers.get("host")):
            return None
        if not self._security.knows_origin(origin, headers.get("host")):
            return None
        tokens = self._security.tokens
        if tokens and tokens.principal(headers.get("authorization")) is None:
            return None
        answer = self._route(request.target.decode("latin-1"), headers)
        if answer is None:
            return None
        added = b"" if origin is None else b"".join(b"%b: %b\r\n" % pair for pair in allowing(origin))
        return Head(len(text), int(length), answer, added)


def quick_protocol(
    posts: QuickPosts, presence: Presence, half_open: HalfOpen, limits: FrontLimits
) -> type[asyncio.Protocol]:
    """The class of connections that look for such POSTs first."""
    base = protocol_with(half_open, limits.write_timeout, limits.read_timeout)

    class Quick(base):  # type: ignore[misc, valid-type]  # a class made at run time
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            self._agreed = Agreed()
            self._used = 0.0  # when, by the loop's clock
            self._held = b""  # a known head whose body is still to come

        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(transport)
            presence.came(self)

        def connection_lost(self, exc: Exception | None) -> None:
            presence.left(self)
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            presence.heard(self)
            if self._held:
                data, self._held = self._held + data, b""
            elif not self._idle():
                super().data_received(data)
                return
            while data:
                head = posts.head(data)
                if head is None:
                    break
                if len(data) < head.size + head.length:
                    self._held = data
                    self._request.begin(self.transport)
                    return
                body = data[head.size : head.size + head.length]
                answer = head.answer(body, self._agreed)
                if answer is None:
                    break
                self._reply(answer, head)
                data = data[head.size + head.length :]
            else:
                return
            super().data_received(data)

        def _idle(self) -> bool:
            """Whether the parser waits for the first byte of a request."""
            parser: h11.Connection = self.conn
            return parser.our_state is parser.their_state is h11.IDLE and not parser.trailing_data[0]

        def _reply(self, answer: bytes, head: Head) -> None:
            self.has_head()
            self._request.end()
            self.transport.write_now(
                _OK % (len(answer), head.headers, answer) if answer else _ACCEPTED % head.headers
            )
            self._used = self.loop.time()
            if self.timeout_keep_alive_task is None:
                self._keep_alive(self.timeout_keep_alive)

        def _keep_alive(self, seconds: float) -> None:
            self.timeout_keep_alive_task = self.loop.call_later(seconds, self.timeout_keep_alive_handler)

        def timeout_keep_alive_handler(self) -> None:
            # One timer for all quick answers: setting it anew for each takes longer than to look here.
            rest = self._used + self.timeout_keep_alive - self.loop.time()
            if rest > 0:
                self._keep_alive(rest)
            else:
                super().timeout_keep_alive_handler()

    return Quick
