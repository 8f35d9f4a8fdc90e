"""One file per transport; each serves the same server object."""
