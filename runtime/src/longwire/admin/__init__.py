"""The operator's view: a server's state as JSON and as a page, and the few actions on it."""
