"""The open streams of sessions with the tokens that they were opened with."""

from __future__ import annotations

from typing import Final

from longwire.principals.principal import Holders, Principal
from longwire.sessions.streams import Stream
from longwire.wire.http.request import Responder

_SPARE: Final = 16


class ProvenStreams:
    """Ends the responses that were opened with a token that is no longer valid. The sessions stay."""

    def __init__(self) -> None:
        self._open: dict[Responder, tuple[Principal, Stream]] = {}
        self._most = _SPARE  # streams, above which those are looked for that have ended

    def add(self, principal: Principal, stream: Stream, responder: Responder) -> None:
        """Watch a response that a stream is attached to, if a token opened it."""
        if principal.proof is None:
            return
        self._open[responder] = (principal, stream)
        if len(self._open) > self._most:
            self._open = {one: held for one, held in self._open.items() if not one.gone}
            self._most = 2 * len(self._open) + _SPARE

    def end(self, gone: Holders) -> None:
        """End the responses of those who may no longer come."""
        for responder, (principal, stream) in list(self._open.items()):
            if gone.include(principal):
                del self._open[responder]
                if not responder.gone:
                    stream.detach()
