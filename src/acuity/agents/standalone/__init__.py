"""vmaf-mcp, the standalone server: its catalog, services and endpoints."""
