"""Bursts of a soak: much in one call, and much for many sessions at once. All of it comes, once, in order."""

from __future__ import annotations

import tempfile
from contextlib import aclosing
from pathlib import Path

import anyio
import anyio.to_thread
import httpx2

from raw_http import RawSession, call, events, http_client
from soak_clients import Tally, begun, session_of
from soak_ground import Ground

NOTES = 10_000  # notifications of one call
SESSIONS = 1_000  # that are announced to at once
_ANNOUNCEMENTS = 40  # of 4 kB each
_SIZE = 4_000
_LISTENERS = 200  # sessions that read while they are announced to; the others read later
_AT_ONCE = 20  # requests
_PATIENCE = 300.0  # seconds for all that is to come
_TTL = 1_800.0  # seconds; a GET alone keeps no session


async def bursts(tally: Tally, notes: int = NOTES, sessions: int = SESSIONS) -> None:
    """Send bursts through two nodes of their own, whose sessions last long enough, and count what comes."""
    with tempfile.TemporaryDirectory(prefix="soak-") as folder, Ground(Path(folder), ttl=_TTL) as ground:
        # At one node: its proxy is not what is tried here.
        url = f"http://127.0.0.1:{ground.nodes[0].port}/mcp"
        async with http_client(patient=True, Authorization=f"Bearer {ground.token}") as http:
            await _one_call(await _begun(url, http, tally), notes, tally)
            await _many_sessions(url, http, sessions, tally)


async def _begun(url: str, http: httpx2.AsyncClient, tally: Tally) -> RawSession:
    session = await begun(url, http, tally, lambda: False)
    assert session is not None
    return session


async def _one_call(session: RawSession, notes: int, tally: Tally) -> None:
    numbers: list[int] = []
    replies = 0
    with anyio.move_on_after(_PATIENCE):
        async with session.stream(call(1, "burst", upto=notes)) as found:
            async for event in found:
                if "method" in event.message:
                    numbers.append(int(event.message["params"]["data"]))
                elif event.message:
                    replies += "result" in event.message
    _check("burst_messages", numbers, notes, session, tally)
    if replies != 1:
        tally.fault("never_answered", f"a burst of {session_of(session)}")


async def _many_sessions(url: str, http: httpx2.AsyncClient, many: int, tally: Tally) -> None:
    places = anyio.CapacityLimiter(_AT_ONCE)
    sessions: list[RawSession] = []

    async def begin() -> None:
        async with places:
            sessions.append(await _begun(url, http, tally))

    async def later(session: RawSession) -> None:
        async with places:
            await _listen(session, tally)

    async with anyio.create_task_group() as tasks:
        for _ in range(many):
            tasks.start_soon(begin)
    async with anyio.create_task_group() as tasks:
        for session in sessions[:_LISTENERS]:
            tasks.start_soon(_listen, session, tally)
        for number in range(_ANNOUNCEMENTS):
            await sessions[0].post(call(number, "announce", text=f"{number} {'x' * _SIZE}"))
    async with anyio.create_task_group() as tasks:
        for session in sessions[_LISTENERS:]:
            tasks.start_soon(later, session)


async def _listen(session: RawSession, tally: Tally) -> None:
    """Read a session's GET stream until all announcements have come."""
    numbers: list[int] = []
    with anyio.move_on_after(_PATIENCE):
        headers = {**session.headers, "Accept": "text/event-stream"}
        async with (
            session.http.stream("GET", session.url, headers=headers, timeout=_PATIENCE) as got,
            aclosing(events(got)) as found,
        ):
            async for event in found:
                if event.message:
                    numbers.append(int(event.message["params"]["data"].split()[0]))
                if len(numbers) == _ANNOUNCEMENTS:
                    break
    _check("announced_messages", numbers, _ANNOUNCEMENTS, session, tally)


def _check(what: str, numbers: list[int], many: int, session: RawSession, tally: Tally) -> None:
    tally.note(what, len(numbers))
    if len(numbers) != len(set(numbers)):
        tally.fault("doubled", f"{len(numbers) - len(set(numbers))} {what} of {session_of(session)}")
    elif numbers != list(range(many)):
        tally.fault(
            "lost", f"{many - len(numbers)} of {many} {what} of {session_of(session)}, or their order"
        )
