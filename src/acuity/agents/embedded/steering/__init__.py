"""Commands of clients to a running measurement, and the bridge that carries them to its thread."""
