"""What can be read of a running measurement: its state, scores and report so far."""
