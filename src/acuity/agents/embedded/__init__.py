"""An MCP server inside a measuring process: agents ask and steer a measurement while it runs."""

from acuity.agents import check_installed

check_installed()

from acuity.agents.embedded.config import EmbeddedConfig  # noqa: E402
from acuity.agents.embedded.server import (  # noqa: E402
    EmbeddedServer,
    ServerAddress,
    transport_available,
)

__all__ = ["EmbeddedConfig", "EmbeddedServer", "ServerAddress", "transport_available"]
