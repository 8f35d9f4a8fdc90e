"""Configuration: one table of keys, and their values from options, variables and a file."""
