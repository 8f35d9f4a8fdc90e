"""Twins: the classes that compute extractors on the card."""
