"""One connection of the runtime to a worker: frames in, and frames out once for each turn of the loop."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from itertools import count
from typing import Any, Final, cast

from longwire.contract import envelopes, writing
from longwire.contract.envelopes import CONTRACT, NotifyOutcome, RuntimeHello
from longwire.contract.frames import FrameError
from longwire.contract.reading import from_runtime
from longwire.worker.call_exchange import CallsConnection
from longwire.worker.service import Service

logger: Final = logging.getLogger(__name__)

_ROOM: Final = 1 << 20  # unsent bytes beyond which handlers that send notifications have to wait
_ENDLESS: Final = frozenset({"subscriptions/listen"})  # end with their client
_ANSWER_SECONDS: Final = 5.0  # for the outcome of a notification
_HELLO_SECONDS: Final = 5.0  # until a connection that says nothing is closed


class RuntimeLink(CallsConnection):
    """The worker's end of a connection.

    Replies are bounded by the number of calls that the worker takes; handlers that send more than the runtime
    reads wait for it.
    """

    def __init__(self, service: Service, on_lost: Callable[[RuntimeLink], None]) -> None:
        super().__init__()
        self._service = service
        self._on_lost = on_lost
        self.greeted = False
        self.cluster: str | None = None  # a name for the nodes that the runtime is one of
        self._notifies: dict[str, asyncio.Future[NotifyOutcome | None]] = {}  # by id, not answered yet
        self._names = count(1)
        self._timer: asyncio.TimerHandle | None = None

    @property
    def is_answering(self) -> bool:
        """Whether a call runs that ends by itself."""
        return any(call.method not in _ENDLESS for call in self.calls.values())

    # ---- sending ----------------------------------------------------------------------------

    async def notify(self, session_id: str | None, payload: bytes) -> NotifyOutcome | None:
        """Send a notification outside of a call; None: there was no answer, as from older runtimes."""
        name = f"n{next(self._names)}"
        answer: asyncio.Future[NotifyOutcome | None] = self._loop.create_future()
        self._notifies[name] = answer
        try:
            self.write(writing.notify(session_id, [payload], name))
            async with asyncio.timeout(_ANSWER_SECONDS):
                await self.room()
                return await answer
        except TimeoutError:
            return None
        finally:
            del self._notifies[name]

    def close(self) -> None:
        """Write what is unsent, and end the connection."""
        if self._transport is not None:
            self._flush()
            self._transport.close()
            self._transport = None  # nothing more is written

    # ---- for the event loop -----------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        cast("asyncio.Transport", transport).set_write_buffer_limits(high=_ROOM)
        self._timer = self._loop.call_later(_HELLO_SECONDS, self._not_greeted)

    def data_received(self, data: bytes) -> None:
        try:
            for envelope in [from_runtime(text) for text in self._decoder.texts(data)]:
                self._received(envelope)
        except FrameError as error:
            logger.warning("the runtime sent %s: its connection is closed", error)
            self._abort()

    def connection_lost(self, _: Exception | None) -> None:
        self._transport = None
        if self._timer is not None:
            self._timer.cancel()
        self.resume_writing()
        for answer in self._notifies.values():
            if not answer.done():
                answer.set_result(None)
        for exchange in list(self.calls.values()):
            exchange.cancel()
        self._on_lost(self)

    def _abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()
            self._transport = None

    def _not_greeted(self) -> None:
        if not self.greeted:
            logger.warning("a connection without a 'hello' is closed after %g s", _HELLO_SECONDS)
            self._abort()

    # ---- events -----------------------------------------------------------------------------

    def _received(self, envelope: Any) -> None:
        if self._transport is None:
            return
        if not self.greeted and type(envelope) is not RuntimeHello:
            raise FrameError("something else before its 'hello'")
        _EVENTS[type(envelope)](self, envelope)

    def _hello(self, hello: RuntimeHello) -> None:
        if hello.contract != CONTRACT:
            raise FrameError(f"a 'hello' of contract {hello.contract}, and this worker knows {CONTRACT}")
        self.greeted = True
        cluster = hello.runtime.get("cluster")
        self.cluster = cluster if isinstance(cluster, str) else None
        self.write(writing.envelope(envelopes.WorkerHello(CONTRACT, *self._service.introduction)))

    def _message(self, envelope: envelopes.Message) -> None:
        try:
            self._service.message(envelope, self)
        except Exception:  # an envelope with unforeseen contents
            logger.exception("call %s could not be begun", envelope.id)
            self.calls.pop(envelope.id, None)
            sentence = "the call could not be begun; the worker's log says more"
            self.write(writing.envelope(envelopes.Failure(envelope.id, sentence, "worker_runtime_error")))

    def _cancel(self, envelope: envelopes.Cancel) -> None:
        exchange = self.calls.get(envelope.id)
        if exchange is not None:
            exchange.cancel()

    def _notified(self, envelope: envelopes.Notified) -> None:
        answer = self._notifies.get(envelope.id)
        if answer is not None and not answer.done():
            answer.set_result(cast("NotifyOutcome", envelope.outcome))


_EVENTS: Final[Mapping[type, Callable[[RuntimeLink, Any], object]]] = {
    RuntimeHello: RuntimeLink._hello,
    envelopes.Message: RuntimeLink._message,
    envelopes.Response: lambda link, told: link._service.response(told, link),
    envelopes.Cancel: RuntimeLink._cancel,
    envelopes.SessionEnd: lambda link, told: link._service.session_end(told.session_id, link),
    envelopes.Notified: RuntimeLink._notified,
    envelopes.Ping: lambda link, told: link.write(writing.envelope(envelopes.Pong(told.id))),
    envelopes.Drain: lambda link, told: None,  # the runtime closes the connection itself when all is answered
    envelopes.Unknown: lambda link, told: None,
}
