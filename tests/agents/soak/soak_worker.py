"""The worker of a soak: tools that echo, count aloud, say something to one session or to all, and work."""

from __future__ import annotations

import asyncio
import hashlib
import time

from longwire.worker import App

_PACE = 0.01  # seconds between two numbers

app = App("soak", "1.0.0")


@app.tool()
def echo(text: str) -> str:
    """Echoes a text."""
    return text


@app.tool()
async def count(upto: int) -> dict[str, int]:
    """Counts aloud, as progress."""
    for number in range(1, upto + 1):
        await app.progress(number, upto)
        await asyncio.sleep(_PACE)
    return {"counted": upto}


@app.tool()
async def say(text: str) -> dict[str, str]:
    """Says something to the session, outside of the call."""
    await app.notify("notifications/message", {"level": "info", "data": text}, to="session")
    return {"said": text}


@app.tool(thread=True)
def work(seconds: float) -> dict[str, int]:
    """Computes for so long, in a thread, as a score does."""
    rounds, until = 0, time.monotonic() + seconds
    while time.monotonic() < until:
        hashlib.sha256(bytes(1 << 20)).digest()
        rounds += 1
    return {"rounds": rounds}


@app.tool()
async def burst(upto: int) -> dict[str, int]:
    """Sends many messages as fast as they are taken."""
    for number in range(upto):
        await app.notify("notifications/message", {"level": "info", "data": str(number)})
    return {"sent": upto}


@app.tool()
async def announce(text: str) -> dict[str, int]:
    """Says something to all sessions."""
    await app.notify("notifications/message", {"level": "info", "data": text}, to="everyone")
    return {"length": len(text)}


if __name__ == "__main__":
    app.run()
