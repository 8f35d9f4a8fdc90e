"""A server: its options, checks before a start, reloading, signals, and its end."""
