"""Worker processes: the program that runs in them, and how the server starts, feeds and ends them."""
