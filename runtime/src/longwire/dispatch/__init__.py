"""The Streamable HTTP runtime: sessions, streams that resume, calls of both protocol eras. Knows no tool."""
