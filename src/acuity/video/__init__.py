"""Video in: pictures, readers, pairing."""
