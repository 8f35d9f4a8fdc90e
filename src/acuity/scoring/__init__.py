"""Scoring a pair of videos: the request, the run, the report, and the names people use for metrics."""
