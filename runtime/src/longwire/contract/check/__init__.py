"""Checks of any worker against the contract: cases, what they need, and the report."""
