"""The two ends of the bridge between a measuring thread and the thread that serves clients.

    McpSide.submit() ── command ──► MeasuringSide, at the next frame boundary
           ▲                              │
           └────────── answer ────────────┘

Neither takes a lock that the other holds, and neither waits for the other, but who submitted for its answer.
Reading needs no command: state.py reads what the measuring thread published, and the measurement itself.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
import math
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from acuity._native import PAYLOAD_BYTES, Bridge
from acuity.errors import AcuityError, ClosedError, CommandQueueFull, EmbeddedError
from acuity.mcp.embedded.commands import BY_KIND, Document, Luggage, Reply, encode, find
from acuity.text import one_line

if TYPE_CHECKING:
    from acuity.mcp.embedded.models import ModelLoader
    from acuity.measure import BoundarySnapshot, Measurement

logger: Final = logging.getLogger(__name__)

_PATIENCE: Final = 0.05  # seconds until a pause that the host ended by itself is noticed


class MeasuringSide:
    """Listens at the frame boundary: publishes how many frames are done, and carries out commands.

    Everything here runs on the thread that feeds; `began` and `paused_for` may be read by any.
    """

    def __init__(
        self,
        measurement: Measurement,
        native: Bridge,
        luggage: Luggage,
        *,
        most: int,
        on_end: Callable[[], None],
    ) -> None:
        """`most` commands are carried out at one boundary; `on_end` is told when no more frames come."""
        self.began = math.nan  # time.monotonic() at the first boundary
        self.paused_for = 0.0  # seconds
        self._measurement = measurement
        self._native = native
        self._luggage = luggage
        self._most = most
        self._on_end = on_end
        self._pausing = False  # because a command said so
        boundary = measurement.boundary
        self._undo = [
            boundary.on_frame(self._at_boundary),
            boundary.on_pause(self._wait),
            boundary.on_end(self._end),
        ]

    def detach(self) -> None:
        """Leave the measurement alone, and let it go on if a client paused it; any thread may call this."""
        for undo in self._undo:
            undo()
        if self._pausing:
            self._pausing = False
            self._measurement.resume()

    def _at_boundary(self, at: BoundarySnapshot) -> None:
        try:
            if self._native.publish(at.frames_done):
                self._drain()
        except ClosedError:  # the server stopped just now, or this is a forked child
            self.detach()
        if self.began != self.began:  # NaN: this is the first
            self.began = time.monotonic()

    def _wait(self) -> None:
        """While paused: sleep without Python's lock until there is a command, and carry it out."""
        try:
            since = time.monotonic()
            self._native.wait(_PATIENCE)
            self.paused_for += time.monotonic() - since
            self._at_boundary(self._measurement.snapshot())
        except ClosedError:
            self.detach()

    def _end(self, at: BoundarySnapshot) -> None:
        try:
            self._native.publish(at.frames_done)
            self._native.interrupt()  # the feeding thread, if another one closed the measurement meanwhile
        except ClosedError:
            return
        self._on_end()

    def _drain(self) -> None:
        for _ in range(self._most):
            envelope = self._native.take()
            if envelope is None:
                return
            self._native.answer(envelope[0], *self._carry_out(*envelope))

    def _carry_out(self, ticket: int, kind: int, payload: bytes) -> tuple[Reply, bytes]:
        command = BY_KIND[kind]
        try:
            model = self._luggage.models.pop(ticket, None)
            result = command.run(self._measurement, json.loads(payload), model)
        except AcuityError as error:
            return Reply.REFUSED, _clipped(str(error))
        except Exception:  # a fault of ours must not end somebody's measurement
            logger.exception("command '%s' failed", command.name)
            return Reply.REFUSED, _clipped(
                f"'{command.name}' failed in a way it should not; the log says more"
            )
        if command.name in ("pause", "resume"):
            self._pausing = command.name == "pause"
        text = encode(result)
        if len(text) <= PAYLOAD_BYTES:
            return Reply.RESULT, text
        self._luggage.results[ticket] = result
        return Reply.LUGGAGE, b""


class McpSide:
    """Sends commands and waits for their answers. Everything here but ended() runs on the server's thread."""

    def __init__(self, native: Bridge, luggage: Luggage, models: ModelLoader) -> None:
        self._native = native
        self._luggage = luggage
        self._models = models
        self._tickets = itertools.count(1)
        self._pending: dict[int, asyncio.Future[Document]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._descriptor = -1
        self._refusal: str | None = None  # why no command can be sent any more

    # ---- for tools --------------------------------------------------------------------------

    async def submit(self, command: str, argument: Mapping[str, Any] | None = None) -> Document:
        """Have a command of commands.py carried out at the next frame boundary, and return its result.

        Raises CommandQueueFull at once if too many are under way, and EmbeddedError if the measurement
        refused it or is over. A caller that is cancelled doesn't take its command back.
        """
        found = find(command)
        wanted = dict(argument or {})
        self._check()
        model = await self._models.load(str(wanted.pop("model", ""))) if found.names_model else None
        self._check()
        payload = encode(wanted)
        if len(payload) > PAYLOAD_BYTES:
            raise EmbeddedError(f"the argument of '{command}' is too long: use shorter names")
        ticket = next(self._tickets)
        if model is not None:
            self._luggage.models[ticket] = model
        if not self._native.send(ticket, found.kind, payload):
            self._luggage.models.pop(ticket, None)
            depth = self._native.depth
            raise CommandQueueFull(
                f"{depth} commands are waiting, which is the most: try again after the next frame boundary"
            )
        answer: asyncio.Future[Document] = asyncio.get_running_loop().create_future()
        self._pending[ticket] = answer
        try:
            return await answer
        finally:
            self._pending.pop(ticket, None)

    @property
    def over(self) -> bool:
        """Whether no more commands are taken."""
        return self._refusal is not None

    # ---- for the server ---------------------------------------------------------------------

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        """Watch for answers on this loop, which is the running one."""
        self._loop = loop
        self._descriptor = self._native.fileno()
        loop.add_reader(self._descriptor, self._collect)

    def ended(self) -> None:
        """No more frames come; any thread may say so."""
        assert self._loop is not None
        with suppress(RuntimeError):  # where the loop has ended before
            self._loop.call_soon_threadsafe(
                self._end, "the measurement is over, so it can't be steered any more"
            )

    def detach(self) -> None:
        """The server stops: whoever waits is told so."""
        if self._loop is not None:
            self._loop.remove_reader(self._descriptor)
        self._end("the server is stopping, so the measurement can't be steered any more")

    def _check(self) -> None:
        if self._refusal is not None:
            raise EmbeddedError(self._refusal)

    def _end(self, why: str) -> None:
        if self._refusal is not None:
            return
        if not self._native.closed:
            self._collect()  # what was answered is answered
        self._refusal = why
        for answer in self._pending.values():
            if not answer.done():
                answer.set_exception(EmbeddedError(why))
        self._luggage.models.clear()

    def _collect(self) -> None:
        for ticket, kind, payload in self._native.replies():
            luggage = self._luggage.results.pop(ticket, None)
            answer = self._pending.pop(ticket, None)
            if answer is None or answer.done():
                continue  # who asked has gone
            if kind == Reply.REFUSED:
                answer.set_exception(EmbeddedError(payload.decode()))
            else:
                answer.set_result(luggage if luggage is not None else json.loads(payload))


def _clipped(sentence: str) -> bytes:
    """As much of a sentence as a slot holds."""
    return one_line(sentence).encode()[:PAYLOAD_BYTES].decode(errors="ignore").encode()
