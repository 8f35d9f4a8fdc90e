"""A Streamable HTTP runtime for MCP: transports, sessions, streams, workers, clusters and guards.

A product declares itself (`longwire.declared`), gives a catalog of tools or workers, and serves. The
command `longwire serve` is the product that has workers alone.
"""

__version__ = "0.1.0"
