"""The operator's view: what a server does, as JSON and as a page, and the few things to do about it."""
