"""Video readers, one file for each format, and open_video(), which chooses among them."""
