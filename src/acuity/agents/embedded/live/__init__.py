"""Reads a running measurement: its state, scores and report so far."""
