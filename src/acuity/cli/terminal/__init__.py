"""Output for terminals: styled text, progress, plots and pictures."""
