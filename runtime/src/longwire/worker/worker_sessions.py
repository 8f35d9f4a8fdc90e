"""Sessions as a worker sees them: their state as the runtime sends it, and the SDK's connection of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from mcp.server.connection import Connection
from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import NoBackChannelError
from mcp_types import InitializeRequestParams

from longwire.contract import writing
from longwire.contract.envelopes import Message
from longwire.contract.frames import FrameConnection
from longwire.counters import RuntimeCounters
from longwire.sessions.client_requests import ClientRequests
from longwire.settings import WireLimits
from longwire.wire.replies import notification_payload

_MOST: Final = 16384  # sessions that are remembered; the runtime sends what there is to know with each call
_NOBODY: Final = {"name": "unknown", "version": ""}


class WorkerSession:
    """One session: what handlers see as `request.session`, and what is sent to its client outside of calls.

    The runtime keeps the state and sends it with each message. While calls of the session run here, their
    state is newer. Their changes go back with the next result.
    """

    __slots__ = ("_changed", "_state", "calls", "connection", "id", "requests", "sink")

    def __init__(
        self, message: Message, sink: FrameConnection, limits: WireLimits, counters: RuntimeCounters
    ) -> None:
        client, session_id = message.client or {}, message.session_id
        assert session_id is not None
        capabilities = client.get("capabilities") or {}
        self.id = session_id
        self.sink = sink  # of the runtime that last sent something
        self.requests = ClientRequests(limits, counters, capabilities)
        self.calls = 0  # calls that run now
        self._state: dict[str, Any] = {}
        self._changed = False
        self.connection = Connection(
            self,
            protocol_version=message.protocol_version,
            session_id=session_id,
            client_params=_client(message.protocol_version, client.get("info"), capabilities),
        )

    @property
    def state(self) -> Mapping[str, Any]:
        return self._state

    def set_state(self, name: str, value: Any) -> None:
        """Set a value of JSON; None removes it."""
        self._state = {**self._state, name: value}
        if value is None:
            del self._state[name]
        self._changed = True

    def refresh(self, told: Mapping[str, Any]) -> None:
        """Take over what the runtime says about the session."""
        if not self.calls:
            state = told.get("state")
            self._state, self._changed = (state if isinstance(state, dict) else {}), False
        if told.get("initialized") and not self.connection.initialized.is_set():
            self.connection.initialized.set()

    def changes(self) -> dict[str, Any] | None:
        """The `session` of a result, if there is something new to say."""
        if not self._changed:
            return None
        self._changed = False
        return {"state": self._state}

    async def notify(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> None:
        self.sink.write(writing.notify(self.id, [notification_payload(method, params)]))
        await self.sink.room()

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> dict[str, Any]:
        raise NoBackChannelError(method)  # the contract knows requests to clients within calls only


class WorkerSessions:
    """The sessions that this worker has heard of, the longest unused first."""

    def __init__(
        self, limits: WireLimits, counters: RuntimeCounters, on_end: Callable[[Connection], None]
    ) -> None:
        self._limits = limits
        self._counters = counters
        self._on_end = on_end
        self._known: dict[str, WorkerSession] = {}

    def of(self, message: Message, sink: FrameConnection) -> WorkerSession | None:
        """The session that a message belongs to; None: it belongs to none."""
        session_id, told = message.session_id, message.session
        if session_id is None or told is None:
            return None
        session = self._known.pop(session_id, None)
        if session is None:
            self._make_room()
            session = WorkerSession(message, sink, self._limits, self._counters)
        self._known[session_id] = session  # the last used is the last
        session.sink = sink
        session.refresh(told)
        return session

    def end(self, session_id: str) -> None:
        session = self._known.pop(session_id, None)
        if session is not None:
            session.requests.end()
            self._on_end(session.connection)

    def _make_room(self) -> None:
        if len(self._known) >= _MOST:
            unused = next((session for session in self._known.values() if not session.calls), None)
            if unused is not None:
                self.end(unused.id)


def _client(version: str, info: Any, capabilities: Any) -> InitializeRequestParams:
    given = {"protocolVersion": version, "capabilities": capabilities, "clientInfo": info or _NOBODY}
    return InitializeRequestParams.model_validate(given, by_name=False)  # the runtime has checked it
