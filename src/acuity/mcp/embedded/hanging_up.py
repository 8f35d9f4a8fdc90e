"""Whether a client is still there, where it sends no more."""

from __future__ import annotations

import asyncio
import select


def hung_up(transport: asyncio.BaseTransport) -> bool:
    """Whether nobody is at the other end any more, as far as the system can tell without writing."""
    pair = transport.get_extra_info("descriptors")
    socket = transport.get_extra_info("socket")
    if transport.is_closing() or (pair is None and socket is None):
        return transport.is_closing()
    look = select.poll()
    look.register(pair[1] if pair is not None else socket.fileno(), 0)
    return bool(look.poll(0))  # only that it hung up, or failed
