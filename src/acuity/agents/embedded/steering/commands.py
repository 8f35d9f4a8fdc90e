"""The commands to a running measurement, which its own thread carries out between two frames.

The ring holds tickets. A command waits in the handoff under its ticket, and the thread that takes it out
decides: the measuring thread to carry it out, the server's thread to withdraw it. Its reply goes back in the
same way.
"""

from __future__ import annotations

import asyncio
import os
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from acuity.access.path_text import shown
from acuity.access.paths import AllowedPaths
from acuity.errors import EmbeddedError, ModelError
from acuity.measure.gate import Gate, Pause
from acuity.models.choose import unfilled_display
from acuity.text import one_line
from acuity.video.notes import info
from longwire.wire.sdk_private import connection_of

if TYPE_CHECKING:
    from mcp.server.connection import Connection
    from mcp.server.session import ServerSession

    from acuity.measure import Measurement
    from acuity.models import Model, ModelCollection
    from longwire.product.catalog import Call

    AnyModel: TypeAlias = Model | ModelCollection

# ---- clients as owners of pauses ------------------------------------------------------------------
# A client's pause ends when the client goes. A client is known by its connection or session. HTTP requests
# without a session from one address or token count as one client. Over Streamable HTTP connections come and
# go, so a client has gone when none was open for some seconds. Bare POSTs, as scripts send them, have nothing
# to go by: only the lease of their pause counts.

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


# ---- commands -------------------------------------------------------------------------------------

Document: TypeAlias = dict[str, Any]

LARGEST: Final = 2**31 - 1  # frame numbers; what C's int holds

_KEPT_MODELS: Final = 8
LEASE: Final = 300.0  # seconds that a client's pause lasts unless it says otherwise


@dataclass(frozen=True, slots=True)
class Command:
    name: str
    argument: Mapping[str, Any]
    client: Client
    model: AnyModel | None = None


@dataclass(slots=True)
class Handoff:
    """What tickets in the ring stand for: put in before the ticket is sent, taken out after."""

    commands: dict[int, Command] = field(default_factory=dict)
    replies: dict[int, Document | EmbeddedError] = field(default_factory=dict)


# Carries a command out on the feeding thread between two frames.
Action: TypeAlias = Callable[["Measurement", Command], Document]


def _swap_model(measurement: Measurement, command: Command) -> Document:
    model, argument = command.model, command.argument
    assert model is not None
    held = {other.name: other.label for other in measurement.models}
    if not held:
        raise EmbeddedError("no model is being measured, so there is none to take the place of")
    slot = argument.get("slot") or next(iter(held))
    swap = measurement.swap_model(slot, model, repredict=bool(argument.get("repredict")))
    return {
        "reported_as": slot,
        "model": model.label,
        "before": held[slot],
        "first": swap.first,
        "next_frame": measurement.frames,
        "waits_for": swap.waits_for,
        "starts": swap.starts,
        "repredicted": [{"first": first, "last": last} for first, last in swap.repredicted],
        "notes": [info("display", text).to_dict()] if (text := _unfilled(measurement, model)) else [],
    }


def _unfilled(measurement: Measurement, model: AnyModel) -> str | None:
    """A sentence on pictures that don't fill the display that the model is made for."""
    size = measurement.geometry
    return None if size is None else unfilled_display(model.label, size.width, size.height)


def _pause(measurement: Measurement, command: Command) -> Document:
    lease = command.argument.get("lease_seconds", LEASE)
    pause = command.client.pause(measurement.gate, float(lease))
    return _paused(measurement) | {"lease_seconds": lease, "paused_until": timestamp(pause.ends_at)}


def _resume(measurement: Measurement, _: Command) -> Document:
    lifted = measurement.gate.release_clients()
    return _paused(measurement) | {"lifted": pause_documents(lifted)}


def _paused(measurement: Measurement) -> Document:
    pauses = measurement.gate.pauses
    return {"paused": bool(pauses), "next_frame": measurement.frames, "paused_by": pause_documents(pauses)}


def _stop_after(measurement: Measurement, command: Command) -> Document:
    frame = command.argument.get("frame")
    measurement.stop_after(frame)
    return {"stop_after": frame, "next_frame": measurement.frames, "finished": measurement.finished}


def _set_subsample(measurement: Measurement, command: Command) -> Document:
    measurement.set_subsample(command.argument["n"])
    return {"subsample": measurement.subsample, "next_frame": measurement.frames}


COMMANDS: Final[dict[str, Action]] = {
    "swap_model": _swap_model,
    "pause": _pause,
    "resume": _resume,
    "stop_after": _stop_after,
    "set_subsample": _set_subsample,
}


class ModelLoader:
    """Loads models that clients name, on a thread beside the event loop, one at a time."""

    def __init__(self, paths: AllowedPaths) -> None:
        self._paths = paths
        self._kept: OrderedDict[str, tuple[AnyModel, tuple[int, int, int]]] = OrderedDict()
        self._loading = asyncio.Lock()

    async def load(self, spec: str) -> AnyModel:
        """The model of a name or of libvmaf's notation; raises ModelError or PathError.

        One that is asked for again is the same object, unless its file has changed.
        """
        async with self._loading:
            return await asyncio.to_thread(self._load, spec)

    def _load(self, spec: str) -> AnyModel:
        from acuity.models import load_model

        _refuse_tiny(spec)
        checked = self._paths.check_model(spec)
        kept = self._kept.get(checked)
        if kept is not None and kept[1] == _stamp(kept[0]):
            self._kept.move_to_end(checked)
            return kept[0]
        model = load_model(checked)
        self._kept[checked] = model, _stamp(model)
        if len(self._kept) > _KEPT_MODELS:
            self._kept.popitem(last=False)
        return model


def _refuse_tiny(spec: str) -> None:
    from acuity.models.sources import is_tiny

    name = spec.removeprefix("version=").removeprefix("path=").partition(":")[0]
    if name.endswith(".onnx") or ("/" not in name and is_tiny(name)):
        raise ModelError(
            f"'{shown(name)}' is a tiny model, which can't replace another one while frames are measured: "
            "name one that list_models has with the format json"
        )


def _stamp(model: AnyModel) -> tuple[int, int, int]:
    """The facts about a model's file that change when it is written over."""
    try:
        found = os.stat(model.path)
    except OSError:
        return (0, 0, 0)
    return found.st_mtime_ns, found.st_size, found.st_ino
