"""The worker of a soak: tools that echo, count aloud, say something to one session or to all."""

from __future__ import annotations

import asyncio

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
