"""Pages that people open: one HTML file with curves, figures, pictures and notes."""
