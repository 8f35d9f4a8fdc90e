"""Cards as the rest sees them: finding and starting them, memory, streams, kernels, failures."""
