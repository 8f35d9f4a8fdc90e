"""Pairs of videos: how the two are made comparable, and which frames belong together."""
