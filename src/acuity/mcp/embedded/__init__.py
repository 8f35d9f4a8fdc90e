"""An MCP server inside a measuring process: agents ask and steer a measurement while it runs."""

from acuity.mcp.embedded.config import EmbeddedConfig
from acuity.mcp.embedded.server import EmbeddedServer, ServerAddress, transport_available

__all__ = ["EmbeddedConfig", "EmbeddedServer", "ServerAddress", "transport_available"]
