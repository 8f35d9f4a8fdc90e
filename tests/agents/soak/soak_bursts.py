"""Bursts of a soak: much in one call, much for many sessions at once, and thousands of streams that come back
while both nodes are restarted. All of it comes, once, in order.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from contextlib import AsyncExitStack, aclosing
from pathlib import Path

import anyio
import anyio.to_thread
import httpx2

from raw_http import RawSession, call, events, http_client
from soak_clients import Tally, begun, session_of
from soak_ground import Ground

NOTES = 10_000  # notifications of one call
SESSIONS = 1_000  # that are announced to at once
STREAMS = 2_000  # that are open while both nodes are restarted
_OF_A_CLIENT = 100  # streams
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
        async with http_client(patient=True, Authorization=f"Bearer {ground.tokens['soak']}") as http:
            await _one_call(await _begun(url, http, tally), notes, tally)
            await _many_sessions(url, http, sessions, tally)


async def rolled(tally: Tally, streams: int = STREAMS) -> None:
    """Restart both nodes, one after the other, behind nginx: clients come back when they are told to."""
    with tempfile.TemporaryDirectory(prefix="soak-") as folder, Ground(Path(folder), ttl=_TTL) as ground:
        token = f"Bearer {ground.tokens['soak']}"
        async with AsyncExitStack() as stack:
            sessions: list[RawSession] = []
            while len(sessions) < streams:  # a client with thousands of connections is slow itself
                http = await stack.enter_async_context(http_client(patient=True, Authorization=token))
                sessions += [await _begun(ground.url, http, tally) for _ in range(_OF_A_CLIENT)]
            heard = Counter[str]()  # announcements, by session
            async with anyio.create_task_group() as tasks:
                for session in sessions:
                    tasks.start_soon(_keep_listening, session, heard, tally)
                for number, node in enumerate(ground.nodes, 1):
                    await _announced(sessions, heard, number, tally)
                    await anyio.to_thread.run_sync(node.roll)
                await _announced(sessions, heard, len(ground.nodes) + 1, tally)
                tasks.cancel_scope.cancel()


async def _announced(sessions: list[RawSession], heard: Counter[str], number: int, tally: Tally) -> None:
    """Tell all sessions something, and wait until each has heard it, and nothing twice."""
    await sessions[0].post(call(number, "announce", text=str(number)))
    with anyio.move_on_after(_PATIENCE):
        while any(heard[session_of(session, whole=True)] < number for session in sessions):
            await anyio.sleep(0.2)
    for session in sessions:
        if (many := heard[session_of(session, whole=True)]) != number:
            tally.fault(
                "lost" if many < number else "doubled", f"{many} of {number} of {session_of(session)}"
            )


async def _keep_listening(session: RawSession, heard: Counter[str], tally: Tally) -> None:
    """Read a session's GET stream for ever, from where it was; whatever isn't a stream is a fault."""
    headers, wait = {**session.headers, "Accept": "text/event-stream"}, 0.0
    while True:
        try:
            async with (
                session.http.stream("GET", session.url, headers=headers, timeout=_PATIENCE) as got,
                aclosing(events(got)) as found,
            ):
                tally.note("streams")
                if got.status_code != 200:
                    tally.fault("wrong_answer", f"{got.status_code} to a GET of {session_of(session)}")
                async for event in found:
                    headers |= {"Last-Event-ID": event.id} if event.id else {}
                    wait = int(event.retry) / 1000 if event.retry else wait
                    heard[session_of(session, whole=True)] += bool(event.message)
        except httpx2.TransportError:
            tally.note("streams_cut")
        await anyio.sleep(wait)


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
