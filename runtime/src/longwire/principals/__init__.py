"""Who sends requests, how many, and how often."""
