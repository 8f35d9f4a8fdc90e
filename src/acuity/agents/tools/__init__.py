"""The tools, one family in each file."""
