"""The MCP server: tools, resources and prompts over every transport."""
