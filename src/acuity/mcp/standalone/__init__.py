"""vmaf-mcp: the standalone server, put together from the catalog, services and endpoints."""
