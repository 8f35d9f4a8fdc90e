"""An MCP server inside a measuring process: agents ask and steer a measurement while it runs."""

from acuity.agents.embedded.config import EmbeddedConfig
from acuity.agents.embedded.server import EmbeddedServer, ServerAddress, transport_available

__all__ = ["EmbeddedConfig", "EmbeddedServer", "ServerAddress", "transport_available"]
