"""Twins: what computes each extractor on the card, one file each."""
