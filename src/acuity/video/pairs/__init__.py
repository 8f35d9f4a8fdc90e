"""Pairs of videos: makes them comparable, and decides which frames belong together."""
