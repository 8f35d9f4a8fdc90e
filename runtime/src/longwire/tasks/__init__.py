"""Tasks of the protocol: the extension that clients follow them by, and notifications of changes."""
