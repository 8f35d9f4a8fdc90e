"""A call that came in an envelope: what its handler sends becomes `messages`, its answer the `result`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final, Literal

from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import NoBackChannelError
from mcp.shared.message import CloseSSEStreamCallback
from mcp_types import ErrorData

from longwire.contract import writing
from longwire.contract.envelopes import CloseStream, Failure
from longwire.contract.frames import FrameConnection, FrameError
from longwire.dispatch.exchange import CANCELLED, Exchange
from longwire.wire.http.request import HeaderList, Request
from longwire.wire.mcp_headers import can_resume
from longwire.wire.messages import PlainRequest
from longwire.wire.replies import notification_payload
from longwire.worker.worker_sessions import WorkerSession

_INITIALIZE: Final = "initialize"


class CallsConnection(FrameConnection):
    """A connection to the runtime, with the calls that came on it and run."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: dict[str, CallExchange] = {}


class CallExchange(Exchange):
    """A call. If it belongs to a session, its client can be asked."""

    __slots__ = ("_sink", "call_id", "can_send_request", "method", "session")

    def __init__(
        self,
        call_id: str,
        message: PlainRequest,
        request: Request,
        sink: CallsConnection,
        session: WorkerSession | None = None,
    ) -> None:
        super().__init__(message, request)
        self.call_id = call_id
        self.method = message.method
        self.session = session
        self.can_send_request = session is not None
        self._sink = sink
        sink.calls[call_id] = self
        if session is not None:
            session.calls += 1

    # ---- for the SDK ------------------------------------------------------------------------

    async def notify(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> None:
        # Nothing can be sent to a client before its handshake is answered.
        if not self.is_over and self._reason is None and self.method != _INITIALIZE:
            self._sink.write(writing.messages(self.call_id, [notification_payload(method, params)]))
            await self._sink.room()

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> dict[str, Any]:
        if self.is_over or self._reason is not None or self.session is None:
            raise NoBackChannelError(method)
        return await self.session.requests.ask(self._send, method, params, opts, call=self)

    def _send(self, payload: bytes, _: object) -> None:
        if self._reason is None:
            self._sink.write(writing.messages(self.call_id, [payload]))

    @property
    def close_sse_stream(self) -> CloseSSEStreamCallback | None:
        return partial(self._close, "call") if self._can_come_back else None

    @property
    def close_standalone_sse_stream(self) -> CloseSSEStreamCallback | None:
        return partial(self._close, "get") if self._can_come_back else None

    @property
    def _can_come_back(self) -> bool:
        return self.session is not None and can_resume(self.session.connection.protocol_version)

    async def _close(self, stream: Literal["call", "get"]) -> None:
        self._sink.write(writing.envelope(CloseStream(self.call_id, stream)))

    # ---- its end ----------------------------------------------------------------------------

    def cancel(self, reason: str = CANCELLED) -> None:
        super().cancel(reason)
        if self.task is None and not self.is_over:
            self.end()

    def cancelled(self) -> None:
        if self.is_over:
            return
        self.end()
        if self._reason is None:  # its task was cancelled by somebody else
            self._sink.write(
                writing.envelope(Failure(self.call_id, "the call was cancelled", "worker_runtime_error"))
            )

    def end(self) -> None:
        if self.session is not None:
            self.session.requests.end_call(self)
            self.session.calls -= 1
        super().end()
        self._sink.calls.pop(self.call_id, None)

    def _answer(self, payload: bytes, status: int, headers: HeaderList) -> None:
        changes = self.session.changes() if self.session is not None else None
        try:
            frame = writing.result(self.call_id, payload, session=changes)
        except FrameError as error:
            frame = writing.envelope(Failure(self.call_id, f"the answer is {error}", "app_contract_error"))
        self._sink.write(frame)

    def _status(self, error: ErrorData) -> int:
        return 200  # the runtime has its own rules
