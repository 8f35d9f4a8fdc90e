"""An example worker: tools, a resource and a prompt behind Longwire.

longwire serve --http 8080 --worker-command 'python examples/workers/python/worker.py --socket {socket}'
longwire worker-check /tmp/worker.sock      # while it runs with --socket /tmp/worker.sock
"""

import asyncio
import platform
from typing import Annotated

from pydantic import Field

from longwire.worker import App

app = App("example-python", "1.0")


@app.tool()
def echo(text: str) -> str:
    """Answers with its argument."""
    return text


@app.tool()
async def count(
    to: Annotated[int, Field(ge=1)],
    pause: Annotated[float, Field(description="Seconds between two numbers.")] = 0.01,
) -> str:
    """Counts up to a number and reports progress. Ends at once when it is cancelled."""
    for number in range(1, to + 1):
        await app.progress(number, to, f"at {number}")
        await asyncio.sleep(pause)  # other calls run meanwhile
    return f"counted to {to}"


@app.tool()
async def ask() -> str:
    """Asks for a name and a colour, and says what the answers were."""
    name = await app.elicit("Your name?", form("name"))
    if name.action != "accept" or name.content is None:
        return "Never mind."
    who = name.content["name"]
    colour = await app.elicit(f"Which colour do you like, {who}?", form("colour"))
    if colour.action != "accept" or colour.content is None:
        return f"{who} likes none."
    return f"{who} likes {colour.content['colour']}."


def form(field: str) -> dict[str, object]:
    return {"type": "object", "properties": {field: {"type": "string"}}, "required": [field]}


@app.tool(idempotent=False)
def visits() -> str:
    """Says how often it was called in this session. The runtime keeps the number."""
    if app.session_id is None:
        return "There is no session to count in."
    number = app.state.get("visits", 0) + 1
    app.set_state("visits", number)
    return f"visit {number}"


@app.tool()
async def announce(text: str) -> str:
    """Sends a line to all sessions."""
    await app.notify("notifications/message", {"level": "info", "data": text}, to="everyone")
    return "announced"


@app.resource("example://language", mime_type="text/plain")
def language() -> str:
    """The language that this worker is written in."""
    return f"Python {platform.python_version()}"


@app.prompt()
def greet(name: str) -> str:
    """Asks for a greeting."""
    return f"Greet {name} in one sentence."


if __name__ == "__main__":
    app.run()
