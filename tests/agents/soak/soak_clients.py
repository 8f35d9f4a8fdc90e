"""Clients of a soak: they cut connections, resume and vanish, and count what is lost or comes twice."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from typing import Any

import anyio
import httpx2

from raw_http import Event, RawSession, call, events, modern, open_session

_PATIENCE = 30.0  # seconds that a client tries to come back before it counts as lost
_PAUSE = 0.2  # seconds between two tries
_AGAIN = frozenset({429, 502, 503, 504})  # statuses after which a client should try again
_TALKS = 8  # calls of one session
_STRANGE = 10  # sentences about what went wrong that are kept


class Tally:
    """What all clients have seen together."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.strange: list[str] = []  # what must not happen, the first few of them

    def note(self, what: str, many: int = 1) -> None:
        self.counts[what] += many

    def fault(self, what: str, sentence: str) -> None:
        """Note something that must not happen."""
        self.counts[what] += 1
        if len(self.strange) < _STRANGE:
            self.strange.append(f"{what}: {sentence}")

    @property
    def faults(self) -> dict[str, int]:
        return {what: self.counts[what] for what in FAULTS if self.counts[what]}


FAULTS = ("lost", "doubled", "session_lost", "never_answered", "wrong_answer")


class Gone(Exception):
    """The session was not found, or nobody answered for long."""


class Resumer:
    """A client that keeps its session through everything: cut connections, ended workers, other nodes."""

    def __init__(self, url: str, http: httpx2.AsyncClient, tally: Tally, chance: random.Random) -> None:
        self._url = url
        self._http = http
        self._tally = tally
        self._chance = chance
        self._next = 0

    async def run(self, is_over: Callable[[], bool]) -> None:
        """Begin sessions, use each for a while and delete it."""
        while not is_over():
            session = await begun(self._url, self._http, self._tally, is_over)
            if session is None:
                return
            told: list[int] = []
            heard: list[int] = []
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._listen, session, heard, tasks.cancel_scope)
                for _ in range(_TALKS):
                    if is_over() or tasks.cancel_scope.cancel_called:
                        break
                    if self._chance.random() < 0.3:
                        await self._tell(session, told)
                    else:
                        await self._count(session)
                await self._hear_out(session, told, heard)
                tasks.cancel_scope.cancel()
            await self._delete(session)

    # ---- calls --------------------------------------------------------------------------------------

    async def _count(self, session: RawSession) -> None:
        """Have a tool count aloud, lose the connection now and then, and take each number exactly once."""
        upto = self._chance.randint(5, 60)
        request = call(self._number(), "count", upto=upto)
        request["params"]["_meta"] = {"progressToken": "t"}
        counting = _Counting()
        give_up = anyio.current_time() + _PATIENCE
        while counting.reply is None:
            cut = self._chance.randint(1, upto) if self._chance.random() < 0.5 else upto + 9
            before = len(counting.ids)
            try:
                found = self._events(session, None if counting.last else request, counting.last)
                async with aclosing(found):
                    async for event in found:
                        if not counting.take(event):
                            self._tally.fault("doubled", f"event {event.id} of {session_of(session)}")
                        cut -= 1
                        if cut == 0 or counting.reply is not None:
                            break
            except Gone as gone:
                self._tally.fault("session_lost", f"{gone} at a call of {session_of(session)}")
                return
            except _NotBegun:
                pass
            if not counting.last:  # there is no id to resume by yet
                self._tally.note("calls_not_begun")
                return
            if len(counting.ids) > before:
                give_up = anyio.current_time() + _PATIENCE
            if counting.reply is None:
                self._tally.note("resumed")
                if anyio.current_time() > give_up:
                    self._tally.fault("never_answered", f"call {request['id']} of {session_of(session)}")
                    return
        self._check(counting.numbers, upto, counting.reply, session)

    def _check(self, numbers: list[int], upto: int, reply: dict[str, Any], session: RawSession) -> None:
        self._tally.note("messages", len(numbers) + 1)
        if numbers != sorted(set(numbers)):
            self._tally.fault("doubled", f"numbers {numbers} of {session_of(session)}")
        elif "result" in reply:
            self._tally.note("calls")
            if numbers != list(range(1, upto + 1)):
                self._tally.fault("lost", f"numbers {numbers} of {upto} of {session_of(session)}")
        else:
            self._tally.note("calls_that_died")  # with their worker or node; their numbers end somewhere
            if numbers != list(range(1, len(numbers) + 1)):
                self._tally.fault("lost", f"numbers {numbers} of {session_of(session)}")

    async def _events(
        self, session: RawSession, request: dict[str, Any] | None, last: str
    ) -> AsyncIterator[Event]:
        """The events of a new call, or of one from after the last event; ends when the connection does."""
        headers = {**session.headers, **({"Last-Event-ID": last} if request is None else {})}
        headers["Accept"] = "text/event-stream, application/json"  # events from the first moment
        method = "GET" if request is None else "POST"
        give_up = anyio.current_time() + _PATIENCE
        while True:
            try:
                async with session.http.stream(method, session.url, json=request, headers=headers) as got:
                    if got.status_code == 200:
                        async with aclosing(events(got)) as found:
                            async for event in found:
                                yield event
                        return
                    status = got.status_code
            except httpx2.TransportError:
                if request is not None:
                    raise _NotBegun from None
                status = 0
            if request is not None and status in _AGAIN:
                raise _NotBegun
            if status not in _AGAIN and status != 0:
                raise Gone(f"status {status}")
            if anyio.current_time() > give_up:
                raise Gone(f"no answer but {status or 'refused connections'} for {_PATIENCE:g} s")
            await anyio.sleep(_PAUSE)

    # ---- messages outside of calls ------------------------------------------------------------------

    async def _tell(self, session: RawSession, told: list[int]) -> None:
        """Have a message sent to the session's GET stream."""
        number = self._number()
        try:
            answer = await session.post(call(number, "say", text=str(number)))
        except httpx2.TransportError:
            self._tally.note("calls_not_begun")
            return
        if answer.status_code == 200 and "result" in reply_in(answer):
            told.append(number)
        elif answer.status_code == 404:
            self._tally.fault("session_lost", f"status 404 to a call of {session_of(session)}")
        else:
            self._tally.note("calls_that_died")

    async def _listen(self, session: RawSession, heard: list[int], scope: anyio.CancelScope) -> None:
        """Read the session's GET stream, again and again from where it was."""
        last = ""
        try:
            while True:
                found = self._events(session, None, last)
                async with aclosing(found):
                    async for event in found:
                        last = event.id or last
                        if event.message:
                            heard.append(int(event.message["params"]["data"]))
                            self._tally.note("messages")
                        if self._chance.random() < 0.05:
                            break
                self._tally.note("resumed")
        except Gone as gone:
            self._tally.fault("session_lost", f"{gone} at the GET of {session_of(session)}")
            scope.cancel()

    async def _hear_out(self, session: RawSession, told: list[int], heard: list[int]) -> None:
        """Wait until all that was told has been heard, and check that it was heard once."""
        with anyio.move_on_after(_PATIENCE):
            while not set(told) <= set(heard):
                await anyio.sleep(_PAUSE)
        # A call that died may have told its message all the same.
        if missing := [number for number in told if number not in heard]:
            self._tally.fault("lost", f"messages {missing} of {session_of(session)} on its GET")
        if len(heard) != len(set(heard)):
            self._tally.fault("doubled", f"messages {heard} of {session_of(session)} on its GET")

    async def _delete(self, session: RawSession) -> None:
        give_up = anyio.current_time() + _PATIENCE
        while anyio.current_time() < give_up:
            try:
                answer = await session.http.delete(session.url, headers=session.headers)
            except httpx2.TransportError:
                await anyio.sleep(_PAUSE)
                continue
            if answer.status_code in (200, 404):
                self._tally.note("sessions_deleted")
                return
            await anyio.sleep(_PAUSE)

    def _number(self) -> int:
        self._next += 1
        return self._next


class _NotBegun(Exception):
    """A call was refused, or its connection failed before anything of it was heard."""


class _Counting:
    """What has come of one call."""

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.ids: set[str] = set()
        self.last = ""
        self.reply: dict[str, Any] | None = None

    def take(self, event: Event) -> bool:
        """Note an event; False: it came before."""
        is_new = event.id not in self.ids
        if event.id:
            self.ids.add(event.id)
            self.last = event.id
        message = event.message
        if "method" in message:
            self.numbers.append(int(message["params"]["progress"]))
        elif message:
            self.reply = message
        return is_new


async def vanish(
    url: str, http: httpx2.AsyncClient, tally: Tally, chance: random.Random, is_over: Callable[[], bool]
) -> None:
    """Begin sessions, begin a call or a stream in each, and never come back."""
    while not is_over():
        session = await begun(url, http, tally, is_over)
        if session is None:
            return
        wanted = call(1, "count", upto=50) if chance.random() < 0.5 else None
        method = "GET" if wanted is None else "POST"
        headers = {**session.headers, "Accept": "text/event-stream, application/json"}
        try:
            with anyio.move_on_after(chance.random()):
                async with session.http.stream(method, session.url, json=wanted, headers=headers) as response:
                    async for _ in response.aiter_lines():
                        pass
        except httpx2.TransportError:
            pass
        tally.note("vanished")
        await anyio.sleep(chance.random())


async def echo(
    url: str, http: httpx2.AsyncClient, tally: Tally, chance: random.Random, is_over: Callable[[], bool]
) -> None:
    """Call a tool without a session, again and again, and check each answer."""
    number = 0
    while not is_over():
        number += 1
        text = f"{chance.random()}"
        request, headers = modern(call(number, text=text))
        try:
            answer = await http.post(url, json=request, headers=headers)
        except httpx2.TransportError:
            tally.note("stateless_not_begun")
            await anyio.sleep(_PAUSE)
            continue
        reply = reply_in(answer)
        if answer.status_code == 200 and "result" in reply:
            tally.note("stateless")
            if text not in answer.text:
                tally.fault("wrong_answer", f"{answer.text[:200]} to {text}")
        else:
            tally.note("stateless_refused")
            await anyio.sleep(_PAUSE)
        await anyio.sleep(0.02)


async def begun(
    url: str, http: httpx2.AsyncClient, tally: Tally, is_over: Callable[[], bool]
) -> RawSession | None:
    """A new session, as soon as the servers take one."""
    while not is_over():
        try:
            session = await open_session(url, http)
        except (httpx2.TransportError, AssertionError, KeyError):  # refused, or answered with an error
            tally.note("sessions_not_begun")
            await anyio.sleep(_PAUSE)
            continue
        tally.note("sessions")
        return session
    return None


def session_of(session: RawSession, *, whole: bool = False) -> str:
    """The beginning of a session's id, for sentences, or all of it."""
    return f"session {session.headers['Mcp-Session-Id'][: None if whole else 10]}"


def reply_in(answer: httpx2.Response) -> dict[str, Any]:
    """The reply in an answer of either kind."""
    if answer.headers.get("content-type", "").startswith("application/json"):
        found: dict[str, Any] = answer.json()
        return found
    lines = [line[6:] for line in answer.text.splitlines() if line.startswith("data: {")]
    return dict(json.loads(lines[-1])) if lines else {}
