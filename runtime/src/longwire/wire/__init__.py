"""Transports: framing, connections, HTTP, server-sent events and sessions."""
