"""Scoring a pair of videos: the request, the run, the report, metrics and presets."""
