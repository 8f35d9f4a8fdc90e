"""Adds messages to sessions, no faster than the store and the clients take them.

A tool that sends more than that waits, here or in its worker, whose socket is not read meanwhile. The wait is
bounded: then a call fails, and messages of no call make room for others, by the rules of the log.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeAlias

from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR

from longwire.sessions.event_log import EventLog
from longwire.sessions.session import Session
from longwire.sessions.streams import Stream

_Register: TypeAlias = Callable[[Callable[[], None]], object]
_SLICE: Final = 100  # sessions that are told before others have a turn
TOO_MUCH: Final = "the call has sent more messages than its client takes, and was ended"
_STORE: Final = (
    "the call has sent more messages than the session store took within {:g} s, and was ended: "
    "send fewer, or use a faster store"
)


class Overrun(MCPError):
    """A call has sent more messages than its client or the store takes; the sentence is for its client."""

    def __init__(self, sentence: str) -> None:
        super().__init__(INTERNAL_ERROR, sentence)


async def send(log: EventLog, stream: Stream, payload: bytes, patience: float) -> None:
    """Add a notification to the stream of a call; raises Overrun after so many seconds."""
    if log.is_behind(stream, len(payload)):
        end = asyncio.get_running_loop().time() + patience
        while log.is_behind(stream, len(payload)):
            if not await _before(end, log.when_changed):
                raise Overrun(_STORE.format(patience) if log.awaits_store(stream) else TOO_MUCH)
    if stream.has_gaps:
        raise Overrun(TOO_MUCH)
    stream.add(payload, "notification")


async def tell(
    sessions: Iterable[Session], payloads: Sequence[bytes], patience: float, number: int | None = None
) -> None:
    """Give sessions notifications of no call. The store may hold them up for so many seconds.

    A client that doesn't read holds up nobody: its oldest messages are dropped. Sessions that were given the
    notifications of that number already, perhaps at another node, are passed over.
    """
    loop = asyncio.get_running_loop()
    end = loop.time() + patience
    for count, session in enumerate(sessions, 1):
        if number is not None and session.notified >= number:
            continue
        journal = session.home.journal
        for payload in payloads:
            while (journal.is_behind or session.log.is_storing) and await _before(end, journal.when_stored):
                pass
            if session.ended is not None:
                break
            session.notify([payload])
            if session.log.is_crowded:
                await _before(end, loop.call_soon)  # what clients take is written in between
        if number is not None:
            session.note_notified(number)
        if count % _SLICE == 0:
            await _before(end, loop.call_soon)


def call_within(patience: float, register: _Register, callback: Callable[[], None]) -> None:
    """Have a function called once: as the callback that is registered, or after so many seconds."""
    is_open = True

    def call() -> None:
        nonlocal is_open
        timer.cancel()
        if is_open:
            is_open = False
            callback()

    timer = asyncio.get_running_loop().call_later(patience, call)
    register(call)


async def _before(end: float, register: _Register) -> bool:
    """Wait for a callback, or until `end` by the loop's clock; False: that is over already."""
    loop = asyncio.get_running_loop()
    if loop.time() >= end:
        return False
    told = asyncio.Event()
    call_within(end - loop.time(), register, told.set)
    await told.wait()
    return True
