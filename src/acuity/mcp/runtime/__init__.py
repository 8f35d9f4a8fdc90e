"""The Streamable HTTP runtime: sessions, streams that resume, and calls of both protocol eras. Knows no tool."""
