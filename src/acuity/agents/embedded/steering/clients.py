"""Clients as owners of pauses: a client's pause ends when the client goes.

A client is known by its connection or session. HTTP requests without a session from one address or token
count as one client. Over Streamable HTTP connections come and go, so a client has gone when none was open for
some seconds. Bare POSTs, as scripts send them, have nothing to go by: only the lease of their pause counts.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from acuity.measure.gate import Gate, Pause
from acuity.text import one_line
from longwire.wire.sdk_private import connection_of

if TYPE_CHECKING:
    from mcp.server.connection import Connection
    from mcp.server.session import ServerSession

    from longwire.product.catalog import Call

# The connection that stays when a request is answered; set by transports that have one for each client.
CONNECTED: Final[ContextVar[Connection | None]] = ContextVar("acuity_connected", default=None)

# Seconds that a pause over Streamable HTTP outlasts the last open connection of its client: with a session,
# whose event stream may break and be resumed, and without one, whose connections may be closed when idle.
_ABSENT: Final = {True: 10.0, False: 30.0}

_STATE: Final = "acuity.client"  # where a connection's state has its client
_LONGEST_NAME: Final = 64
# The first word of a client's key, where it isn't the transport's own name.
_TRANSPORTS: Final = {"post": "http", "session": "http", "address": "http", "token": "http"}


@dataclass(eq=False, slots=True)
class Client:
    """The client that a request came from."""

    key: Hashable  # the same for all requests of one client
    name: str = "a client"  # what it calls itself
    transport: str = "local"
    gone: bool = False  # its connection was closed
    followed_as: str | None = None  # its session, address or token, where it comes over Streamable HTTP
    has_session: bool = False
    held: Pause | None = None  # its last one

    def pause(self, gate: Gate, lease: float) -> Pause:
        """Hold the gate for so many seconds from now; asked again, from then on."""
        ends_at = datetime.now(UTC) + timedelta(seconds=lease)
        pause = Pause(self.name, self.transport, gate.clock() + lease, ends_at)
        self.held = pause
        gate.hold(self.key, pause)
        if self.gone:  # while this was carried out; its leaving may have found no pause to end
            gate.release(self.key)
        return pause


class Leases:
    """Pauses over Streamable HTTP, cut short while their client has no connection open."""

    def __init__(self, gate: Gate, is_present: Callable[[str], bool]) -> None:
        self._gate = gate
        self._is_present = is_present
        self._followed: dict[str, Client] = {}  # as presence names them

    def follow(self, client: Client) -> None:
        """Note that a client has paused."""
        self._followed = {name: c for name, c in self._followed.items() if self._gate.holds(c.key)}
        if client.followed_as is not None:
            self._followed[client.followed_as] = client
            self.update(client.followed_as)

    def update(self, name: str) -> None:
        """Note that a client has opened or closed a connection."""
        client = self._followed.get(name)
        if client is None or (pause := client.held) is None or pause.until is None:
            return
        if not self._is_present(name):
            rest = min(_ABSENT[client.has_session], pause.until - self._gate.clock())
            ends_at = datetime.now(UTC) + timedelta(seconds=rest)
            pause = pause._replace(until=self._gate.clock() + rest, ends_at=ends_at)
        self._gate.change(client.key, pause)


def calling_client(call: Call, on_leave: Callable[[Client], None]) -> Client:
    """The client that made a call; `on_leave` is called when its connection or session is closed."""
    kind, _, rest = call.client.partition(":")
    name = client_name(call.context.session)
    transport = _TRANSPORTS.get(kind, kind)
    lasting = lasting_connection(call.context.session)
    request = call.context.request
    session_id = getattr(request, "session_id", None)
    if lasting is None:
        host = rest.rpartition(":")[0] if kind == "post" else rest  # each POST may come from another port
        heard_as: str | None = getattr(request, "client", None)
        bare = heard_as is None or heard_as.startswith("post:")
        return Client((kind, host), name, transport, followed_as=None if bare else heard_as)
    client: Client | None = lasting.state.get(_STATE)
    if client is None:
        client = lasting.state[_STATE] = Client(
            lasting, transport=transport, followed_as=session_id, has_session=session_id is not None
        )
        lasting.exit_stack.callback(_leave, client, on_leave)
    client.name = name
    return client


def client_name(session: ServerSession) -> str:
    """What a client calls itself."""
    params = connection_of(session).client_params
    name = params.client_info.name if params is not None and params.client_info is not None else ""
    return one_line(name)[:_LONGEST_NAME] if name else "a client"


def lasting_connection(session: ServerSession) -> Connection | None:
    """The connection that stays when a request is answered, if there is one."""
    own = connection_of(session)
    return CONNECTED.get() or (own if own.has_standalone_channel else None)


def _leave(client: Client, on_leave: Callable[[Client], None]) -> None:
    client.gone = True
    on_leave(client)


def pause_documents(pauses: Sequence[Pause]) -> list[dict[str, Any]]:
    """Who paused and until when, as clients are told."""
    return [
        {"by": pause.by, "transport": pause.transport, "until": timestamp(pause.ends_at)} for pause in pauses
    ]


def timestamp(moment: datetime | None) -> str | None:
    """A time of day as clients are told: 2026-01-31T12:00:00Z."""
    return None if moment is None else moment.strftime("%Y-%m-%dT%H:%M:%SZ")
