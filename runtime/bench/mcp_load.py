"""A load of HTTP requests from one thread: many connections, each with one request under way.

The requests are bytes made beforehand and answers are hardly looked into, so that one core of clients keeps
one core of any server busy. Every answer is checked for a text that it must contain.
"""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

# Makes the next request of a connection, by the connection's number.
NextRequest = Callable[[int], bytes]


@dataclass
class Window:
    """What one window of load gave."""

    seconds: float = 0.0
    latencies: list[float] = field(default_factory=list)
    bad: int = 0
    first_bad: bytes = b""

    @property
    def count(self) -> int:
        return len(self.latencies)

    @property
    def rate(self) -> float:
        return self.count / self.seconds if self.seconds else 0.0

    def percentile(self, share: float) -> float:
        ordered = sorted(self.latencies)
        return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else 0.0


class _Connection:
    """One connection: what has arrived of its answer, and when its request was sent."""

    __slots__ = ("arrived", "number", "sent", "socket")

    def __init__(self, number: int, port: int) -> None:
        self.number = number
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.arrived = b""
        self.sent = 0.0


class Load:
    """Open connections to one server, which stay open between windows."""

    def __init__(self, port: int, connections: int) -> None:
        self._all = [_Connection(number, port) for number in range(connections)]
        self._poll = select.epoll()
        self._by_descriptor = {}
        for connection in self._all:
            descriptor = connection.socket.fileno()
            self._by_descriptor[descriptor] = connection
            self._poll.register(descriptor, select.EPOLLIN)

    def run(self, seconds: float, request: NextRequest, contains: bytes) -> Window:
        """Keep every connection busy for so long; then let the last answers come."""
        window = Window()
        begin = time.perf_counter()
        for connection in self._all:
            self._send(connection, request)
        waiting, until = len(self._all), begin + seconds
        while waiting:
            for descriptor, _ in self._poll.poll(30):
                connection = self._by_descriptor[descriptor]
                received = connection.socket.recv(65536)
                if not received:
                    raise ConnectionError(
                        f"the server closed a connection after {connection.arrived[:200]!r}"
                    )
                connection.arrived += received
                if not is_whole(connection.arrived):
                    continue
                now = time.perf_counter()
                window.latencies.append(now - connection.sent)
                if contains not in connection.arrived:
                    window.bad += 1
                    window.first_bad = window.first_bad or connection.arrived[:500]
                if now < until:
                    self._send(connection, request)
                else:
                    waiting -= 1
        window.seconds = time.perf_counter() - begin
        return window

    def each(self, requests: Sequence[bytes]) -> Iterator[bytes]:
        """Send these requests over all connections; yields the answers, in the order of the requests."""
        for first in range(0, len(requests), len(self._all)):
            group = requests[first : first + len(self._all)]
            for connection, text in zip(self._all, group, strict=False):
                connection.arrived = b""
                connection.socket.sendall(text)
            for connection, _ in zip(self._all, group, strict=False):
                while not is_whole(connection.arrived):
                    received = connection.socket.recv(65536)
                    if not received:
                        raise ConnectionError(f"the server closed a connection: {connection.arrived[:300]!r}")
                    connection.arrived += received
                yield connection.arrived

    def close(self) -> None:
        self._poll.close()
        for connection in self._all:
            connection.socket.close()

    def _send(self, connection: _Connection, request: NextRequest) -> None:
        connection.arrived = b""
        text = request(connection.number)
        connection.sent = time.perf_counter()
        connection.socket.sendall(text)


def is_whole(answer: bytes) -> bool:
    """Whether an answer has arrived: by its length, or by its last chunk."""
    head, separator, body = answer.partition(b"\r\n\r\n")
    if not separator:
        return False
    lower = head.lower()
    at = lower.find(b"content-length:")
    if at >= 0:
        return len(body) >= int(lower[at + 15 :].split(b"\r\n", 1)[0])
    if b"transfer-encoding: chunked" in lower:
        return body.endswith(b"0\r\n\r\n")
    return True  # 202 and the like
