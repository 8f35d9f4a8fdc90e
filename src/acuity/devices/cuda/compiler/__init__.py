"""Kernels from their sources to code that a card loads: NVRTC, side by side, with a cache on disk."""
