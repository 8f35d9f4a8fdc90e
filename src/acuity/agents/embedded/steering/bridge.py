"""The two ends of the bridge between the measuring thread and the server's thread.

    CommandSender.submit() ── command ──► BoundaryListener, at the next frame boundary
             ▲                                   │
             └────────────── reply ──────────────┘

Neither takes a lock that the other holds. The sender waits for the reply, but not for ever; a command whose
sender stopped waiting is withdrawn if it was not begun. Reading needs no command: live/state.py reads what
the measuring thread published, and the measurement itself.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import math
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final

from acuity._native import Bridge
from acuity.agents.embedded.steering.commands import COMMANDS, Client, Command, Document, Handoff, ModelLoader
from acuity.errors import AcuityError, ClosedError, CommandQueueFull, EmbeddedError
from acuity.measure import BoundarySnapshot, Measurement
from acuity.text import one_line

logger: Final = logging.getLogger(__name__)

_LOOK: Final = 0.05  # seconds until a pause that the host or its lease ended is noticed
_TIMEOUT: Final = 5.0  # seconds without a frame boundary after which a command is withdrawn


class BoundaryListener:
    """The measuring thread's end: publishes how many frames are done, and carries out commands.

    Everything here runs on the feeding thread; any thread may read `attached`, `began` and `paused_for`.
    """

    def __init__(
        self,
        measurement: Measurement,
        native: Bridge,
        handoff: Handoff,
        *,
        max_per_frame: int,
        on_end: Callable[[], None],
    ) -> None:
        """`max_per_frame` bounds the commands of one boundary; `on_end` is called after the last frame."""
        self.attached: Final = time.monotonic()
        self.began = math.nan  # time.monotonic() at the first boundary
        self.paused_for = 0.0  # seconds
        self._measurement, self._native, self._handoff = measurement, native, handoff
        self._max_per_frame, self._on_end = max_per_frame, on_end
        self._detached = False
        boundary = measurement.boundary
        self._undo = [
            boundary.on_frame(self._at_boundary),
            boundary.on_pause(self._wait),
            boundary.on_idle(self._idle),
            boundary.on_end(self._end),
        ]

    def detach(self) -> None:
        """Leave the measurement alone, and end the clients' pauses; any thread may call this."""
        self._detached = True
        for undo in self._undo:
            undo()
        self._measurement.gate.release_clients()

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
            self._native.wait(_LOOK)
            self.paused_for += time.monotonic() - since
            self._at_boundary(self._measurement.snapshot())
        except ClosedError:
            self.detach()

    def _idle(self) -> None:
        """While the next pair isn't there: carry out what waits. No frame came, so nothing is published."""
        try:
            if self._native.waiting:
                self._drain()
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
        for _ in range(self._max_per_frame):
            if (taken := self._native.take()) is None:
                return
            ticket = taken[0]
            if (command := self._handoff.commands.pop(ticket, None)) is not None:  # it isn't withdrawn
                self._handoff.replies[ticket] = self._carry_out(command)
            self._native.answer(ticket, 0, b"")

    def _carry_out(self, command: Command) -> Document | EmbeddedError:
        try:
            result = COMMANDS[command.name](self._measurement, command)
        except AcuityError as error:
            return EmbeddedError(one_line(str(error)))
        except Exception:  # a fault of ours must not end somebody's measurement
            logger.exception("command '%s' failed", command.name)
            return EmbeddedError(f"'{command.name}' failed in a way it should not; the log says more")
        if self._detached:  # meanwhile: nobody is left who could end a pause
            self._measurement.gate.release_clients()
        return result


class CommandSender:
    """The server's end: sends commands and waits for replies. All but ended() runs on the server's thread."""

    def __init__(
        self,
        measurement: Measurement,
        native: Bridge,
        handoff: Handoff,
        models: ModelLoader,
        *,
        timeout: float = _TIMEOUT,
    ) -> None:
        """A command is withdrawn when no frame boundary has come for `timeout` seconds."""
        self._measurement, self._timeout, self._native, self._handoff = measurement, timeout, native, handoff
        self._models = models
        self._tickets = itertools.count(1)
        self._pending: dict[int, asyncio.Future[Document]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._descriptor = -1
        self._refusal: str | None = None  # why no command can be sent any more

    # ---- for tools --------------------------------------------------------------------------

    async def submit(
        self, command: str, argument: Mapping[str, Any] | None = None, client: Client | None = None
    ) -> Document:
        """Have a command carried out at the next frame boundary, and return its result.

        Raises CommandQueueFull at once if too many are under way, and EmbeddedError if the measurement
        refused it, is over, or reached no frame boundary for too long. A command that was not begun when its
        caller is cancelled, or gets such an error, is not carried out.
        """
        wanted = dict(argument or {})
        self._check()
        model = await self._models.load(wanted.pop("model")) if "model" in wanted else None
        self._check()
        ticket = next(self._tickets)
        self._handoff.commands[ticket] = Command(command, wanted, client or Client("client"), model)
        if not self._native.send(ticket, 0, b""):
            del self._handoff.commands[ticket]
            depth = self._native.depth
            raise CommandQueueFull(
                f"{depth} commands are waiting, which is the most: try again after the next frame boundary"
            )
        reply: asyncio.Future[Document] = asyncio.get_running_loop().create_future()
        self._pending[ticket] = reply
        try:
            return await self._replied(command, ticket, reply)
        finally:
            self._handoff.commands.pop(ticket, None)
            self._pending.pop(ticket, None)

    async def _replied(self, command: str, ticket: int, reply: asyncio.Future[Document]) -> Document:
        sent = time.monotonic()
        while not reply.done():
            left = max(sent, self._native.status()[1]) + self._timeout - time.monotonic()
            if left <= 0 and self._handoff.commands.pop(ticket, None) is not None:
                raise EmbeddedError(
                    f"no frame boundary came for {self._timeout:g} seconds, so '{command}' was taken back "
                    "and changed nothing: vmaf.status says what the measurement waits for; ask again later, "
                    "or end it with vmaf.stop"
                )
            # Without a limit where it is just being carried out.
            await asyncio.wait([reply], timeout=left if left > 0 else None)
        return reply.result()

    def stop(self) -> Document:
        """Have no more frames read; the measurement need not come to a frame boundary for that."""
        self._check()
        self._measurement.stop()
        self._wake()
        return {"stopped": True, "frames_read": self._measurement.frames}

    def left(self, client: Client) -> None:
        if self._measurement.gate.release(client.key):
            logger.info("the pause of %s ended, as it left", client.name, extra={"event": "pause_ended"})
            self._wake()

    def _wake(self) -> None:
        with suppress(ClosedError):
            self._native.interrupt()

    @property
    def over(self) -> bool:
        return self._refusal is not None

    # ---- for the server ---------------------------------------------------------------------

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        """Watch for replies on this loop, which is the running one."""
        self._loop = loop
        self._descriptor = self._native.fileno()
        loop.add_reader(self._descriptor, self._collect)

    def ended(self) -> None:
        """Refuse commands from now on, as no more frames come; for any thread."""
        assert self._loop is not None
        with suppress(RuntimeError):  # where the loop has ended before
            failure = self._measurement.failure
            how = "is over" if failure is None else f"{failure.state} ({failure.reason})"
            self._loop.call_soon_threadsafe(
                self._end, f"the measurement {how}, so it can't be steered any more"
            )

    def detach(self) -> None:
        """Refuse commands from now on, as the server stops."""
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
            self._collect()  # replies that are there already
        self._refusal = why
        for reply in self._pending.values():
            if not reply.done():
                reply.set_exception(EmbeddedError(why))
        self._handoff.commands.clear()

    def _collect(self) -> None:
        for ticket, _, _ in self._native.replies():
            found = self._handoff.replies.pop(ticket, None)
            reply = self._pending.pop(ticket, None)
            if found is None or reply is None or reply.done():
                continue  # the sender has gone, or withdrew it
            if isinstance(found, EmbeddedError):
                reply.set_exception(found)
            else:
                reply.set_result(found)
