"""What clients can ask of a running measurement, and have done to it."""
