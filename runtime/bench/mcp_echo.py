"""The peer of mcp_calls.py: a bare server of the official SDK with one tool that echoes.

python runtime/bench/mcp_echo.py              stdio
python runtime/bench/mcp_echo.py --http PORT  Streamable HTTP
"""

import argparse
import logging

from mcp.server.mcpserver import MCPServer

server = MCPServer("echo", log_level="WARNING")


@server.tool()
async def echo(text: str) -> str:
    """Say it again."""
    return text


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--http", type=int)
    port = parser.parse_args().http
    logging.getLogger("uvicorn.access").setLevel(logging.WARNING)
    if port is None:
        server.run("stdio")
    else:
        server.run("streamable-http", host="127.0.0.1", port=port)
