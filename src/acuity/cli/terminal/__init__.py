"""What a terminal shows: styled text, progress, plots and pictures."""
