"""What one client may take of the server's time and memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from acuity.mcp.embedded.budget import Budget

LINE_LIMIT: Final = 65536


@dataclass(frozen=True, slots=True)
class FrontLimits:
    """Limits of connections. Each has a reason to be finite."""

    line: int = LINE_LIMIT  # bytes of one message
    connections: int = 256  # clients of one endpoint
    requests: int = 64  # unanswered ones of one connection; more are read when some are answered
    events: int = 256  # messages that wait for the reader of an event stream
    read_timeout: float = 30.0  # seconds for a message that has begun to arrive
    write_timeout: float = 30.0  # seconds that a client may leave its answers unread
    heartbeat: float = 15.0  # seconds between signs of life on a silent event stream
    idle_timeout: float = 1800.0  # seconds until a session of Streamable HTTP that nobody uses is forgotten
    budget: Budget | None = None  # of CPU time, while frames are measured
