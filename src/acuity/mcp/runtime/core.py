"""What the handlers of both eras share: the server, its dispatcher, heartbeats and timers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from acuity.mcp.runtime.counters import RuntimeCounters
from acuity.mcp.runtime.dispatch import Dispatch
from acuity.mcp.runtime.dispatcher import Dispatcher
from acuity.mcp.runtime.exchange import Later
from acuity.mcp.runtime.heartbeats import Heartbeats
from acuity.mcp.runtime.timers import Timers
from acuity.mcp.wire.messages import PlainRequest
from acuity.mcp.wire.serving import IGNORED, Handshake, Serving

_CALL: Final = "tools/call"


@dataclass(frozen=True, slots=True)
class Core:
    """The shared parts of one server's runtime."""

    serving: Serving
    counters: RuntimeCounters
    dispatcher: Dispatch
    heartbeats: Heartbeats
    later: Later

    @classmethod
    def of(
        cls,
        serving: Serving,
        counters: RuntimeCounters,
        later: Later | None = None,
        dispatch: Dispatch | None = None,
    ) -> Core:
        """The parts for a server.

        `later` sets timers, if not the loop's; `dispatch` runs the requests, if not this process.
        """
        return cls(
            serving,
            counters,
            dispatch or Dispatcher(serving),
            Heartbeats(serving.limits.heartbeat),
            later or Timers(),
        )

    def quick(self, message: PlainRequest, client: str, version: str) -> bytes | None:
        """The reply to a request that needs nothing of the SDK; None: the dispatcher has to run it."""
        if message.method != _CALL or self.serving.quick is IGNORED:
            return None
        return self.serving.quick.answer(message, Handshake(client, version))

    async def close(self) -> None:
        """Cancel what runs."""
        self.heartbeats.close()
        await self.dispatcher.close()
        if isinstance(self.later, Timers):
            self.later.close()
