"""One file per family of tools."""
