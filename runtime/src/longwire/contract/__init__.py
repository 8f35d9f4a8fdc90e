"""The contract between the runtime and workers: frames, envelopes, their schemas, checks of any worker."""
