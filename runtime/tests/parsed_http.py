"""What the parser of requests makes of bytes, as plain values that can be compared."""

from __future__ import annotations

from collections.abc import Iterable

from longwire.settings import WireLimits
from longwire.wire.http.head import Head, RefusedRequest
from longwire.wire.http.parser import RequestParser
from longwire.wire.http.request import Request

Plain = tuple[object, ...]


def events_of(pieces: Iterable[bytes], limits: WireLimits) -> list[Plain]:
    """The events that pieces of input give, in order."""
    parser = RequestParser(limits)
    found = []
    for piece in pieces:
        parser.receive(piece)
        while (event := parser.next_event()) is not None:
            found.append(plain(event))
    return found


def plain(event: Head | Request | RefusedRequest) -> Plain:
    """An event as a tuple."""
    if isinstance(event, RefusedRequest):
        return ("bad", event.status, event.sentence)
    if isinstance(event, Head):
        return ("head", event.version, event.length, event.keep_alive, event.expects_continue)
    return (
        "request",
        event.method,
        event.path,
        event.query,
        tuple(event.headers.items()),
        tuple(sorted(event.repeated)),
        event.body,
    )
