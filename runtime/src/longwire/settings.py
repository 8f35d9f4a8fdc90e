"""Settings of the server with their defaults; config/ reads them from options, variables and a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from longwire.names import own_names
from longwire.principals.rates import DEFAULT_RATE, Rate

MEMORY: Final = "memory"  # the store of sessions that end with the process

# What becomes of a request to a client that can't answer it: sent and logged, left out, refused.
CapabilityPolicy: TypeAlias = Literal["warn", "drop", "error"]


# Whether all calls of a session go to the same worker; auto: if the worker asks for it.
WorkerAffinity: TypeAlias = Literal["auto", "none", "session"]


@dataclass(frozen=True, slots=True)
class SharedLimits:
    """Limits that operators set, and that the transports keep to as they are."""

    read_timeout: float = 30.0  # seconds for a message that has begun to arrive
    write_timeout: float = 30.0  # seconds that a client may leave its answers unread
    heartbeat: float = 15.0  # seconds between signs of life on a silent event stream
    idle_timeout: float = 1800.0  # seconds until a session that nobody uses is forgotten
    max_sessions: int = 256
    max_sessions_each: int = 64  # of one principal
    safe_idle: float = 10.0  # seconds after its last use, or its beginning, in which a session makes no room
    max_pending: int = 256  # messages that wait for a session's client
    max_pending_bytes: int = 4 << 20
    send_timeout: float = 10.0  # seconds that a call waits until its messages are stored and taken
    head_timeout: float = 5.0  # seconds for the head of a request
    keep_alive: float = 30.0  # seconds that an HTTP connection without a request stays open
    max_headers: int = 100
    max_header_line: int = 16 << 10  # bytes
    max_head: int = 64 << 10  # bytes of all header lines together
    client_timeout: float = 300.0  # seconds that a client may take to answer a request of the server
    capability_policy: CapabilityPolicy = "error"  # for clients that didn't declare the capability


@dataclass(frozen=True, slots=True)
class WireLimits(SharedLimits):
    """Limits that every transport keeps to, in any server. Each has a reason to be finite.

    The parts of a server share one, which alone `become()` changes while they run.
    """

    max_message: int = 65536  # bytes
    max_connections: int = 256  # clients of one endpoint: connections, event streams or sessions
    max_connections_each: int | None = None  # of one address or token; None: as many as there may be
    max_in_flight: int = 64  # unanswered requests of one connection; more are read when some are answered
    max_events: int = 256  # messages that wait for the reader of an event stream
    max_sessions_each: int = 256
    max_body_bytes: int = 64 << 20  # of bodies that have arrived in part, of one port, beside one message
    linger: float = float("inf")  # seconds that calls may take after the end of a client's input

    def become(self, other: WireLimits) -> None:
        """Have the values of another one."""
        for each in fields(self):
            object.__setattr__(self, each.name, getattr(other, each.name))


@dataclass(frozen=True, slots=True)
class Settings(SharedLimits):
    """Limits and folders of the server. Each field is a key of config/keys.py, by which operators set it.

    A product's settings are a subclass with further fields.
    """

    data: Path = field(default_factory=lambda: own_names().data_folder())
    grace: float = 5.0  # seconds that work may continue after SIGTERM
    calls: int = 256  # requests in flight, all clients together
    calls_each: int = 64  # requests in flight of one client
    rate: Rate | None = DEFAULT_RATE  # requests of one principal; a token may have a rate of its own
    tool_rates: Mapping[str, Rate] = field(default_factory=dict)  # of calls, by a tool's name or a pattern
    streams: int = 256  # open subscriptions, all clients together
    streams_each: int = 64  # subscriptions of one address or token
    body: int = 4 << 20  # bytes of one message
    connections: int = 256  # clients of one endpoint: connections or event streams
    connections_each: int = 64  # event streams of one address or token
    allowed_origins: tuple[str, ...] = ()  # pages that may use the server, as scheme://host:port
    hook: str | None = None  # module:function that says who sends a request
    hook_seconds: float = 5.0  # seconds that an answer of the hook is remembered
    scopes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # by scope: patterns of its tools
    store: str = MEMORY  # of sessions and their events: memory or sqlite:PATH
    cluster_redis: str | None = field(default=None, repr=False)  # its URL; None: this node is alone
    cluster_node: str | None = None  # this node's label
    cluster_address: str | None = None  # http://HOST:PORT, where other nodes reach it
    cluster_secret_file: Path | None = None
    cluster_prefix: str = field(default_factory=lambda: own_names().name)  # of keys in Redis
    method_workers: int = 0  # processes that run the methods; 0: this one does
    worker_command: str | None = None  # starts a worker of another program
    worker_sockets: tuple[str, ...] = ()  # of workers that somebody else runs
    worker_queue: int = 256  # calls that may wait for a worker
    worker_queue_seconds: float = 10.0
    worker_call_seconds: float = 900.0  # seconds that a worker may take for a call
    worker_ping_seconds: float = 15.0  # seconds of silence, after which a worker is asked whether it is alive
    worker_silent_seconds: float = 60.0  # seconds that a worker with calls may leave a ping unanswered
    worker_max_requests: int = 0  # calls after which a worker is replaced; 0: never
    worker_affinity: WorkerAffinity = "auto"  # whether calls of a session go to one worker
    worker_environment: tuple[str, ...] = ()  # variables that a worker_command gets although they look secret
    tls_certificate: Path | None = None  # a PEM file; HTTP ports then speak HTTPS
    tls_key: Path | None = None  # None: in the certificate's file

    @property
    def has_workers(self) -> bool:
        """Whether methods run in workers, not in the server's own process."""
        return bool(self.method_workers or self.worker_command or self.worker_sockets)

    @property
    def has_foreign_workers(self) -> bool:
        """Whether those workers are not the product's own."""
        return bool(self.worker_command or self.worker_sockets)

    def wire_limits(self) -> WireLimits:
        """The part of the limits that the transports keep to."""
        shared: dict[str, Any] = {each.name: getattr(self, each.name) for each in fields(SharedLimits)}
        return WireLimits(
            max_message=self.body,
            max_connections=self.connections,
            max_connections_each=self.connections_each,
            # Those that run, and as many that are being refused: more means that answers aren't read.
            max_in_flight=2 * self.calls_each,
            max_events=1,  # answers may be large
            linger=0.5,  # enough for the quick calls; a client that has gone needs no others
            **shared,
        )
