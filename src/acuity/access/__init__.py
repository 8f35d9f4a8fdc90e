"""The allowlist: the only place that turns a client's text into a path that may be read."""
