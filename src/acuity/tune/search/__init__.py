"""Targets, the search for the quality that meets one, and comparisons of encoders."""
