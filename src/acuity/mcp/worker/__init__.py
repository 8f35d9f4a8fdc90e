"""The worker's side of the contract in Python: any server of the SDK, served over a Unix socket."""
