"""Video input: pictures, readers, pairing."""
